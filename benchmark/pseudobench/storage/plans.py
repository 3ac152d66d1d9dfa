"""Plans beside the records: which runs an experiment asked for, so that those not begun are known, too."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pseudobench.base.paths import instead_of_file, write_atomically

if TYPE_CHECKING:
    from pseudobench.contracts.run_spec import RunSpec


@dataclass(frozen=True)
class Planned:
    """A run that was asked for."""

    run_id: str
    dataset: str
    labels: int
    method: str


@dataclass(frozen=True)
class Plans:
    """The plans of the experiments whose records are in ``folder``: a file for each."""

    folder: Path

    def put(self, specs: Sequence[RunSpec]) -> None:
        """Keep the plan of an experiment. One that can't be kept costs nothing but a true `bench status`."""
        choices = list(map(_choices, specs))
        runs = [
            (each, spec.run_id, spec.dataset, spec.labels, spec.method)
            for each, spec in zip(choices, specs, strict=True)
        ]
        name = hashlib.sha256("\n".join(sorted(choices)).encode()).hexdigest()[:16]
        plan = {"written": datetime.now(UTC).isoformat(), "runs": runs}
        with suppress(OSError):
            self._path.mkdir(parents=True, exist_ok=True)
            write_atomically(self._path / f"{name}.plan", json.dumps(plan).encode())

    def runs(self) -> list[Planned]:
        """Every run that was asked for, each once; of the same choices with changed code or data, the latest."""
        plans = [plan for path in self._path.glob("*.plan") if (plan := _read(path)) is not None]
        found: dict[str, Planned] = {}
        for plan in sorted(plans, key=lambda plan: str(plan["written"])):
            for choices, *run in plan["runs"]:
                found[choices] = Planned(*run)
        return list(found.values())

    @property
    def _path(self) -> Path:
        return self.folder / ".plans"


def _choices(spec: RunSpec) -> str:
    """All that tells a run from others but the versions of code and data."""
    parts = [spec.dataset, spec.labels, spec.method, spec.seed, spec.backbone, spec.preset, spec.evaluates_on]
    return hashlib.sha256(repr([*parts, sorted(spec.overrides.items())]).encode()).hexdigest()[:16]


def _read(path: Path) -> dict[str, Any] | None:
    """A plan from its file, None for anything else."""
    with suppress(OSError, ValueError, RecursionError, TypeError, KeyError):
        if instead_of_file(path) is None:
            plan = json.loads(path.read_text(encoding="utf-8"))
            texts = all(len(run) == 5 and isinstance(run[0], str) and isinstance(run[1], str) for run in plan["runs"])
            if texts and "written" in plan:
                return dict(plan)
    return None
