"""Specs to records: finished runs are skipped, a failing run is a record with its reason, the others go on."""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pseudobench.environment import describe_environment, pick_device, set_up
from pseudobench.errors import one_line
from pseudobench.executors import Batch, Setup
from pseudobench.listeners import Listener
from pseudobench.loading import Loader, label_budget
from pseudobench.presets import Calibration, Network, Recipe
from pseudobench.processes import Processes
from pseudobench.recorder import Recorder
from pseudobench.resuming import Bookmark
from pseudobench.rounds import Run, run_rounds
from pseudobench.splits import make_split
from pseudobench.store import FORMAT, KIND, Store
from pseudobench.weights import find_weights

if TYPE_CHECKING:
    import torch

    from pseudobench.cache import Cache
    from pseudobench.plugins import Plugins
    from pseudobench.protocols import Executor
    from pseudobench.registry import Registry
    from pseudobench.spec import RunSpec
    from pseudobench.types import Dataset, Split


@dataclass(frozen=True)
class Runner:
    """Executes runs, ``jobs`` at a time: one after another in this process, or where an executor takes them.

    ``weights`` is what ``--weights`` named; ``threads`` are those of a run whose recipe does not say.
    """

    registry: Registry
    plugins: Plugins
    store: Store
    listener: Listener
    data_dir: Path
    device: str = "auto"
    force: bool = False
    weights: str | None = None
    cache: Cache | None = None
    jobs: int | None = None
    threads: int | None = None
    executor: Executor | None = None

    def run(self, specs: Sequence[RunSpec]) -> list[dict[str, Any]]:
        """The records of ``specs``, from the store where they are finished, else by running."""
        self.store.prepare()
        device = pick_device(self.device)
        set_up(device, self.threads)
        stored = {} if self.force else {spec.run_id: self.store.load(spec.run_id) for spec in specs}
        finished = {run_id: record for run_id, record in stored.items() if record and record["status"] == "done"}
        waiting = [spec for spec in specs if spec.run_id not in finished]
        datasets = self._loader.load(waiting, device)
        self.listener.experiment_started(len(specs), len(finished))
        executor = self.executor or (Processes() if (self.jobs or 1) > 1 else None)
        if executor is None:
            records = self._in_turn(waiting, datasets, device)
        else:
            records = self._elsewhere(executor, waiting, datasets, device) if waiting else {}
        self.listener.experiment_finished()
        return [finished.get(spec.run_id) or records[spec.run_id] for spec in specs]

    @cached_property
    def _loader(self) -> Loader:
        return Loader(self.registry, self.data_dir, self.cache, self.weights_file, self.listener)

    def _in_turn(
        self, specs: Sequence[RunSpec], datasets: Mapping[str, Dataset], device: torch.device
    ) -> dict[str, dict[str, Any]]:
        """One after another; what another process is at comes last, and is not done twice."""
        records: dict[str, dict[str, Any]] = {}
        for wait in (False, True):
            for spec in specs:
                if spec.run_id in records:
                    continue
                with self.store.claim(spec.run_id, wait=wait) as claimed:
                    if claimed:
                        records[spec.run_id] = self._run(spec, datasets[spec.run_id], device, others=wait)
        return records

    def _elsewhere(
        self, executor: Executor, specs: Sequence[RunSpec], datasets: Mapping[str, Dataset], device: torch.device
    ) -> dict[str, dict[str, Any]]:
        """Wherever the executor takes them. Records come back through the store."""
        records: dict[str, dict[str, Any]] = {}
        batch = Batch(in_waves(specs), Setup.of(self), self.jobs, self.listener, self.store.folder)
        for spec, reason in executor.execute(batch):
            record = None if reason else self.store.load(spec.run_id)
            if record is None or record["status"] == "running":
                record = self._bury(spec, datasets[spec.run_id], device, reason or "it left no record")
            records[spec.run_id] = record
            self.listener.run_finished(spec, record)
        return records

    def _bury(self, spec: RunSpec, data: Dataset, device: torch.device, reason: str) -> dict[str, Any]:
        """The record of a run that its process could not finish."""
        stored = self.store.load(spec.run_id) or new_record(spec, data, split_for(spec, data), device)
        record = {**stored, "status": "failed", "finished": _now(), "error": {"message": reason, "where": ""}}
        self.store.save(record)
        return record

    def _run(self, spec: RunSpec, data: Dataset, device: torch.device, *, others: bool) -> dict[str, Any]:
        """A run's record: by another process since we looked, or now."""
        stored = None if self.force and not others else self.store.load(spec.run_id)
        if stored is not None and stored["status"] == "done":
            self.listener.run_finished(spec, stored)
            return stored
        return self._execute(spec, data, device)

    @property
    def weights_file(self) -> Path | None:
        """The file of weights, if there is one."""
        return None if self.weights is None else find_weights(self.weights)

    def _execute(self, spec: RunSpec, data: Dataset, device: torch.device) -> dict[str, Any]:
        """Run one spec; its record is written after every round, and says how it ended."""
        self.listener.run_started(spec)
        self.plugins.notify("bench_run_started", spec=spec)
        set_up(device, spec.group(Recipe).threads or self.threads)
        split = split_for(spec, data)
        record = new_record(spec, data, split, device)
        record["environment"]["plugins"] = self.plugins.versions
        bookmark = Bookmark.of(self.cache, spec, self.registry, split.digest) if self.cache else None
        left = None if bookmark is None or self.force else bookmark.find()
        if left is not None:
            record |= {"rounds": left[0], "resumed_after": left[1].record["round"]}
        self.store.save(record)
        start = time.perf_counter() - sum(sum(each["seconds"].values()) for each in record["rounds"])
        try:
            for each in run_rounds(self._prepared(spec, data, split, device), _recorder(data, split), left and left[1]):
                record["seconds"] = time.perf_counter() - start
                self.store.save({**record, "rounds": [*record["rounds"], each.record]})
                record["rounds"].append(each.record)  # after it was written: what can't be written is not kept
                if bookmark is not None:
                    bookmark.keep(record["rounds"], each)
                self.listener.round_finished(spec, each.record)
                self.plugins.notify("bench_round_finished", spec=spec, round=each.record)
            record["status"] = "done"
        except Exception as error:
            record["status"] = "failed"
            record["error"] = _describe(error)
        record["seconds"] = time.perf_counter() - start
        record["finished"] = _now()
        self.store.save(record)
        if bookmark is not None:
            bookmark.remove()
        self.listener.run_finished(spec, record)
        self.plugins.notify("bench_run_finished", spec=spec, record=record)
        return record

    def _prepared(self, spec: RunSpec, data: Dataset, split: Split, device: torch.device) -> Run:
        report = partial(self.listener.epoch_finished, spec)
        return Run(spec, self.registry, data, split, device, report, self.weights_file, self.cache)


