"""Summaries of runs: means over seeds with intervals and marks, a row for each arm or a column for each dataset."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pseudobench.analysis.arms import Arm, shared_settings
from pseudobench.analysis.run_facts import POLICY, Place
from pseudobench.analysis.table_notes import Notes, notes_on
from pseudobench.analysis.verdicts import Verdict, families, judge
from pseudobench.contracts.parameters import Value
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
    "rounds",
    "selected",
    "precision",
    "neg-precision",
    "coverage",
    "set-size",
)


@dataclass(frozen=True)
class Cell:
    """A mean over seeds, of how many runs, and how it compares with the others of its column.

    ``best``: in the best tier, None where there was no test against the best. ``letters``: arms that share one were not
    found different. ``p``: of the test against the best arm, None where there was none.
    """

    value: Mean
    done: int
    missing: int
    best: bool | None = None
    letters: str = ""
    p: float | None = None


@dataclass(frozen=True)
class Heading:
    """A column of a table: what is shown, and in a pivoted table where it was measured."""

    column: Column
    group: str = ""


@dataclass(frozen=True)
class Row:
    """A row: an arm, or in a pivoted table the arms of one name, and a cell for each heading (None: nothing was run).

    ``settings`` are those worth showing that neither the name nor the caption says.
    """

    name: str
    arms: tuple[Arm, ...]
    settings: Mapping[str, Value]
    cells: tuple[Cell | None, ...]

    @property
    def done(self) -> int:
        """Runs that have finished."""
        return sum(arm.done for arm in self.arms)

    @property
    def missing(self) -> int:
        """Runs that failed or have not finished."""
        return sum(arm.missing for arm in self.arms)


@dataclass(frozen=True)
class Table:
    """A summary: what all rows share, how to read it, the parts of the place in which rows differ, and the rows."""

    place: Mapping[str, str | int]
    settings: Mapping[str, Value]
    notes: Notes
    keys: tuple[str, ...]
    headings: tuple[Heading, ...]
    rows: tuple[Row, ...]
    pivoted: bool = False

    @property
    def seeds(self) -> int:
        """How many seeds most cells have."""
        counts = Counter(cell.value.n for row in self.rows for cell in row.cells if cell is not None and cell.value.n)
        return counts.most_common(1)[0][0] if counts else 0


def summarize(
    arms: Sequence[Arm], columns: Sequence[Column], methods: Collection[str] | None = None, *, keep_empty: bool = False
) -> Table:
    """A row for each arm, and ``columns``; those without any value only if they are kept. Failures are counted.

    Only rows of ``methods`` are shown, if these are named; verdicts are those of all arms.
    """
    shown, columns = _shown(arms, columns, methods, keep_empty)
    cells, verdicts = _cells(arms, shown, columns)
    shared = shared_settings(shown)
    rows = tuple(
        Row(arm.name, (arm,), _own(arm, shared), tuple(cells[arm.run_ids][column.name] for column in columns))
        for arm in shown
    )
    keys = tuple(key for key in Place._fields if len({getattr(arm.place, key) for arm in shown}) > 1)
    notes = notes_on(shown, verdicts, {})
    return Table(_shared_place(shown, keys), shared, notes, keys, tuple(map(Heading, columns)), rows)


def pivot(
    arms: Sequence[Arm], columns: Sequence[Column], methods: Collection[str] | None = None, *, keep_empty: bool = False
) -> Table:
    """A row for each arm's name, and for each dataset and label count (and whatever else varies) the ``columns``."""
    shown, some = _shown(arms, columns, methods, keep_empty)
    columns = some or list(columns)  # nothing has finished, and that is what there is to see
    cells, verdicts = _cells(arms, shown, columns)
    shared = shared_settings(shown)
    places = {place: _group_settings(members, shared) for place, members in families(shown).items()}
    groups = dict(zip(places, _place_names(list(places)), strict=True))
    rows: dict[tuple[str, str], dict[str, Arm]] = {}  # by name and settings of its own, the arm of each group
    own: dict[tuple[str, str], dict[str, Value]] = {}
    for arm in sorted(shown, key=lambda arm: (arm.rank, arm.method, arm.name)):
        settings = _own(arm, {**shared, **places[arm.place]})
        key = arm.name, repr(settings)
        own.setdefault(key, settings)
        rows.setdefault(key, {})[groups[arm.place]] = arm
    headings = tuple(Heading(column, group) for group in groups.values() for column in columns)
    made = tuple(
        Row(
            key[0],
            tuple(found.values()),
            own[key],
            tuple(
                cells[found[each.group].run_ids][each.column.name] if each.group in found else None for each in headings
            ),
        )
        for key, found in rows.items()
    )
    varied = tuple(key for key in Place._fields if len({getattr(place, key) for place in places}) > 1)
    place = {key: value for key, value in _shared_place(shown, varied).items() if key not in ("dataset", "labels")}
    notes = notes_on(shown, verdicts, {groups[place]: held for place, held in places.items() if held})
    return Table(place, shared, notes, (), headings, made, pivoted=True)


