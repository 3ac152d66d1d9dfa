"""The record of a run, before its first round and when it fails."""

from __future__ import annotations

import traceback
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pseudobench.contracts.datasets import Dataset, Split
from pseudobench.contracts.run_spec import RunSpec
from pseudobench.contracts.settings import Network
from pseudobench.errors import one_line
from pseudobench.execution.environment import describe_environment
from pseudobench.registry.plugins import Plugins
from pseudobench.storage.record_schema import FORMAT, KIND

if TYPE_CHECKING:
    import torch


def new_record(spec: RunSpec, data: Dataset, split: Split, device: torch.device, plugins: Plugins) -> dict[str, Any]:
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
            "rebuild": "pseudobench.experiments.splits.split_for(spec, "
            "pseudobench.experiments.splits.evaluated(spec, dataset))",
        },
        "network": asdict(spec.group(Network)),
        "environment": {**describe_environment(device), "plugins": plugins.versions},
        "started": now(),
        "finished": None,
        "resumed_after": None,
        "seconds": 0.0,
        "error": None,
        "rounds": [],
    }


def describe_error(error: BaseException) -> dict[str, str]:
    """The message of an error and its place (the last calls), without paths of this machine."""
    frames = traceback.extract_tb((error.__cause__ or error).__traceback__)[-3:]
    where = " > ".join(f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}" for frame in frames)
    return {"message": one_line(error), "where": where}


def now() -> str:
    """The time, as records say it."""
    return datetime.now(UTC).isoformat(timespec="seconds")
