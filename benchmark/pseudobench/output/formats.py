"""Grids as text: Markdown, LaTeX and HTML; data frames as CSV. The terminal's is in console.py.

Text comes out as it is, whatever it holds: no format takes it for markup, and no spreadsheet for a formula.
"""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pseudobench.base.text import visible
from pseudobench.output.text_tables import Grid, Shown

if TYPE_CHECKING:
    import pandas as pd

_MARKDOWN = str.maketrans(
    {**{sign: f"\\{sign}" for sign in "\\`*[]|"}, "&": "&amp;", "<": "&lt;", ">": "&gt;", "~": "&#126;"}
)
#: An underscore that may begin or end an emphasis: between letters it never does.
_EMPHASIS = re.compile(r"(?<![^\W_])_|_(?![^\W_])")


def escape_markdown(text: str) -> str:
    """Text that Markdown shows as it is: no HTML, emphasis, code, cell or link."""
    plain = _EMPHASIS.sub(r"\\_", visible(text).translate(_MARKDOWN))
    return plain.replace("://", "&#58;//").replace("www.", "www&#46;")


def to_markdown(grid: Grid) -> str:
    """A Markdown table below its caption."""

    def shown(cell: Shown) -> str:
        text = escape_markdown(cell.text)
        return f"**{text}**" if cell.mark == "best" else text

    aligns = ["---"] * grid.keys + ["---:"] * (len(grid.header) - grid.keys)
    lines = [[*map(escape_markdown, grid.flat_header)], aligns, *([shown(cell) for cell in row] for row in grid.rows)]
    above = f"{_wrapped(escape_markdown(grid.text))}\n\n" if grid.text else ""
    return above + "".join("| " + " | ".join(line) + " |\n" for line in lines)


def _wrapped(text: str) -> str:
    """Text in the longest lines up to 100 of which none begins like a heading or a list; one line if there are none."""
    for width in range(100, 60, -1):
        wrapped = textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
        if not re.search(r"^([#=+-]|\d+[.)])", wrapped, re.MULTILINE):
            return wrapped
    return text


_LATEX = {
    "≠": r"$\neq$",
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "–": "--",
    "\N{MINUS SIGN}": "$-$",
    "\N{BLACK UP-POINTING TRIANGLE}": r"$\uparrow$",
    "\N{BLACK DOWN-POINTING TRIANGLE}": r"$\downarrow$",
    "α": r"$\alpha$",
    "λ": r"$\lambda$",
    "τ": r"$\tau$",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{sign: f"{{{sign}}}" for sign in "[]*"},  # after the end of a row they would be an option of it
}


#: A hyphen before a number, at the start of a cell or after a space.
_MINUS = re.compile(r"(?<!\S)-(?=\d)")


def escape_latex(text: str) -> str:
    """Text that LaTeX prints as it is."""
    return "".join(_LATEX.get(sign, sign) for sign in visible(text))


def to_latex(grid: Grid, caption: str | None = None, label: str | None = None, source: str = "") -> str:
    """A LaTeX table, at most as wide as the text; needs the packages booktabs and graphicx.

    ``caption`` is LaTeX of the user's own in place of ours, ``source`` a comment on the table's origin.
    """

    def shown(cell: Shown) -> str:
        text = _MINUS.sub("$-$", escape_latex(cell.text))
        return rf"{{\boldmath\textbf{{{text}}}}}" if cell.mark == "best" else text

    lines = [f"% {line}" for line in visible(source, keep="\n").splitlines()]
    lines += [r"\begin{table}", r"\centering"]
    if caption or grid.text:
        lines.append(rf"\caption{{{escape_latex(grid.text) if caption is None else caption}}}")
    lines += [rf"\label{{{label}}}"] if label else []
    lines += [r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"]
    lines += [rf"\begin{{tabular}}{{{'l' * grid.keys}{'r' * (len(grid.header) - grid.keys)}}}", r"\toprule"]
    if grid.groups:
        lines += _latex_groups(grid)
    lines += [_line(map(escape_latex, grid.header)), r"\midrule"]
    lines += [_line(map(shown, row)) for row in grid.rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}}", r"\end{table}", ""])


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


def _html(text: str) -> str:
    return html.escape(visible(text))


def _html_table(grid: Grid) -> str:
    def shown(index: int, cell: Shown) -> str:
        text = _html(cell.text)
        marked = f"<b>{text}</b>" if cell.mark == "best" else text
        return f'<td class="n">{marked}</td>' if index >= grid.keys else f"<td>{marked}</td>"

    lines = ["<table>", f"<caption>{_html(grid.text)}</caption>", "<thead>"]
    if grid.groups:
        over = "".join(f'<th colspan="{width}">{_html(group)}</th>' for group, width in grid.spans)
        lines.append(f"<tr>{over}</tr>")
    names = "".join(
        f'<th class="n">{_html(name)}</th>' if index >= grid.keys else f"<th>{_html(name)}</th>"
        for index, name in enumerate(grid.header)
    )
    lines += [f"<tr>{names}</tr>", "</thead>", "<tbody>"]
    lines += [f"<tr>{''.join(shown(index, cell) for index, cell in enumerate(row))}</tr>" for row in grid.rows]
    return "\n".join([*lines, "</tbody>", "</table>"])


def to_csv(frame: pd.DataFrame) -> str:
    """A data frame as CSV. A spreadsheet takes a cell that begins with a sign for a formula: an apostrophe stops it."""
    return frame.map(_csv_cell).rename(columns=_csv_cell).to_csv(index=False)


def _csv_cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = visible(value)
    return f"'{text}" if value.startswith(("=", "+", "-", "@", "\t", "\r")) and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
