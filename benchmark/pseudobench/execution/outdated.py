"""Runs that were finished by other code, or on other data: why they are run again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from pseudobench.contracts.run_spec import RunSpec
from pseudobench.errors import BenchError
from pseudobench.storage.records import Store


def outdated(store: Store, specs: Sequence[RunSpec]) -> list[tuple[int, tuple[str, ...]]]:
    """How many of ``specs`` have a finished record that differs in its sources alone, and in which of them."""
    stored: dict[str, list[str]] = {}
    for run_id in store.run_ids():
        stored.setdefault(_readable(run_id), []).append(run_id)
    found: Counter[tuple[str, ...]] = Counter()
    for spec in specs:
        others = (run_id for run_id in stored.get(_readable(spec.run_id), ()) if run_id != spec.run_id)
        changed = _changed(spec, _specs(store, others))
        if changed:
            found[changed] += 1
    return [(count, names) for names, count in found.items()]


def _readable(run_id: str) -> str:
    """A run id without its hash."""
    return run_id.rpartition("-")[0]


def _specs(store: Store, run_ids: Iterable[str]) -> Iterable[RunSpec]:
    """The specs of finished records; unreadable records are skipped."""
    for run_id in run_ids:
        try:
            record = store.load(run_id)
            if record is not None and record["status"] == "done":
                yield RunSpec.from_json(record["spec"])
        except (BenchError, TypeError):
            continue


def _changed(spec: RunSpec, others: Iterable[RunSpec]) -> tuple[str, ...]:
    """The names of the sources that differ, if one of ``others`` differs in nothing else."""
    for other in others:
        if other.sources and _choices(spec) == _choices(other):
            names = spec.sources.keys() | other.sources.keys()
            return tuple(sorted(name for name in names if spec.sources.get(name) != other.sources.get(name)))
    return ()


def _choices(spec: RunSpec) -> dict[str, Any]:
    return {name: value for name, value in vars(spec).items() if name not in ("sources", "overrides")}
