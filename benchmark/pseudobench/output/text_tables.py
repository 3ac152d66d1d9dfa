"""What tables show: grids of cells from summaries and runs, the same in every format."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from pseudobench.output.table_words import how_to_read, key_words, shared_words

if TYPE_CHECKING:
    from pseudobench.analysis.published import Published
    from pseudobench.analysis.rankings import Ranking
    from pseudobench.analysis.run_facts import RunFacts
    from pseudobench.analysis.tables import Cell, Row, Table
    from pseudobench.contracts.columns import Column
    from pseudobench.maths.significance import Mean

Mark = Literal["", "best", "better", "worse", "failed"]


@dataclass(frozen=True)
class Shown:
    """A cell as it is shown: words, or a mean with its interval and remarks."""

    main: str
    mark: Mark = ""
    interval: str = ""
    remarks: tuple[str, ...] = ()

    @property
    def below(self) -> list[str]:
        """What stands below a mean where there is room: the interval, then the remarks."""
        return [
            *([self.interval] if self.interval else []),
            *([f"({', '.join(self.remarks)})"] if self.remarks else []),
        ]

    @property
    def text(self) -> str:
        """All in one line."""
        return " ".join([self.main, *self.below])


@dataclass(frozen=True)
class Grid:
    """What every format shows: the first ``keys`` columns are words, the others numbers, with a group above them.

    ``caption`` says what is shown, ``legend`` how to read it.
    """

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[Shown, ...], ...]
    keys: int
    groups: tuple[str, ...] = ()  # one for each column, if there are any
    legend: str = ""

    @property
    def text(self) -> str:
        """Caption and legend, for formats that have one place for both."""
        return "; ".join(part for part in (self.caption, self.legend) if part)

    @property
    def flat_header(self) -> list[str]:
        """Headings in one line, for formats that have but one."""
        groups = self.groups or ("",) * len(self.header)
        return [f"{group} {name}".strip() for group, name in zip(groups, self.header, strict=True)]

    @property
    def spans(self) -> list[tuple[str, int]]:
        """Groups and over how many columns they go."""
        return [(group, len(list(members))) for group, members in groupby(self.groups)]


def table_grid(table: Table, best: str = "Bold") -> Grid:
    """A summary as it is shown; ``best`` says how the best cells look."""
    metrics = {heading.column.name for heading in table.headings}
    single = table.pivoted and len(metrics) == 1
    names = [heading.group if single else heading.column.name for heading in table.headings]
    words, values = word_columns(table), number_cells(table)
    counted = not table.pivoted and not table.complete
    rows = tuple(
        (*words_of(row, table), *cells, *((runs_cell(row),) if counted else ()))
        for row, cells in zip(table.rows, values, strict=True)
    )
    groups: tuple[str, ...] = ()
    if table.pivoted and not single:
        groups = ("",) * len(words) + tuple(heading.group for heading in table.headings)
    header = (*words, *names, *(("runs",) if counted else ()))
    caption = ", ".join(
        [*(metrics if single else ()), *(f"{key} {value}" for key, value in shared_words(table).items())]
    )
    return Grid(caption, header, rows, len(words), groups, how_to_read(table, best))


def word_columns(table: Table) -> tuple[str, ...]:
    """Headings of the words of each row: parts of the place that differ, and the arm's name."""
    return (*map(key_words, table.keys), "method")


def words_of(row: Row, table: Table) -> tuple[Shown, ...]:
    """The words of a row, by `word_columns`."""
    places = [str(getattr(row.arms[0].place, key)) for key in table.keys]
    return tuple(map(Shown, (*places, row.name)))


def number_cells(table: Table) -> list[tuple[Shown, ...]]:
    """The numbers of each row, by the table's headings."""
    usual = table.seeds if table.pivoted else None
    return [
        tuple(_cell(cell, heading.column, usual) for cell, heading in zip(row.cells, table.headings, strict=True))
        for row in table.rows
    ]


