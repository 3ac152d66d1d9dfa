"""What tables show: grids of cells from summaries, runs and comparisons, the same in every format."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from pseudobench.analysis.marks import Mark

if TYPE_CHECKING:
    import pandas as pd

    from pseudobench.analysis.comparisons import Comparison
    from pseudobench.analysis.published import Published
    from pseudobench.analysis.tables import Cell, Table
    from pseudobench.contracts.columns import Column


@dataclass(frozen=True)
class Shown:
    """A cell as it is shown."""

    text: str
    mark: Mark = ""


@dataclass(frozen=True)
class Grid:
    """What every format shows: the first ``keys`` columns are words, the others numbers, with a group above them."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[Shown, ...], ...]
    keys: int
    groups: tuple[str, ...] = ()  # one for each column, if there are any

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
    """A summary as it is shown; ``best`` says how the best cells are."""
    metrics = {heading.column.name for heading in table.headings}
    single = table.pivoted and len(metrics) == 1
    names = [heading.group if single else heading.column.name for heading in table.headings]
    usual = table.seeds if table.pivoted else None
    rows = []
    for row in table.rows:
        cells = [_cell(cell, heading.column, usual) for cell, heading in zip(row.cells, table.headings, strict=True)]
        runs = Shown(f"{row.done} + {row.missing} not done" if row.missing else f"{row.done}")
        rows.append((*map(Shown, row.identity), *cells, *(() if table.pivoted else (runs,))))
    groups: tuple[str, ...] = ()
    if table.pivoted and not single:
        groups = ("",) * len(table.keys) + tuple(heading.group for heading in table.headings)
    header = (*table.keys, *names, *(() if table.pivoted else ("runs",)))
    return Grid(table_caption(table, best, metrics if single else ()), header, tuple(rows), len(table.keys), groups)


def table_caption(table: Table, best: str, metrics: Iterable[str] = ()) -> str:
    """What all rows share, and how to read the cells."""
    shared = ", ".join([*metrics, *(f"{key} {value}" for key, value in table.caption.items())])
    return f"{shared}; {how_to_read(table, best)}"


def how_to_read(table: Table, best: str = "Bold") -> str:
    """What the cells are, and what their marks mean."""
    seeds = f"{table.seeds} seed{'s' * (table.seeds != 1)} where not said otherwise" if table.pivoted else "seeds"
    sentences = [f"mean ± half of the 95 % t interval over {seeds}", *table.notes]
    if len(sentences) == 1:
        return sentences[0]
    return ". ".join(sentence.replace("BEST", best) for sentence in sentences) + "."


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
    text = f"{number(cell.value.mean, column)}{interval(cell.value.half, column)}"
    return Shown(text + (f" ({', '.join(remarks)})" if remarks else ""), cell.mark)


def number(value: float, column: Column) -> str:
    """A value of a column, scaled and rounded."""
    return "–" if math.isnan(value) else f"{value * column.scale:.{column.digits}f}"


def interval(half: float, column: Column) -> str:
    """What stands behind a mean."""
    return "" if math.isnan(half) else f" ± {number(half, column)}"


def runs_grid(runs: pd.DataFrame, columns: Sequence[Column]) -> Grid:
    """One row per run."""
    values = [runs[name].tolist() for name in ("run_id", "status", *(column.name for column in columns))]
    rows = tuple(
        (
            Shown(run_id),
            Shown(status),
            *(Shown(number(each, column)) for each, column in zip(row, columns, strict=True)),
        )
        for run_id, status, *row in zip(*values, strict=True)
    )
    return Grid("", ("run", "status", *(column.name for column in columns)), rows, 2)


def comparison_grid(comparisons: Sequence[Comparison]) -> Grid:
    """One row per comparison."""
    places = [each.place for each in comparisons]
    varying = [key for key in places[0] if len({place[key] for place in places}) > 1]
    column, family = comparisons[0].column, comparisons[0].family
    rows = []
    for each in comparisons:
        difference = each.paired.difference
        low, high = (number(difference.mean + side * difference.half, column) for side in (-1, 1))
        cells = (
            *(each.place[key] for key in varying),
            *each.names,
            *(number(mean.mean, column) for mean in each.means),
            number(difference.mean, column),
            f"{low} to {high}" if difference.n > 1 else "–",
            str(difference.n),
            *("–" if p is None else f"{p:.2g}" for p in (each.paired.p, each.p)),
        )
        rows.append(tuple(map(Shown, cells)))
    shared = ", ".join(f"{key} {value}" for key, value in places[0].items() if key not in varying)
    caption = (
        f"{column.name}, {shared}. Difference: method minus baseline over the same seeds, with its 95 % t interval. "
        f"p: sign-flip test over the pairs, by itself and after Holm over {family}."
    )
    numbers = (column.name, "baseline's", "difference", "95 % interval", "seeds", "p", "p Holm")
    header = (*varying, "method", "baseline", *numbers)
    return Grid(caption, header, tuple(rows), len(varying) + 2)


def published_grid(numbers: Sequence[Published]) -> Grid:
    """A table of its own."""
    if not numbers:
        return Grid("Published: no number for these datasets and label counts.", ("dataset", "labels", "method"), (), 3)
    rows = []
    for each in numbers:
        printed = f"{each.metric.removesuffix(' %')} {each.value}" + (f" ± {each.interval}" if each.interval else "")
        digits = len(each.value.partition(".")[2])
        words = (each.dataset, each.labels, each.method, each.backbone or "–", each.citation)
        shown = (*words, each.column, f"{each.converted:.{digits}f}", printed, each.checkpoint or "–")
        rows.append(tuple(map(Shown, shown)))
    remarks = dict.fromkeys(f"{each.citation} ({each.read_in}): {each.differs}" for each in numbers)
    caption = (
        "Published elsewhere, not measured here and not compared: other code, compute and checkpoints. Accuracy is 100 "
        f"minus the error where an error is printed. {'. '.join(remarks)}."
    )
    names = ("dataset", "labels", "method", "backbone", "source")
    return Grid(caption, (*names, "metric", "value", "as printed", "checkpoint"), tuple(rows), len(names))
