"""Facts of a run that analysis needs, read off its record: small enough to hold ten thousand of them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pseudobench.contracts.parameters import Value, parameters, suggest
from pseudobench.contracts.run_spec import flat
from pseudobench.contracts.settings import GROUPS
from pseudobench.errors import BenchError, BenchWarning, one_line
from pseudobench.storage.predictions import load_correct

if TYPE_CHECKING:
    import numpy as np

    from pseudobench.contracts.columns import Column
    from pseudobench.registry.components import Entry, Registry

#: The setting with the calibration policy.
POLICY = "calibration.policy"


class Place(NamedTuple):
    """Where runs are comparable: the same images, network, compute and kind of device."""

    dataset: str
    labels: int
    evaluated_on: str
    backbone: str
    preset: str
    device: str


@dataclass(frozen=True)
class RunFacts:
    """One run. ``settings`` are all of its parameters, stages and ``trains_on`` by name, the same object for like runs.

    ``split`` says how many labels were trained and calibrated on, and which: two runs that took as many took the same.
    ``rounds`` are those of pseudo-labels, ``values`` those of the columns, NaN where the run has none.
    """

    run_id: str
    spec: Mapping[str, Any]
    settings: Mapping[str, Value]
    place: Place
    split: str
    status: str
    error: str | None
    rounds: int
    seconds: float
    processor: str
    revision: str
    values: Mapping[str, float]
    read_correct: Callable[[], np.ndarray | None] = field(default=lambda: None, compare=False, repr=False)

    @cached_property
    def correct(self) -> np.ndarray | None:
        """Whether each test sample was classified correctly, bool [N], where that was stored."""
        return self.read_correct()

    @property
    def done(self) -> bool:
        """Whether it has finished."""
        return self.status == "done"


def read_facts(records: Iterable[Mapping[str, Any]], registry: Registry) -> list[RunFacts]:
    """The facts of each record, one after another."""
    entries = registry.of("columns")
    known: dict[str, tuple[dict[str, Any], dict[str, Value]]] = {}
    warned: set[str] = set()  # a column that can't read one record can't read thousands
    return [_facts(record, entries, known, warned) for record in records]


def _read_correct(folder: Path | None, said: Mapping[str, str] | None) -> np.ndarray | None:
    """Which test samples were right, from the predictions beside the record; None where there are none."""
    if not said or folder is None:
        return None
    try:
        return load_correct(folder, said)
    except BenchError as error:
        warnings.warn(f"left out: {error}", BenchWarning, stacklevel=2)
        return None


def _facts(
    record: Mapping[str, Any],
    entries: Sequence[Entry],
    known: dict[str, tuple[dict[str, Any], dict[str, Value]]],
    warned: set[str],
) -> RunFacts:
    spec, environment = record["spec"], record["environment"] or {}
    parts = {key: spec[key] for key in ("settings", "overrides", "stages")}
    # Thousands of runs share a few settings.
    shared, settings = known.setdefault(
        repr((parts, spec["trains_on"], spec.get("sources"))), (parts, settings_of(spec))
    )
    return RunFacts(
        run_id=record["run_id"],
        spec={**spec, **shared},
        settings=settings,
        place=Place(
            spec["dataset"],
            spec["labels"],
            spec["evaluates_on"],
            spec["backbone"] + (" (head)" if settings.get("network.tune") == "head" else ""),
            spec["preset"],
            " ".join(str(environment[key]) for key in ("device", "precision") if environment.get(key)),
        ),
        split=_split(record),
        status=record["status"],
        error=(record["error"] or {}).get("message"),
        rounds=max(len(record["rounds"]) - 1, 0),
        seconds=float(record.get("seconds") or 0.0),
        processor=str(environment.get("device_name") or ""),
        revision=_revision(environment),
        values={entry.name: _read(entry, record, warned) for entry in entries},
        read_correct=partial(_read_correct, getattr(record, "folder", None), record.get("predictions")),
    )


def settings_of(spec: Mapping[str, Any]) -> dict[str, Value]:
    """All choices of a run's method by name: ``recipe.lr``, ``ups.tau_p``, ..., ``selector``, ``trains_on``.

    Hashes of the plugins' code are among them: runs of two versions of a rule are never averaged.
    """
    code = {f"code.{name}": digest for name, digest in (spec.get("sources") or {}).items()}
    held = {group: {**values, **_unsaid(group), **values} for group, values in spec["settings"].items()}
    return {**flat(held), **spec["stages"], "trains_on": spec["trains_on"], **code}


@cache
def _unsaid(group: str) -> dict[str, Value]:
    """The harness's own settings that records leave out at their default: those that were added later."""
    declared = GROUPS.get(group)
    return {each.name: each.default for each in parameters(declared) if each.added} if declared else {}


def policy(settings: Mapping[str, Value]) -> str | None:
    """Where a run's calibration labels came from; None for a method without calibration."""
    value = settings.get(POLICY)
    return None if value is None else str(value)


def plain(value: Any) -> str:
    """A setting's value as it is shown; two values never look the same."""
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)


def _split(record: Mapping[str, Any]) -> str:
    split = record["split"]
    return f"{split['labeled']}+{split['calibration']} {split['sha256']}" if split else ""


def _revision(environment: Mapping[str, Any]) -> str:
    """The revision of the source, or the version of the installed package."""
    revision = (environment.get("source") or {}).get("revision")
    return str(revision or (environment.get("versions") or {}).get("pseudobench") or "")


def _read(entry: Entry, record: Mapping[str, Any], warned: set[str]) -> float:
    try:
        value = entry.component.value(record) if record["rounds"] else None
        return math.nan if value is None else float(value)
    except Exception as error:  # a plugin's column: the table goes on without it
        if entry.name not in warned:
            warned.add(entry.name)
            message = f"column {entry.name!r} of {entry.owner} can't read {record['run_id']}: {one_line(error)}"
            warnings.warn(message, BenchWarning, stacklevel=2)
        return math.nan


def method_ranks(registry: Registry) -> dict[str, int]:
    """The place of each method in the list of methods; compositions come after them."""
    return {entry.name: place for place, entry in enumerate(registry.of("methods"))}


def in_order(runs: Iterable[RunFacts], registry: Registry) -> list[RunFacts]:
    """Runs by place, then by method as methods are listed, then by seed."""
    ranks = method_ranks(registry)
    return sorted(
        runs,
        key=lambda run: (run.place, ranks.get(run.spec["method"], len(ranks)), run.spec["method"], run.spec["seed"]),
    )


def judged_by(runs: Iterable[RunFacts]) -> str:
    """The column that methods are judged by unless one is named: accuracy, or mAP where no run has an accuracy."""
    held = [run.values for run in runs]
    has = {name: any(not math.isnan(values.get(name, math.nan)) for values in held) for name in ("accuracy", "mAP")}
    return "mAP" if has["mAP"] and not has["accuracy"] else "accuracy"


def pick_columns(registry: Registry, names: Sequence[str]) -> tuple[Column, ...]:
    """Columns by name, or by their name in a data frame (``f1_micro``)."""
    known = {entry.name: entry.component for entry in registry.of("columns")}
    spelt = {column_name(name): name for name in known}
    for name in names:
        if name not in known and name not in spelt:
            raise BenchError(f"there is no column {name!r}{suggest(name, known, 'bench list columns')}")
    return tuple(known[name if name in known else spelt[name]] for name in names)


def column_name(name: str) -> str:
    """A name as a data frame's columns have it, without spaces, dots and hyphens: ``ups.tau_p`` is ``ups_tau_p``."""
    return "".join(sign if sign.isalnum() else "_" for sign in name)
