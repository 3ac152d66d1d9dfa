"""Records to pandas to text: one row per run, then one row per method with means and intervals."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd
from scipy import stats

from pseudobench.errors import BenchError, BenchWarning
from pseudobench.parameters import suggest

if TYPE_CHECKING:
    from pseudobench.columns import Column
    from pseudobench.registry import Registry

#: What tells one row of a table from another. Those that are the same everywhere go into the caption instead.
IDENTITY = ("dataset", "evaluated on", "labels", "backbone", "preset", "calibration", "settings", "method")
#: Settings that the identity says in words of its own.
SHOWN_ELSEWHERE = ("calibration.policy", "network.tune")
DEFAULT_COLUMNS = ("accuracy", "ece", "selected", "precision", "neg-precision", "coverage", "set-size")


@dataclass(frozen=True)
class Cell:
    """A mean over ``n`` seeds and the half width of its 95 % interval (NaN where n is 1)."""

    mean: float
    half: float
    n: int

    def text(self, column: Column, runs: int) -> str:
        """As it is shown: scaled, rounded, with the interval, and with n where not all ``runs`` have a value."""
        if not self.n:
            return "–"
        mean = f"{self.mean * column.scale:.{column.digits}f}"
        interval = "" if math.isnan(self.half) else f" ± {self.half * column.scale:.{column.digits}f}"
        return mean + interval + (f" (n={self.n})" if self.n < runs else "")


@dataclass(frozen=True)
class Table:
    """A summary: what all rows share, the rows' identity, and their cells by column."""

    caption: Mapping[str, str]
    keys: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[tuple[tuple[str, ...], Mapping[str, Cell], int, int], ...]  # identity, cells, runs done, not done

    @property
    def header(self) -> list[str]:
        """Column headings."""
        return [*self.keys, *(column.name for column in self.columns), "runs"]

    def texts(self) -> list[list[str]]:
        """The rows as they are shown."""
        return [
            [
                *identity,
                *(cells[column.name].text(column, done) for column in self.columns),
                f"{done} + {missing} not done" if missing else f"{done}",
            ]
            for identity, cells, done, missing in self.rows
        ]


def frame(records: Iterable[Mapping[str, Any]], registry: Registry) -> pd.DataFrame:
    """One row per record: identity, status and the raw value of every column."""
    columns = [entry.component for entry in registry.of("columns")]
    rows, settings = [], []
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
                "calibration": (spec["settings"].get("calibration") or {}).get("policy", "none"),
                "method": spec["method"],
                "seed": spec["seed"],
                "status": record["status"],
                "error": (record["error"] or {}).get("message"),
                **{column.name: _read(column, record) for column in columns},
            }
        )
        settings.append((spec["settings"], spec["overrides"]))
    names = ["run_id", *IDENTITY, "seed", "status", "error", *(column.name for column in columns)]
    texts = settings_texts([tuple(row[key] for key in IDENTITY if key != "settings") for row in rows], settings)
    return pd.DataFrame([{**row, "settings": text} for row, text in zip(rows, texts, strict=True)], columns=names)


def frozen(spec: Mapping[str, Any]) -> bool:
    """Whether a run trained a head alone."""
    return bool((spec["settings"].get("network") or {}).get("tune") == "head")


def ordered(runs: pd.DataFrame, registry: Registry) -> pd.DataFrame:
    """Runs by dataset and label count, methods in the order in which they are listed, compositions last."""
    place = {entry.name: place for place, entry in enumerate(registry.of("methods"))}
    order = runs.assign(place=runs["method"].map(lambda name: place.get(name, len(place))))
    keys = ["dataset", "evaluated on", "labels", "place", "method", "seed"]
    return order.sort_values(keys, kind="stable").drop(columns="place")


