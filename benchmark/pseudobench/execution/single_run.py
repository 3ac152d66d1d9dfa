"""Executing one run in this process: its record is written after every round, and says how it ended."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pseudobench.contracts.datasets import Dataset, Split
from pseudobench.contracts.events import Listener
from pseudobench.contracts.run_spec import RunSpec
from pseudobench.errors import Abandoned, BenchWarning, one_line
from pseudobench.execution.run_record import describe_error, new_record, now
from pseudobench.execution.scoring import score_columns
from pseudobench.experiments.splits import split_for
from pseudobench.registry.components import Registry
from pseudobench.registry.plugins import Plugins
from pseudobench.rounds.algorithm import Outputs, Round, run_rounds
from pseudobench.rounds.bookmark import Bookmark
from pseudobench.rounds.recorder import Recorder
from pseudobench.rounds.run import Run
from pseudobench.storage.cache import Cache
from pseudobench.storage.predictions import save_logits, save_predictions
from pseudobench.storage.records import Store

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class SingleRun:
    """One run on ``data``, with everything it needs.

    ``resumes``: an interrupted attempt is continued. ``keeps_logits``: whole logits are kept beside the record.
    """

    spec: RunSpec
    data: Dataset
    device: torch.device
    registry: Registry
    plugins: Plugins
    store: Store
    listener: Listener
    weights_file: Path | None
    cache: Cache | None
    resumes: bool
    keeps_logits: bool

    def execute(self) -> dict[str, Any]:
        """Do the run; returns its final record. An exception of a plugin makes a failed run."""
        spec = self.spec
        self._tell("run_started")
        self.plugins.notify("bench_run_started", spec=spec)
        split = split_for(spec, self.data)
        record = new_record(spec, self.data, split, self.device, self.plugins)
        bookmark = Bookmark.of(self.cache, spec, split.digest) if self.cache else None
        left = bookmark.find() if bookmark is not None and self.resumes else None
        if left is not None:
            record |= left.record | {"resumed_after": left.last.number}
        self.store.save(record)
        start = time.perf_counter() - sum(sum(each["seconds"].values()) for each in record["rounds"])
        recorder = Recorder.of(self.data, split)
        try:
            for each in run_rounds(self._run(split), recorder, None if left is None else left.last):
                record["seconds"] = time.perf_counter() - start
                self._keep(record, each, recorder, bookmark)
            record["status"] = "done"
        except (KeyboardInterrupt, GeneratorExit, Abandoned):
            raise
        except BaseException as error:  # sys.exit in a plugin is a failure too
            record |= {"status": "failed", "error": describe_error(error)}
        record |= {"seconds": time.perf_counter() - start, "finished": now()}
        self.store.save(record)
        if bookmark is not None:
            bookmark.remove()
        self._tell("run_finished", record)
        self.plugins.notify("bench_run_finished", spec=spec, record=record)
        return record

    def _run(self, split: Split) -> Run:
        data = self.data.known_to(split)
        report = partial(self._tell, "epoch_finished")
        return Run(self.spec, self.registry, data, self.device, report, self.weights_file, self.cache)

    def _keep(self, record: dict[str, Any], finished: Round, recorder: Recorder, bookmark: Bookmark | None) -> None:
        """Add a round to the record and to the bookmark, and tell of it."""
        kept = {} if finished.outputs is None else self._keep_outputs(finished.outputs, recorder)
        self.store.save({**record, **kept, "rounds": [*record["rounds"], finished.record]})
        record |= kept
        record["rounds"].append(finished.record)  # only after writing: a round that can't be written is not kept
        if bookmark is not None:
            bookmark.keep(record, finished)
        self._tell("round_finished", finished.record)
        self.plugins.notify("bench_round_finished", spec=self.spec, round=finished.record)

    def _keep_outputs(self, outputs: Outputs, recorder: Recorder) -> dict[str, Any]:
        """Write the predictions beside the record; returns the entries of the record with their files and scores."""
        found, folder, name = recorder.predictions(outputs.test), self.store.folder, self.spec.run_id
        kept: dict[str, Any] = {
            "predictions": save_predictions(folder, name, found),
            "scores": score_columns(self.registry, found, recorder.test_labels.numpy()),
        }
        if self.keeps_logits:
            kept["logits"] = save_logits(folder, name, test=outputs.test.numpy(), pool=outputs.pool().numpy())
        return kept

    def _tell(self, event: str, *details: Any) -> None:
        """Tell the listener, which shows progress. If it fails, the run goes on."""
        try:
            getattr(self.listener, event)(self.spec, *details)
        except Exception as error:
            warnings.warn(f"progress can't be shown: {one_line(error)}", BenchWarning, stacklevel=2)
