"""Specs to records: finished runs are skipped, a failing run is a record with its reason, the others go on."""

from __future__ import annotations

import time
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pseudobench.environment import describe_environment, pick_device, set_up
from pseudobench.errors import BenchError
from pseudobench.listeners import Listener
from pseudobench.networks import check_backbone
from pseudobench.presets import Calibration, Recipe
from pseudobench.recorder import Recorder
from pseudobench.rounds import Run, run_rounds
from pseudobench.splits import make_split, with_validation
from pseudobench.store import FORMAT, KIND, Store

if TYPE_CHECKING:
    import torch

    from pseudobench.plugins import Plugins
    from pseudobench.registry import Registry
    from pseudobench.spec import RunSpec
    from pseudobench.types import Dataset, Split


@dataclass(frozen=True)
class Runner:
    """Executes runs one after another in this process."""

    registry: Registry
    plugins: Plugins
    store: Store
    listener: Listener
    data_dir: Path
    device: str = "auto"
    force: bool = False

    def run(self, specs: Sequence[RunSpec]) -> list[dict[str, Any]]:
        """The records of ``specs``, from the store where they are finished, else by running."""
        self.store.prepare()
        device = pick_device(self.device)
        for backbone in dict.fromkeys(spec.backbone for spec in specs):
            check_backbone(self.registry, backbone)
        stored = {} if self.force else {spec.run_id: self.store.load(spec.run_id) for spec in specs}
        finished = {run_id: record for run_id, record in stored.items() if record and record["status"] == "done"}
        datasets = self._load(specs, finished)
        self.listener.experiment_started(len(specs), len(finished))
        records = []
        for spec in specs:
            record = finished.get(spec.run_id) or self._execute(spec, datasets[spec.dataset, spec.evaluates_on], device)
            records.append(record)
        self.listener.experiment_finished()
        return records

    def _load(self, specs: Sequence[RunSpec], finished: dict[str, Any]) -> dict[tuple[str, str], Dataset]:
        """The datasets of the runs that are still to do, by name and by what they are evaluated on."""
        loaded = {}
        for spec in specs:
            key = spec.dataset, spec.evaluates_on
            if spec.run_id not in finished and key not in loaded:
                data = self.registry.get("datasets", spec.dataset)().load(self.data_dir)
                loaded[key] = with_validation(data) if spec.evaluates_on == "validation" else data
        return loaded

    def _execute(self, spec: RunSpec, data: Dataset, device: torch.device) -> dict[str, Any]:
        """Run one spec; its record is written after every round, and says how it ended."""
        self.listener.run_started(spec)
        self.plugins.notify("bench_run_started", spec=spec)
        set_up(device, spec.group(Recipe).threads)
        start = time.perf_counter()
        split = split_for(spec, data)
        record = new_record(spec, data, split, device)
        try:
            run = Run(
                spec,
                self.registry,
                data,
                split,
                device,
                lambda progress: self.listener.epoch_finished(spec, progress),
            )
            recorder = Recorder(data.classes, data.train_labels[list(split.unlabeled)], data.test_labels)
            for round_ in run_rounds(run, recorder):
                record["rounds"].append(round_)
                record["seconds"] = time.perf_counter() - start
                self.store.save(record)
                self.listener.round_finished(spec, round_)
                self.plugins.notify("bench_round_finished", spec=spec, round=round_)
            record["status"] = "done"
        except Exception as error:
            record["status"] = "failed"
            record["error"] = _describe(error)
        record["seconds"] = time.perf_counter() - start
        record["finished"] = _now()
        self.store.save(record)
        self.listener.run_finished(spec, record)
        self.plugins.notify("bench_run_finished", spec=spec, record=record)
        return record


def split_for(spec: RunSpec, data: Dataset) -> Split:
    """The split of a run: all labels for a ceiling, else the budget with what held-out calibration takes."""
    budget = len(data.train_labels) if spec.trains_on == "all" else spec.labels
    held = round(budget * spec.group(Calibration).fraction) if spec.policy == "held-out" else 0
    return make_split(data.name, data.train_labels.tolist(), budget=budget, seed=spec.seed, held_out=held)


def new_record(spec: RunSpec, data: Dataset, split: Split, device: torch.device) -> dict[str, Any]:
    """A record before its first round."""
    return {
        "kind": KIND,
        "format": FORMAT,
        "run_id": spec.run_id,
        "status": "running",
        "spec": asdict(spec),
        "split": {
            "sha256": split.digest,
            "labeled": len(split.labeled),
            "calibration": len(split.calibration),
            "unlabeled": len(split.unlabeled),
            "test": len(data.test_labels),
            "rebuild": "pseudobench.runner.split_for(spec, dataset)",
        },
        "environment": describe_environment(device),
        "started": _now(),
        "finished": None,
        "seconds": 0.0,
        "error": None,
        "rounds": [],
    }


def _describe(error: Exception) -> dict[str, str]:
    """What went wrong and where, without paths of this machine."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    kind = "" if isinstance(error, BenchError) else f"{type(error).__name__}: "
    message = " ".join(str(error).split())
    return {
        "message": f"{kind}{message}",
        "where": f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}",
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
