"""Runs and rounds as pandas DataFrames, with a typed column for everything that a record says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from pseudobench.analysis.run_facts import RunFacts, column_name, policy, settings_of
from pseudobench.contracts.kinds import STAGE_KINDS
from pseudobench.contracts.parameters import Value, parameters
from pseudobench.contracts.settings import GROUPS

if TYPE_CHECKING:
    from pseudobench.registry.components import Registry

#: Pandas' types for those of Python. Missing numbers are NaN; whole ones, words and flags have NA.
_DTYPES = {"str": "string", "int": "Int64", "float": "float64", "bool": "boolean"}
#: What is said of every run, and its type.
ABOUT = {
    "run_id": "str",
    "dataset": "str",
    "labels": "int",
    "evaluated_on": "str",
    "backbone": "str",
    "tune": "str",
    "preset": "str",
    "method": "str",
    "calibration": "str",
    "trains_on": "str",
    "seed": "int",
    "status": "str",
    "error": "str",
    "rounds": "int",
    "seconds": "float",
    "device": "str",
    "processor": "str",
    "revision": "str",
    "split": "str",
}
#: What is said of a run in each row of its rounds.
_ABOUT_ROUNDS = ("run_id", "dataset", "labels", "evaluated_on", "method", "calibration", "seed", "status")


def frame(runs: Sequence[RunFacts], registry: Registry) -> pd.DataFrame:
    """One row per run: what it is, the value of every column, its stages, and a column for each of its parameters.

    Values are as the records have them: shares are fractions. A column's values and type do not depend on which other
    runs there are; a parameter that no run has is not a column.
    """
    about = [_about(run) for run in runs]
    columns: dict[str, pd.Series[Any]] = {
        name: _series([each[name] for each in about], kind) for name, kind in ABOUT.items()
    }
    for entry in registry.of("columns"):
        columns.setdefault(column_name(entry.name), _series([run.values[entry.name] for run in runs], "float"))
    for stage in STAGE_KINDS:
        columns.setdefault(stage, _series([run.spec["stages"].get(stage) for run in runs], "str"))
    declared = _declared(registry)
    known = dict.fromkeys(key for run in runs for group in run.spec["settings"] for key in _keys(run, group))
    for key in known:
        values = [run.settings.get(key) for run in runs]
        name = column_name(key)
        columns[key if name in columns else name] = _series(values, declared.get(key) or _kind(values))
    return pd.DataFrame(columns)


def scaled(runs: pd.DataFrame, registry: Registry) -> pd.DataFrame:
    """A `frame` with its columns as commands show them: shares in percent."""
    scales = {column_name(entry.name): entry.component.scale for entry in registry.of("columns")}
    return runs.assign(**{name: runs[name] * scale for name, scale in scales.items() if scale != 1 and name in runs})


def rounds_frame(records: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """One row per run and round: the run, the round's number, and each number of the round's record by its path.

    ``test_accuracy``, ``selection_positive_precision``, ``seconds_fit``: shares are fractions. Lists are left out.
    """
    rows: list[dict[str, Any]] = []
    for record in records:
        spec = record["spec"]
        about = {
            "run_id": record["run_id"],
            "evaluated_on": spec["evaluates_on"],
            "calibration": policy(settings_of(spec)),
            "status": record["status"],
            **{key: spec[key] for key in ("dataset", "labels", "method", "seed")},
        }
        rows += [{**about, "round": each["round"], **_numbers(each)} for each in record["rounds"]]
    kinds = {name: ABOUT[name] for name in _ABOUT_ROUNDS} | {"round": "int"}
    numbers = dict.fromkeys(key for row in rows for key in row if key not in kinds)
    return typed(rows, kinds | {name: _kind([row.get(name) for row in rows]) for name in numbers})


def typed(rows: Sequence[Mapping[str, Any]], kinds: Mapping[str, str]) -> pd.DataFrame:
    """Rows as a frame with these columns, each ``str``, ``int``, ``float`` or ``bool``."""
    return pd.DataFrame({name: _series([row.get(name) for row in rows], kind) for name, kind in kinds.items()})


def _about(run: RunFacts) -> dict[str, Any]:
    spec = run.spec
    return {
        **{key: spec[key] for key in ("dataset", "labels", "backbone", "preset", "method", "trains_on", "seed")},
        "run_id": run.run_id,
        "evaluated_on": spec["evaluates_on"],
        "tune": run.settings.get("network.tune", "full"),
        "calibration": policy(run.settings),
        "status": run.status,
        "error": run.error,
        "rounds": run.rounds,
        "seconds": run.seconds,
        "device": run.place.device or None,
        "processor": run.processor or None,
        "revision": run.revision or None,
        "split": run.split or None,
    }


def _keys(run: RunFacts, group: str) -> list[str]:
    """The names of a group's parameters that have no column of their own."""
    names = (f"{group}.{name}" for name in run.spec["settings"][group])
    return [name for name in names if name not in ("calibration.policy", "network.tune")]


def _declared(registry: Registry) -> dict[str, str]:
    """The types of all parameters that the harness and the installed components declare."""
    declared = {f"{group}.{each.name}": each.kind for group, kind in GROUPS.items() for each in parameters(kind)}
    for kind in STAGE_KINDS.values():
        for entry in registry.of(kind.name):
            declared |= {f"{entry.name}.{each.name}": each.kind for each in parameters(entry.component)}
    return declared


def _kind(values: Sequence[Value]) -> str:
    """The type of a parameter that is declared nowhere, by its values."""
    kinds = {type(value).__name__ for value in values if value is not None}
    if kinds == {"int", "float"}:
        return "float"
    return kinds.pop() if len(kinds) == 1 and kinds <= _DTYPES.keys() else "str"


def _series(values: Sequence[Any], kind: str) -> pd.Series[Any]:
    """Values as a typed column; one that is not of its declared type makes words of all."""
    if kind == "str":
        values = [None if value is None else str(value) for value in values]
    try:
        return pd.Series(values, dtype=_DTYPES[kind])
    except (TypeError, ValueError, OverflowError):
        return _series(values, "str")


def _numbers(part: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """The single numbers and flags of a round's record, by their paths."""
    found: dict[str, Any] = {}
    for key, value in part.items():
        name = before + column_name(key)
        if isinstance(value, Mapping):
            found |= _numbers(value, f"{name}_")
        elif isinstance(value, int | float) and name != "round":
            found[name] = value
    return found