def runs_cell(row: Row) -> Shown:
    """How many runs a row has."""
    mark: Mark = "failed" if row.missing else ""
    return Shown(str(row.done), mark, f"+ {row.missing} not done" if row.missing else "")


def _cell(cell: Cell | None, column: Column, usual: int | None) -> Shown:
    """The mean, scaled and rounded, with its interval; and the number of seeds where it is not what one would think.

    ``usual`` is what the caption says of a pivoted table; in others each row says how many runs it has.
    """
    if cell is None:
        return Shown("no runs")
    expected = cell.done if usual is None else usual
    remarks = [f"n={cell.value.n}"] if cell.value.n and cell.value.n != expected else []
    if usual is not None and cell.missing:
        remarks.append(f"{cell.missing} not done")
    half = half_of(cell.value, column)
    return Shown(number(cell.value.mean, column), "best" if cell.best else "", half, tuple(remarks))


def number(value: float, column: Column) -> str:
    """A value of a column, scaled and rounded."""
    return "–" if math.isnan(value) else f"{value * column.scale:.{column.digits}f}"


def half_of(value: Mean, column: Column) -> str:
    """Half of a mean's interval behind its sign; empty where one value has none."""
    return "" if math.isnan(value.half) else f"± {number(value.half, column)}"


def runs_grid(runs: Sequence[RunFacts], columns: Sequence[Column]) -> Grid:
    """One row per run."""
    rows = tuple(
        (Shown(run.run_id), Shown(run.status), *(Shown(number(run.values[column.name], column)) for column in columns))
        for run in runs
    )
    return Grid("", ("run", "status", *(column.name for column in columns)), rows, 2)


def ranking_grid(ranking: Ranking, best: str = "Bold") -> Grid:
    """Average ranks over datasets, the best first."""
    ranks = ranking.ranks
    lead = min(ranks.average)
    marked = ranks.p <= 0.05
    rows = []
    for index in sorted(range(len(ranking.names)), key=lambda index: ranks.average[index]):
        near = marked and ranks.average[index] - lead <= ranks.critical
        rank = Shown(f"{ranks.average[index]:.2f}", "best" if near else "")
        means = (Shown(number(values[index], ranking.column)) for values in ranking.means)
        rows.append((Shown(ranking.names[index]), rank, *means))
    names = ", ".join(ranking.left_out)
    left = f" Left out, as some dataset lacks them or some of their seeds: {names}." if names else ""
    said = f" {best}: the best, and within the critical difference of it." if marked else ""
    caption = (
        f"{ranking.column.name}, average ranks over {ranks.datasets} datasets, 1 the best. Friedman's test: chi2 = "
        f"{ranks.statistic:.2f}, p = {ranks.p:.2g} (Iman and Davenport); Nemenyi's critical difference at 5 %: "
        f"{ranks.critical:.2f}.{said}{left}"
    )
    return Grid(caption, ("method", "average rank", *ranking.datasets), tuple(rows), 1)


def published_grid(numbers: Sequence[Published]) -> Grid:
    """A table of its own."""
    if not numbers:
        return Grid("Published: no number for these datasets and label counts.", ("dataset", "labels", "method"), (), 3)
    rows = []
    for each in numbers:
        printed = f"{each.metric.removesuffix(' %')} {each.value}" + (f" ± {each.interval}" if each.interval else "")
        digits = len(each.value.partition(".")[2])
        words = (each.dataset, each.labels, each.citation, each.backbone or "–", each.method)
        shown = (*words, each.column, f"{each.converted:.{digits}f}", printed, each.checkpoint or "–")
        rows.append(tuple(map(Shown, shown)))
    remarks = dict.fromkeys(f"{each.citation} ({each.read_in}): {each.differs}" for each in numbers)
    caption = (
        "Published elsewhere, not measured here and not compared: other code, compute and checkpoints. Accuracy is 100 "
        f"minus the error where an error is printed. {'. '.join(remarks)}."
    )
    names = ("dataset", "labels", "source", "backbone", "method")
    return Grid(caption, (*names, "metric", "value", "as printed", "checkpoint"), tuple(rows), len(names))