def settings_texts(
    identities: Sequence[tuple[Any, ...]], settings: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]
) -> list[str]:
    """What to say of each run's settings: what its user set, and whatever tells it from runs that look the same.

    ``settings`` are pairs of all settings of a run and its overrides. Runs of one identity whose settings differ
    (a default has changed since, say) are never averaged: the difference is shown, and they are rows of their own.
    """
    flat = [
        {f"{group}.{name}": value for group, held in every.items() for name, value in held.items()}
        for every, _ in settings
    ]
    known: dict[tuple[Any, ...], dict[str, set[str]]] = {}
    for identity, values in zip(identities, flat, strict=True):
        held = known.setdefault(identity, {})
        for key, value in values.items():
            held.setdefault(key, set()).add(repr(value))
    texts = []
    for identity, values, (_, overrides) in zip(identities, flat, settings, strict=True):
        varying = [key for key, seen in known[identity].items() if len(seen) > 1]
        shown = [key for key in values if (key in overrides or key in varying) and key not in SHOWN_ELSEWHERE]
        texts.append(", ".join(f"{key}={_plain(values[key])}" for key in shown))
    return texts


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _read(column: Column, record: Mapping[str, Any]) -> float:
    try:
        value = column.read(record) if record["rounds"] else None
        return math.nan if value is None else float(value)
    except Exception as error:  # a plugin's column: the table goes on without it
        message = f"column {column.name!r} can't read {record['run_id']}: {type(error).__name__}: {error}"
        warnings.warn(message, BenchWarning, stacklevel=2)
        return math.nan


def pick_columns(registry: Registry, names: Sequence[str]) -> tuple[Column, ...]:
    """Columns by name."""
    known = {entry.name: entry.component for entry in registry.of("columns")}
    for name in names:
        if name not in known:
            raise BenchError(f"there is no column {name!r}{suggest(name, known)}")
    return tuple(known[name] for name in names)


def summarize(runs: pd.DataFrame, columns: Sequence[Column]) -> Table:
    """Means over seeds with 95 % t intervals. Columns with no value at all are left out; failures are counted."""
    if runs.empty:
        raise BenchError("there are no run records to tabulate; `bench run` makes some")
    varying = [key for key in IDENTITY[:-1] if key not in _constant(runs)]
    keys = (*varying, "method")
    done = runs[runs["status"] == "done"]
    shown = tuple(column for column in columns if bool(done[column.name].notna().any()))
    rows = []
    for identity, group in runs.groupby(list(keys), sort=False):
        finished = group[group["status"] == "done"]
        cells = {column.name: cell(finished[column.name].dropna().tolist()) for column in shown}
        rows.append((tuple(str(part) for part in identity), cells, len(finished), len(group) - len(finished)))
    caption = {key: str(value) for key, value in _constant(runs).items() if key != "method" and value != ""}
    return Table(caption, keys, shown, tuple(rows))


def _constant(runs: pd.DataFrame) -> dict[str, Any]:
    """Identity keys with one value. Methods without calibration (`none`) do not make calibration vary."""
    constant = {}
    for key in IDENTITY:
        values = list(dict.fromkeys(runs[key]))
        if key == "calibration" and len(values) > 1:
            values = [value for value in values if value != "none"]
        if len(values) == 1:
            constant[key] = values[0]
    return constant


def cell(values: Sequence[float]) -> Cell:
    """The mean and its t interval."""
    n = len(values)
    if not n:
        return Cell(math.nan, math.nan, 0)
    mean = math.fsum(values) / n
    if n == 1:
        return Cell(mean, math.nan, 1)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    return Cell(mean, float(stats.t.ppf(0.975, n - 1)) * deviation / math.sqrt(n), n)


def to_markdown(table: Table) -> str:
    """A Markdown table with its caption."""
    lines = [caption_line(table), ""]
    lines.append("| " + " | ".join(table.header) + " |")
    aligns = ["---"] * len(table.keys) + ["---:"] * (len(table.columns) + 1)
    lines.append("| " + " | ".join(aligns) + " |")
    lines += ["| " + " | ".join(text.replace("|", "\\|") for text in row) + " |" for row in table.texts()]
    return "\n".join(lines) + "\n"


def caption_line(table: Table) -> str:
    """What all rows share, and how to read the cells."""
    shared = ", ".join(f"{key} {value}" for key, value in table.caption.items())
    return f"{shared}; mean ± half of the 95 % t interval over seeds"


def to_values(table: Table) -> pd.DataFrame:
    """The table as numbers: mean, half interval and n of every column, unscaled."""
    rows = []
    for identity, cells, done, missing in table.rows:
        row: dict[str, Any] = {**dict(zip(table.keys, identity, strict=True)), "runs": done, "not_done": missing}
        for name, value in cells.items():
            row |= {name: value.mean, f"{name}_half95": value.half, f"{name}_n": value.n}
        rows.append({**table.caption, **row})
    return pd.DataFrame(rows)