def in_waves(specs: Sequence[RunSpec]) -> list[RunSpec]:
    """The first of the runs that begin with the same network, then the second of each such group, and so on.

    Side by side, all but one of a group would wait until its network is trained.
    """
    seen: Counter[tuple[Any, ...]] = Counter()
    places = []
    for spec in specs:
        group = (spec.dataset, spec.labels, spec.seed, spec.trains_on, spec.policy == "held-out")
        places.append(seen[group])
        seen[group] += 1
    return [specs[place] for place in sorted(range(len(specs)), key=places.__getitem__)]


def _recorder(data: Dataset, split: Split) -> Recorder:
    """The truth of the pool and of the test set, in the recorder's hands alone."""
    return Recorder(data.classes, data.train_labels[list(split.unlabeled)], data.test_labels)


def split_for(spec: RunSpec, data: Dataset) -> Split:
    """The split of a run on ``data`` as it sees it: its label budget, with what held-out calibration takes."""
    budget = label_budget(spec, data)
    held = round(budget * spec.group(Calibration).fraction) if spec.policy == "held-out" else 0
    return make_split(data.name, data.strata, budget=budget, seed=spec.seed, held_out=held)


def new_record(spec: RunSpec, data: Dataset, split: Split, device: torch.device) -> dict[str, Any]:
    """A record before its first round."""
    return {
        "kind": KIND,
        "format": FORMAT,
        "run_id": spec.run_id,
        "status": "running",
        "spec": asdict(spec),
        "task": data.task,
        "split": {
            "sha256": split.digest,
            "labeled": len(split.labeled),
            "calibration": len(split.calibration),
            "unlabeled": len(split.unlabeled),
            "test": len(data.test_labels),
            "rebuild": "pseudobench.runner.split_for(spec, pseudobench.loading.evaluated(spec, dataset))",
        },
        "network": asdict(spec.group(Network)),
        "environment": describe_environment(device),
        "started": _now(),
        "finished": None,
        "resumed_after": None,
        "seconds": 0.0,
        "error": None,
        "rounds": [],
    }


def _describe(error: Exception) -> dict[str, str]:
    """What went wrong and where (the last calls), without paths of this machine."""
    frames = traceback.extract_tb((error.__cause__ or error).__traceback__)[-3:]
    where = " > ".join(f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}" for frame in frames)
    return {"message": one_line(error), "where": where}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
