"""Summaries of runs: means over seeds with intervals and marks, a row for each method or a column for each dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from pseudobench.analysis.arms import Arm, arms_of, shared_settings
from pseudobench.analysis.dataframe import IDENTITY, PLACE
from pseudobench.analysis.marks import Mark, Verdict, judge, reading
from pseudobench.errors import BenchError
from pseudobench.maths.significance import Mean, mean_of

if TYPE_CHECKING:
    from pseudobench.contracts.columns import Column

DEFAULT_COLUMNS = (
    "accuracy",
    "mAP",
    "f1-micro",
    "f1-macro",
    "ece",
    "selected",
    "precision",
    "neg-precision",
    "coverage",
    "set-size",
)


@dataclass(frozen=True)
class Cell:
    """A mean over seeds, of how many runs, and how it compares with the others of its column."""

    value: Mean
    done: int
    missing: int
    mark: Mark = ""


@dataclass(frozen=True)
class Heading:
    """A column of a table: what is shown, and in a pivoted table where it was measured."""

    column: Column
    group: str = ""

    @property
    def name(self) -> str:
        """Both in one."""
        return f"{self.group} {self.column.name}".strip()


@dataclass(frozen=True)
class Row:
    """A row: its identity by the table's keys, and a cell for each heading (None: nothing was run)."""

    identity: tuple[str, ...]
    cells: tuple[Cell | None, ...]
    done: int
    missing: int


@dataclass(frozen=True)
class Table:
    """A summary: what all rows share, how to read it, the rows' identity, and their cells by heading."""

    caption: Mapping[str, str]
    notes: tuple[str, ...]
    keys: tuple[str, ...]
    headings: tuple[Heading, ...]
    rows: tuple[Row, ...]
    pivoted: bool = False

    @property
    def seeds(self) -> int:
        """How many seeds most cells have."""
        counts = Counter(cell.value.n for row in self.rows for cell in row.cells if cell is not None and cell.value.n)
        return counts.most_common(1)[0][0] if counts else 0


def summarize(runs: pd.DataFrame, columns: Sequence[Column]) -> Table:
    """A row for each method, with a column for each of ``columns`` that has any value; failures are counted."""
    held, shown = _arms(runs, columns)
    arms, shared = _without_shared(held)
    cells, verdicts = _cells(arms, shown)
    keys = _keys(arms, IDENTITY)
    rows = tuple(
        Row(
            tuple(arm.identity[key] for key in keys),
            tuple(cells[place][column.name] for column in shown),
            arm.done,
            arm.missing,
        )
        for place, arm in enumerate(arms)
    )
    return Table(_caption(arms, keys, shared), reading(arms, verdicts), keys, tuple(map(Heading, shown)), rows)


def pivot(runs: pd.DataFrame, columns: Sequence[Column]) -> Table:
    """A row for each method, and for each dataset and label count (and whatever else varies) the ``columns``."""
    held, shown = _arms(runs, columns)
    arms, shared = _without_shared(held)
    shown = shown or list(columns)  # nothing has finished, and that is what there is to see
    cells, verdicts = _cells(arms, shown)
    places = _in_order({arm.place for arm in arms})
    groups = dict(zip(places, _groups(places), strict=True))
    everywhere = {place: _only({arm.identity["settings"] for arm in arms if arm.place == place}) for place in places}
    # What a place has everywhere is no matter of its rows: it is said of the place.
    own = [arm if everywhere[arm.place] is None else _with_settings(arm, "") for arm in arms]
    keys = _keys(own, ("calibration", "settings", "method"))
    rows: dict[tuple[str, ...], dict[str, int]] = {}  # by identity and group, the arm
    for place, arm in enumerate(own):
        rows.setdefault(tuple(arm.identity[key] for key in keys), {})[groups[arm.place]] = place
    headings = tuple(Heading(column, group) for group in groups.values() for column in shown)
    caption = {key: value for key, value in _caption(own, keys, shared).items() if key not in ("dataset", "labels")}
    said = [f"{groups[place]}: {text}" for place, text in everywhere.items() if text]
    return Table(
        caption,
        (*reading(arms, verdicts), *said),
        keys,
        headings,
        tuple(
            Row(
                identity,
                tuple(cells[found[each.group]][each.column.name] if each.group in found else None for each in headings),
                sum(arms[place].done for place in found.values()),
                sum(arms[place].missing for place in found.values()),
            )
            for identity, found in rows.items()
        ),
        pivoted=True,
    )


