"""Tables as text: Markdown, LaTeX and HTML, from one grid of cells. The terminal's is in console.py."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from pseudobench.marks import NEAR, Mark

if TYPE_CHECKING:
    import pandas as pd

    from pseudobench.columns import Column
    from pseudobench.tables import Cell, Table


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
    rows = []
    for row in table.rows:
        cells = [_cell(cell, heading.column, table) for cell, heading in zip(row.cells, table.headings, strict=True)]
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
    seeds = f"{table.seeds} seeds where not said otherwise" if table.pivoted else "seeds"
    sentences = [f"{shared}; mean ± half of the 95 % t interval over {seeds}", *table.notes]
    if len(sentences) == 1:
        return sentences[0]
    return ". ".join(sentence.replace("BEST", best) for sentence in sentences) + "."


def _cell(cell: Cell | None, column: Column, table: Table) -> Shown:
    """The mean, scaled and rounded, with its interval; and the number of seeds where it is not what one would think."""
    if cell is None:
        return Shown("no runs")
    usual = table.seeds if table.pivoted else cell.done
    remarks = [f"n={cell.value.n}"] if cell.value.n and cell.value.n != usual else []
    if table.pivoted and cell.missing:
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


def to_markdown(grid: Grid) -> str:
    """A Markdown table below its caption."""

    def shown(cell: Shown) -> str:
        text = cell.text.replace("|", "\\|")
        return {"best": f"**{text}**", "near": f"{text} {NEAR}", "": text}[cell.mark]

    aligns = ["---"] * grid.keys + ["---:"] * (len(grid.header) - grid.keys)
    lines = [grid.flat_header, aligns, *([shown(cell) for cell in row] for row in grid.rows)]
    above = f"{grid.caption}\n\n" if grid.caption else ""
    return above + "".join("| " + " | ".join(line) + " |\n" for line in lines)


_LATEX = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "–": "--",
    NEAR: r"\textdagger{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}


def escape_latex(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return "".join(_LATEX.get(sign, sign) for sign in text)


def to_latex(grid: Grid) -> str:
    """A LaTeX table; needs the package booktabs."""

    def shown(cell: Shown) -> str:
        text = escape_latex(cell.text)
        return {"best": rf"{{\boldmath\textbf{{{text}}}}}", "near": rf"{text}\,\textdagger{{}}", "": text}[cell.mark]

    lines = [r"\begin{table}", r"\centering"]
    if grid.caption:
        lines.append(rf"\caption{{{escape_latex(grid.caption)}}}")
    lines += [rf"\begin{{tabular}}{{{'l' * grid.keys}{'r' * (len(grid.header) - grid.keys)}}}", r"\toprule"]
    if grid.groups:
        lines += _latex_groups(grid)
    lines += [_line(map(escape_latex, grid.header)), r"\midrule"]
    lines += [_line(map(shown, row)) for row in grid.rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])


def _latex_groups(grid: Grid) -> list[str]:
    """A line of groups, and rules below them."""
    cells, rules, start = [], [], 1
    for group, width in grid.spans:
        cells.append(rf"\multicolumn{{{width}}}{{c}}{{{escape_latex(group)}}}")
        rules += [rf"\cmidrule(lr){{{start}-{start + width - 1}}}"] if group else []
        start += width
    return [_line(cells), "".join(rules)]


def _line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


_STYLE = (
    "table{border-collapse:collapse;font:14px system-ui,sans-serif}caption{text-align:left;max-width:60em}"
    "th,td{padding:.25em .6em;border-bottom:1px solid #ccc;text-align:left}.n{text-align:right;white-space:nowrap}"
)


def to_html(grids: Sequence[Grid]) -> str:
    """A page of its own with the tables."""
    head = f'<meta charset="utf-8"/><title>Results</title><style>{_STYLE}</style>'
    tables = "\n".join(map(_html_table, grids))
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>\n{tables}\n</body></html>\n'


def _html_table(grid: Grid) -> str:
    def shown(place: int, cell: Shown) -> str:
        text = html.escape(cell.text)
        marked = {"best": f"<b>{text}</b>", "near": f"{text} {NEAR}", "": text}[cell.mark]
        return f'<td class="n">{marked}</td>' if place >= grid.keys else f"<td>{marked}</td>"

    lines = ["<table>", f"<caption>{html.escape(grid.caption)}</caption>", "<thead>"]
    if grid.groups:
        over = "".join(f'<th colspan="{width}">{html.escape(group)}</th>' for group, width in grid.spans)
        lines.append(f"<tr>{over}</tr>")
    names = "".join(
        f'<th class="n">{html.escape(name)}</th>' if place >= grid.keys else f"<th>{html.escape(name)}</th>"
        for place, name in enumerate(grid.header)
    )
    lines += [f"<tr>{names}</tr>", "</thead>", "<tbody>"]
    lines += [f"<tr>{''.join(shown(place, cell) for place, cell in enumerate(row))}</tr>" for row in grid.rows]
    return "\n".join([*lines, "</tbody>", "</table>"])


TEXTS: dict[str, Callable[[Grid], str]] = {"markdown": to_markdown, "latex": to_latex}
