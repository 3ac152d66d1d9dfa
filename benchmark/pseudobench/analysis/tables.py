"""Summaries of runs: means over seeds with intervals and marks, a row for each arm or a column for each dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pseudobench.analysis.arm_settings import shared_settings
from pseudobench.analysis.arms import Arm
from pseudobench.analysis.run_facts import Place
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
    """A row: an arm, or in a pivoted table the arms of one name; and a cell for each heading (None: no runs)."""

    name: str
    arms: tuple[Arm, ...]
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

    @property
    def complete(self) -> bool:
        """Whether all rows have as many runs, and all of these are done."""
        return len({arm.done for row in self.rows for arm in row.arms}) == 1 and not any(
            row.missing for row in self.rows
        )


def summarize(
    arms: Sequence[Arm], columns: Sequence[Column], methods: Collection[str] | None = None, *, keep_empty: bool = False
) -> Table:
    """A row for each arm, and ``columns``; those without any value only if they are kept. Failures are counted.

    Only rows of ``methods`` are shown, if these are named; verdicts are those of all arms.
    """
    shown, columns = _shown(arms, columns, methods, keep_empty)
    cells, verdicts = _cells(arms, shown, columns)
    shared = shared_settings(shown)
    rows = tuple(Row(arm.name, (arm,), tuple(cells[arm.run_ids][column.name] for column in columns)) for arm in shown)
    keys = tuple(key for key in Place._fields if len({getattr(arm.place, key) for arm in shown}) > 1)
    notes = notes_on(shown, verdicts, {name: held for name, held in _groups(shown, shared).values() if held})
    return Table(_shared_place(shown, keys), shared, notes, keys, tuple(map(Heading, columns)), rows)


def pivot(
    arms: Sequence[Arm], columns: Sequence[Column], methods: Collection[str] | None = None, *, keep_empty: bool = False
) -> Table:
    """A row for each arm's name, and for each dataset and label count (and whatever else varies) the ``columns``."""
    shown, some = _shown(arms, columns, methods, keep_empty)
    columns = some or list(columns)  # nothing has finished, and that is what there is to see
    cells, verdicts = _cells(arms, shown, columns)
    shared = shared_settings(shown)
    groups = _groups(shown, shared)
    rows: dict[str, dict[str, Arm]] = {}  # by name, the arm of each group
    for arm in sorted(shown, key=lambda arm: arm.order):
        rows.setdefault(arm.name, {})[groups[arm.place][0]] = arm
    headings = tuple(Heading(column, group) for group, _ in groups.values() for column in columns)
    made = tuple(
        Row(
            name,
            tuple(found.values()),
            tuple(
                cells[found[each.group].run_ids][each.column.name] if each.group in found else None for each in headings
            ),
        )
        for name, found in rows.items()
    )
    varied = tuple(key for key in Place._fields if len({getattr(place, key) for place in groups}) > 1)
    place = {key: value for key, value in _shared_place(shown, varied).items() if key not in ("dataset", "labels")}
    notes = notes_on(shown, verdicts, {name: held for name, held in groups.values() if held})
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
                cells[arm.run_ids][column.name] = cell_of(arm, column, verdict)
    return cells, verdicts


def cell_of(arm: Arm, column: Column, verdict: Verdict | None) -> Cell:
    """An arm's cell in a column, given the column's verdict on the arms of its place."""
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


def _groups(arms: Sequence[Arm], shared: Mapping[str, Value]) -> dict[Place, tuple[str, dict[str, Value]]]:
    """A name for each place, and the settings that all of its arms have and not all places."""
    places = families(arms)
    held = [shared_settings(members) for members in places.values()]
    own = [{key: value for key, value in each.items() if key not in shared} for each in held]
    return dict(zip(places, zip(place_names(list(places)), own, strict=True), strict=True))


def _shared_place(arms: Sequence[Arm], keys: Sequence[str]) -> dict[str, str | int]:
    """The parts of the place but for ``keys``, in which arms differ."""
    return {key: value for key, value in arms[0].place._asdict().items() if key not in keys and value != ""}


def place_names(places: Sequence[Place]) -> list[str]:
    """A name for each place: its dataset and label count, and what else varies."""
    further = [key for key in Place._fields if key not in ("dataset", "labels")]
    further = [key for key in further if len({getattr(place, key) for place in places}) > 1]
    return [
        ", ".join([f"{place.dataset} {place.labels}", *(getattr(place, key) for key in further)]) for place in places
    ]


def where_rounds_differ(arms: Sequence[Arm], columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns without ``rounds`` where all arms that select pseudo-labels had as many of them."""
    counts = {count for arm in arms if "selector" in arm.settings for count in arm.values.get("rounds", {}).values()}
    return tuple(column for column in columns if column.name != "rounds" or len(counts) > 1)
