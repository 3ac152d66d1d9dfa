"""How a table is laid out in so many columns of a terminal: side by side, in parts, by group, or as a list.

Numbers and names are never cut. Widths are in cells of a terminal.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from rich.cells import cell_len

from pseudobench.base.text import in_lines

_NAME = 26  # width of names where numbers need room
_FRAME = 3  # a column's border and spaces; the table has one more border


@dataclass(frozen=True)
class Cells:
    """Texts of a table, all of them visible.

    The first ``names`` columns and those from ``numbers_from`` on are not wrapped like prose. ``styles`` are by row and
    column.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    names: int
    numbers_from: int
    styles: Mapping[tuple[int, int], str] = field(default_factory=dict)

    def taken(self, columns: Sequence[int], rows: Sequence[int]) -> Cells:
        """Some columns of some rows; the first column taken counts as a name."""
        places = {(row, column) for row in rows for column in columns} & self.styles.keys()
        return Cells(
            tuple(self.header[column] for column in columns),
            tuple(tuple(self.rows[row][column] for column in columns) for row in rows),
            sum(column < self.names for column in columns),
            sum(column < self.numbers_from for column in columns),
            {(rows.index(row), columns.index(column)): self.styles[row, column] for row, column in places},
        )

    def texts(self, column: int) -> Iterator[str]:
        """A column with its heading."""
        return (row[column] for row in (self.header, *self.rows))


@dataclass(frozen=True)
class Piece:
    """Cells to be shown below a line ``above`` them, as a table with these widths; without widths as a list."""

    cells: Cells
    widths: tuple[int, ...] | None
    above: str = ""


def layout(cells: Cells, width: int | None) -> list[Piece]:
    """The pieces that a table is shown in; without a width (a pipe has none) it is one."""
    needs = _needs(cells)
    if width is None or _framed(needs) <= width:
        return [Piece(cells, tuple(needs))]
    if cells.numbers_from < len(cells.header):
        return _with_numbers(cells, needs, width)
    least = [
        need if column < cells.names else max(map(_longest_word, cells.texts(column)))
        for column, need in enumerate(needs)
    ]
    spare = width - _framed(least)
    if spare < 0:
        return [Piece(cells, None)]
    wanted = [need - some for need, some in zip(needs, least, strict=True)]
    return [Piece(cells, tuple(some + spare * more // sum(wanted) for some, more in zip(least, wanted, strict=True)))]


def _with_numbers(cells: Cells, needs: Sequence[int], width: int) -> list[Piece]:
    keys = cells.numbers_from
    if keys and len(parts(needs, keys, width)) > 1:  # long names take room that numbers need
        broken = tuple((*row[: keys - 1], in_lines(row[keys - 1], _NAME), *row[keys:]) for row in cells.rows)
        cells = replace(cells, rows=broken)
        needs = _needs(cells)
    if _framed([*needs[:keys], max(needs[keys:])]) <= width:
        everyone = range(len(cells.rows))
        return [
            Piece(cells.taken(part, everyone), tuple(needs[column] for column in part))
            for part in parts(needs, keys, width)
        ]
    if keys < 2:
        return [Piece(cells, None)]
    # The last key names a row; the keys before it go above the rows that share them.
    pieces = []
    for lead, members in groupby(range(len(cells.rows)), lambda row: cells.rows[row][: keys - 1]):
        said = ", ".join(f"{name} {value}" for name, value in zip(cells.header, lead, strict=False))
        within = layout(cells.taken(range(keys - 1, len(cells.header)), list(members)), width)
        pieces += [Piece(piece.cells, piece.widths, "" if index else said) for index, piece in enumerate(within)]
    return pieces


def parts(needs: Sequence[int], keys: int, width: int) -> list[list[int]]:
    """Columns in groups that fit into ``width``: the first ``keys`` in each, the others in turn."""
    made: list[list[int]] = [list(range(keys))]
    for column in range(keys, len(needs)):
        fits = _framed([needs[each] for each in (*made[-1], column)]) <= width
        if not fits and len(made[-1]) > keys:
            made.append(list(range(keys)))
        made[-1].append(column)
    return made


def _needs(cells: Cells) -> list[int]:
    """The widths at which no column is broken into further lines."""
    texts = ([line for text in cells.texts(column) for line in text.split("\n")] for column in range(len(cells.header)))
    return [max(map(cell_len, lines)) for lines in texts]


def _framed(widths: Collection[int]) -> int:
    return sum(widths) + _FRAME * len(widths) + 1


def _longest_word(text: str) -> int:
    return max(map(cell_len, text.split()), default=0)