def _arms(runs: pd.DataFrame, columns: Sequence[Column]) -> tuple[list[Arm], list[Column]]:
    """The arms, and the columns that some of them have a value for."""
    if runs.empty:
        raise BenchError("there are no run records to tabulate; `bench run` makes some")
    arms = arms_of(runs, [column.name for column in columns])
    return arms, [column for column in columns if any(arm.values[column.name] for arm in arms)]


def _cells(arms: Sequence[Arm], columns: Sequence[Column]) -> tuple[list[dict[str, Cell]], list[Verdict]]:
    """A cell for each arm and column, with marks among the arms of a place; and the verdicts behind them."""
    cells = [
        {name: Cell(mean_of(list(arm.values[name].values())), arm.done, arm.missing) for name in arm.values}
        for arm in arms
    ]
    rivals: dict[tuple[str, ...], list[int]] = {}
    for place, arm in enumerate(arms):
        if not arm.ceiling:
            rivals.setdefault(arm.place, []).append(place)
    verdicts = []
    for members in rivals.values():
        for column in columns:
            verdict = judge([arms[place].values[column.name] for place in members], column.higher_is_better)
            verdicts.append(verdict)
            for place, mark in zip(members, verdict.marks, strict=True):
                cells[place][column.name] = replace(cells[place][column.name], mark=mark)
    return cells, verdicts


def _keys(arms: Sequence[Arm], among: Sequence[str]) -> tuple[str, ...]:
    """Keys of the identity that tell arms apart, the method always. Methods without calibration do not make it vary."""
    return tuple(key for key in among if key == "method" or _shared(arms, key) is None)


def _shared(arms: Sequence[Arm], key: str) -> str | None:
    """The one value that a key has, if so."""
    values = {arm.identity[key] for arm in arms}
    if key == "calibration" and len(values) == 2:
        by_method = {(arm.place, arm.identity["settings"], arm.identity["method"]) for arm in arms}
        values = values - {"none"} if len(by_method) == len(arms) else values
    return _only(values)


def _without_shared(arms: Sequence[Arm]) -> tuple[list[Arm], str]:
    """The arms without the settings that they all have, and those settings: they are said once, in the caption."""
    shared = shared_settings(arms)
    own = [_with_settings(arm, ", ".join(each for each in arm.settings if each not in shared)) for arm in arms]
    return own, ", ".join(shared)


def _with_settings(arm: Arm, text: str) -> Arm:
    return replace(arm, identity={**arm.identity, "settings": text})


def _only(values: set[str]) -> str | None:
    return next(iter(values)) if len(values) == 1 else None


def _caption(arms: Sequence[Arm], keys: Sequence[str], settings: str) -> dict[str, str]:
    shared = {key: _shared(arms, key) for key in IDENTITY if key not in keys}
    # By another name where rows have settings of their own.
    shared["shared settings" if "settings" in keys else "settings"] = settings
    return {key: value for key, value in shared.items() if value}


def _in_order(places: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """By dataset, then by label count."""
    dataset, labels = PLACE.index("dataset"), PLACE.index("labels")
    return sorted(places, key=lambda place: (place[dataset], int(place[labels]), place))


def _groups(places: Sequence[tuple[str, ...]]) -> list[str]:
    """A name for each place: its dataset and label count, and what else varies."""
    varying = [PLACE.index(key) for key in PLACE if key not in ("dataset", "labels")]
    varying = [part for part in varying if len({place[part] for place in places}) > 1]
    dataset, labels = PLACE.index("dataset"), PLACE.index("labels")
    return [", ".join([f"{place[dataset]} {place[labels]}", *(place[part] for part in varying)]) for place in places]


def to_values(table: Table) -> pd.DataFrame:
    """The table as numbers, unscaled: mean, half interval, number of seeds and mark of every column."""
    rows = []
    for row in table.rows:
        held: dict[str, Any] = dict(zip(table.keys, row.identity, strict=True))
        held |= {"runs": row.done, "not_done": row.missing}
        for heading, cell in zip(table.headings, row.cells, strict=True):
            value = cell.value if cell else mean_of([])
            mark = (cell.mark if cell else "") or None
            name = heading.name
            held |= {name: value.mean, f"{name}_half95": value.half, f"{name}_n": value.n, f"{name}_mark": mark}
        rows.append({**table.caption, **held})
    return pd.DataFrame(rows)
