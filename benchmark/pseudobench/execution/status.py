"""Progress of an experiment: the state of each run, and an estimate of the time left."""

from __future__ import annotations

import statistics
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pseudobench.errors import BenchError, BenchWarning
from pseudobench.storage.job_notes import JobNotes
from pseudobench.storage.plans import Plans
from pseudobench.storage.records import Store

if TYPE_CHECKING:
    from pseudobench.contracts.run_spec import RunSpec

STATES = ("done", "running", "queued", "failed", "interrupted", "missing")


@dataclass(frozen=True)
class State:
    """The state of one run, one of `STATES`, with its record if there is one."""

    run_id: str
    group: tuple[str, int, str]  # dataset, labels, method
    state: str
    record: Mapping[str, Any] | None


def states(store: Store, specs: Sequence[RunSpec] | None) -> list[State]:
    """The state of every run in ``specs``, or, without specs, of every run that has a record or was asked for."""
    found: list[tuple[str, Mapping[str, Any], Mapping[str, Any] | None]]
    if specs is None:
        found = [(record["run_id"], record["spec"], record) for record in store.records()]
        begun = {run_id for run_id, _, _ in found}
        found += [(run.run_id, vars(run), None) for run in Plans(store.folder).runs() if run.run_id not in begun]
    else:
        found = [(spec.run_id, vars(spec), _load(store, spec.run_id)) for spec in specs]
    return [
        State(run_id, (spec["dataset"], spec["labels"], spec["method"]), _state(store.folder, run_id, record), record)
        for run_id, spec, record in found
    ]


def _load(store: Store, run_id: str) -> Mapping[str, Any] | None:
    """A run's record; one that can't be read is warned of, and the states of the other runs are shown."""
    try:
        return store.load(run_id)
    except BenchError as error:
        warnings.warn(str(error), BenchWarning, stacklevel=2)
        return None


def _state(folder: Path, run_id: str, record: Mapping[str, Any] | None) -> str:
    if record is not None and record["status"] not in ("running", "interrupted"):
        return str(record["status"])
    folder = getattr(record, "folder", folder)  # a record may lie below, with its claims and notes beside it
    if Store(folder).is_claimed(run_id):
        return "running"
    if JobNotes(folder).has(run_id):
        return "queued"
    return "missing" if record is None else "interrupted"


def seconds_left(runs: Sequence[State]) -> float | None:
    """Estimated seconds until all runs are done; None as long as none is.

    A run is expected to take the mean time of finished runs of its group, or of all finished runs.
    """
    taken: dict[tuple[str, int, str], list[float]] = {}
    for run in runs:
        if run.state == "done" and run.record is not None:
            taken.setdefault(run.group, []).append(run.record["seconds"])
    known = [value for values in taken.values() for value in values]
    left = [run for run in runs if run.state in ("running", "queued", "interrupted", "missing")]
    if not known or not left:
        return None if left else 0.0
    needed = 0.0
    for run in left:
        usual = statistics.mean(taken.get(run.group, known))
        needed += max(usual - (run.record["seconds"] if run.record else 0.0), 0.0)
    at_once = max(sum(run.state == "running" for run in runs), 1)
    return needed / at_once