def _shown(
    arms: Sequence[Arm], columns: Sequence[Column], methods: Collection[str] | None, keep_empty: bool
) -> tuple[list[Arm], list[Column]]:
    """The arms to be shown, and the columns, empty ones only if they are kept."""
    if not arms:
        raise BenchError("there are no run records to tabulate; `bench run` makes some")
    shown = [arm for arm in arms if methods is None or arm.method in methods]
    return shown, [column for column in columns if keep_empty or any(arm.values[column.name] for arm in shown)]


def _cells(
    arms: Sequence[Arm], shown: Sequence[Arm], columns: Sequence[Column]
) -> tuple[dict[tuple[str, ...], dict[str, Cell]], list[Verdict]]:
    """By an arm's runs and column, its cell, for all arms in places that are shown; and the verdicts behind them."""
    cells: dict[tuple[str, ...], dict[str, Cell]] = {arm.run_ids: {} for arm in arms}
    verdicts = []
    places = {arm.place for arm in shown}
    for members in families(arm for arm in arms if arm.place in places).values():
        for column in columns:
            verdict = judge(members, column) if column.higher_is_better is not None else None
            verdicts += [verdict] if verdict else []
            for arm in members:
                cells[arm.run_ids][column.name] = _cell(arm, column, verdict)
    return cells, verdicts


def _cell(arm: Arm, column: Column, verdict: Verdict | None) -> Cell:
    value = mean_of(list(arm.values[column.name].values()))
    if verdict is None or verdict.best is None or arm.ceiling:
        return Cell(value, arm.done, arm.missing)
    p = None if arm is verdict.best else verdict.between(arm, verdict.best).p
    tested = arm is verdict.best or p is not None
    return Cell(
        value,
        arm.done,
        arm.missing,
        best=any(each is arm for each in verdict.best_tier) if tested else None,
        letters=verdict.letters.get(arm.run_ids, ""),
        p=p,
    )


def _own(arm: Arm, shared: Mapping[str, Value]) -> dict[str, Value]:
    """Settings worth showing of an arm that neither its name nor the caption says."""
    hidden = arm.told.union(shared)
    return {key: value for key, value in arm.settings.items() if key in arm.shown and key not in hidden}


def _group_settings(arms: Sequence[Arm], shared: Mapping[str, Value]) -> dict[str, Value]:
    """Settings of all arms of a place that are not ``shared`` by all places."""
    held = shared_settings(arms)
    told = frozenset(key for arm in arms for key in arm.told)
    return {key: value for key, value in held.items() if key not in shared and key not in told and key != POLICY}


def _shared_place(arms: Sequence[Arm], keys: Sequence[str]) -> dict[str, str | int]:
    """The parts of the place but for ``keys``, in which arms differ."""
    return {key: value for key, value in arms[0].place._asdict().items() if key not in keys and value != ""}


def _place_names(places: Sequence[Place]) -> list[str]:
    """A name for each place: its dataset and label count, and what else varies."""
    further = [key for key in Place._fields if key not in ("dataset", "labels")]
    further = [key for key in further if len({getattr(place, key) for place in places}) > 1]
    return [
        ", ".join([f"{place.dataset} {place.labels}", *(getattr(place, key) for key in further)]) for place in places
    ]


def where_rounds_differ(arms: Sequence[Arm], columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns without ``rounds`` where all arms that select pseudo-labels trained as many networks."""
    counts = {
        count
        for arm in arms
        if "selector" in arm.settings
        for count in arm.values.get("rounds", {}).values()
        if not math.isnan(count)
    }
    return tuple(column for column in columns if column.name != "rounds" or len(counts) > 1)
