"""Executing one run in this process: its record is written after every round, and says how it ended."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pseudobench.contracts.datasets import Dataset, Split
from pseudobench.contracts.events import Listener
from pseudobench.contracts.run_spec import RunSpec
from pseudobench.execution.run_record import describe_error, new_record, now
from pseudobench.experiments.splits import split_for
from pseudobench.registry.components import Registry
from pseudobench.registry.plugins import Plugins
from pseudobench.rounds.algorithm import Round, run_rounds
from pseudobench.rounds.bookmark import Bookmark
from pseudobench.rounds.recorder import Recorder
from pseudobench.rounds.run import Run
from pseudobench.storage.cache import Cache
from pseudobench.storage.records import Store

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class SingleRun:
    """One run on ``data``, with everything it needs. ``resumes``: an interrupted attempt is continued."""

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

    def execute(self) -> dict[str, Any]:
        """Do it; the final record."""
        spec = self.spec
        self.listener.run_started(spec)
        self.plugins.notify("bench_run_started", spec=spec)
        split = split_for(spec, self.data)
        record = new_record(spec, self.data, split, self.device, self.plugins)
        bookmark = Bookmark.of(self.cache, spec, self.registry, split.digest) if self.cache else None
        left = bookmark.find() if bookmark is not None and self.resumes else None
        if left is not None:
            record |= {"rounds": left[0], "resumed_after": left[1].number}
        self.store.save(record)
        start = time.perf_counter() - sum(sum(each["seconds"].values()) for each in record["rounds"])
        try:
            for each in run_rounds(self._run(split), Recorder.of(self.data, split), left and left[1]):
                record["seconds"] = time.perf_counter() - start
                self._keep(record, each, bookmark)
            record["status"] = "done"
        except Exception as error:
            record |= {"status": "failed", "error": describe_error(error)}
        record |= {"seconds": time.perf_counter() - start, "finished": now()}
        self.store.save(record)
        if bookmark is not None:
            bookmark.remove()
        self.listener.run_finished(spec, record)
        self.plugins.notify("bench_run_finished", spec=spec, record=record)
        return record

    def _run(self, split: Split) -> Run:
        report = partial(self.listener.epoch_finished, self.spec)
        data = self.data.known_to(split)
        return Run(self.spec, self.registry, data, self.device, report, self.weights_file, self.cache)

    def _keep(self, record: dict[str, Any], finished: Round, bookmark: Bookmark | None) -> None:
        """Add a round to the record and to the bookmark, and tell of it."""
        self.store.save({**record, "rounds": [*record["rounds"], finished.record]})
        record["rounds"].append(finished.record)  # after it was written: what can't be written is not kept
        if bookmark is not None:
            bookmark.keep(record["rounds"], finished)
        self.listener.round_finished(self.spec, finished.record)
        self.plugins.notify("bench_round_finished", spec=self.spec, round=finished.record)
