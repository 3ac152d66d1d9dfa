"""Records to pandas: one row per run, with what tells it from others and the raw value of every column."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from pseudobench.contracts.parameters import suggest
from pseudobench.contracts.run_spec import flat
from pseudobench.errors import BenchError, BenchWarning, one_line

if TYPE_CHECKING:
    from pseudobench.contracts.columns import Column
    from pseudobench.registry.components import Entry, Registry

#: Where runs are comparable: methods that differ in nothing of this meet the same images, network and compute.
PLACE = ("dataset", "evaluated on", "labels", "backbone", "preset")
#: What tells one row of a table from another. Those that are the same everywhere go into the caption instead.
IDENTITY = (*PLACE, "calibration", "settings", "method")
#: What a frame says of a run beside the values of columns.
ABOUT = ("run_id", *IDENTITY, "trains on", "training", "seed", "split", "status", "error")
#: Settings that the identity says in words of its own.
SHOWN_ELSEWHERE = ("calibration.policy", "network.tune")
#: Settings of the harness that methods of one place are expected to share.
_SHARED = ("recipe.", "network.")


def frame(records: Iterable[Mapping[str, Any]], registry: Registry) -> pd.DataFrame:
    """One row per record: identity, status and the raw value of every column."""
    entries = registry.of("columns")
    rows, specs = [], []
    for record in records:
        spec = record["spec"]
        rows.append(
            {
                "run_id": record["run_id"],
                "dataset": spec["dataset"],
                "evaluated on": spec["evaluates_on"],
                "labels": spec["labels"],
                "backbone": spec["backbone"] + (" (head)" if frozen(spec) else ""),
                "preset": spec["preset"],
                "calibration": policy(spec),
                "method": spec["method"],
                "trains on": spec["trains_on"],
                "seed": spec["seed"],
                "split": _split(record),
                "status": record["status"],
                "error": (record["error"] or {}).get("message"),
                **{entry.name: _read(entry, record) for entry in entries},
            }
        )
        specs.append(spec)
    for row, (training, text) in zip(rows, settings_texts(rows, specs), strict=True):
        row |= {"training": training, "settings": text}
    return pd.DataFrame(rows, columns=[*ABOUT, *(entry.name for entry in entries)])


def judged_by(runs: pd.DataFrame) -> str:
    """The column that methods are judged by unless one is named: accuracy, or mAP where no run has an accuracy."""
    return "mAP" if runs["accuracy"].isna().all() and runs["mAP"].notna().any() else "accuracy"


def frozen(spec: Mapping[str, Any]) -> bool:
    """Whether a run trained a head alone."""
    return bool((spec["settings"].get("network") or {}).get("tune") == "head")


def policy(spec: Mapping[str, Any]) -> str:
    """Where a run's calibration labels came from; ``none`` for a method without."""
    return str((spec["settings"].get("calibration") or {}).get("policy", "none"))


def _split(record: Mapping[str, Any]) -> str:
    """How many labels a run trained and calibrated on, and which: two runs that took as many took the same."""
    split = record["split"]
    return f"{split['labeled']}+{split['calibration']} {split['sha256']}" if split else ""


def ordered(runs: pd.DataFrame, registry: Registry, *, methods_first: bool = False) -> pd.DataFrame:
    """Runs by dataset and label count, then methods in the order in which they are listed, compositions last."""
    place = {entry.name: place for place, entry in enumerate(registry.of("methods"))}
    order = runs.assign(place=runs["method"].map(lambda name: place.get(name, len(place))))
    where = ["dataset", "labels", "evaluated on", "backbone", "preset"]
    what = ["place", "method", "calibration", "settings"]
    keys = [*what, *where, "seed"] if methods_first else [*where, *what, "seed"]
    return order.sort_values(keys, kind="stable").drop(columns="place")


def settings_texts(rows: Sequence[Mapping[str, Any]], specs: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """What to say of each run's settings: what its user set, and whatever tells it from runs that look the same.

    Runs of one identity whose settings or components differ (a default has changed since, say) are never averaged: the
    difference is shown, and they are rows of their own. So is how methods of one place were trained differently; this
    comes first, by itself, as runs that differ there are no fair comparison.
    """
    flat: dict[str, tuple[dict[str, Any], frozenset[str]]] = {}
    kinds: list[tuple[tuple[Any, ...], str]] = []
    for row, spec in zip(rows, specs, strict=True):
        text = repr((spec["settings"], spec["overrides"], spec["stages"], spec["trains_on"]))
        if text not in flat:  # thousands of runs share a few settings
            flat[text] = flatten(spec), frozenset(spec["overrides"])
        kinds.append((tuple(row[key] for key in IDENTITY if key != "settings"), text))
    known = dict.fromkeys(kinds)
    same: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for identity, text in known:
        for group in (identity, identity[: len(PLACE)]):
            same.setdefault(group, []).append(flat[text][0])
    varying = {group: _varying(members) for group, members in same.items()}
    texts = {}
    for identity, text in known:
        values, overrides = flat[text]
        training = {key for key in varying[identity[: len(PLACE)]] if key.startswith(_SHARED)}
        shown = overrides | varying[identity] | training
        texts[identity, text] = _said(values, training), _said(values, shown)
    return [texts[kind] for kind in kinds]


def flatten(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that a run's method and settings are: ``recipe.lr``, ``ups.tau_p``, ..., ``selector``."""
    settings = flat(spec["settings"])
    code = {f"code of {name}": digest for name, digest in spec.get("sources", {}).items()}
    return {**settings, **spec["stages"], "trains on": spec["trains_on"], **code}


def _varying(members: Sequence[Mapping[str, Any]]) -> set[str]:
    """Keys that have different values, or that only some have."""
    if len(members) == 1:
        return set()
    keys = {key for values in members for key in values}
    return {key for key in keys if len({repr(values.get(key, ...)) for values in members}) > 1}


def _said(values: Mapping[str, Any], keys: Iterable[str]) -> str:
    shown = set(keys).difference(SHOWN_ELSEWHERE)
    return ", ".join(f"{key}={plain(value)}" for key, value in values.items() if key in shown)


def plain(value: Any) -> str:
    """A setting's value as it is shown; two values never look the same."""
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)


def _read(entry: Entry, record: Mapping[str, Any]) -> float:
    try:
        value = entry.component.value(record) if record["rounds"] else None
        return math.nan if value is None else float(value)
    except Exception as error:  # a plugin's column: the table goes on without it
        message = f"column {entry.name!r} of {entry.owner} can't read {record['run_id']}: {one_line(error)}"
        warnings.warn(message, BenchWarning, stacklevel=2)
        return math.nan


def pick_columns(registry: Registry, names: Sequence[str]) -> tuple[Column, ...]:
    """Columns by name."""
    known = {entry.name: entry.component for entry in registry.of("columns")}
    for name in names:
        if name not in known:
            raise BenchError(f"there is no column {name!r}{suggest(name, known)}")
    return tuple(known[name] for name in names)
