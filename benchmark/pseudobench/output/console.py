"""What people see in the terminal. Rich is used here, in table_layout.py and in progress.py.

All text is shown as it is: neither markup nor emoji codes nor control characters in it have an effect.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, TypeVar

from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.progress import track as rich_track
from rich.table import Table as RichTable
from rich.text import Text

from pseudobench.base.text import shortened, visible
from pseudobench.output.table_layout import Cells, Piece, layout

if TYPE_CHECKING:
    from pseudobench.output.text_tables import Grid

Item = TypeVar("Item")


class _Console(Console):
    """A console that leaves a reader who is gone to the command line, as `print` does."""

    def on_broken_pipe(self) -> None:
        """Rich would end the process here, with the exit code of a run that failed."""
        raise BrokenPipeError


out = _Console(highlight=False, markup=False, emoji=False)
err = _Console(stderr=True, highlight=False, markup=False, emoji=False)


def plain(text: str, style: str = "") -> Text:
    """Text that is shown as it is, with what is invisible in it as escapes."""
    return Text(visible(text), style)


def say(text: str = "") -> None:
    """A line of output to be copied, such as a path or a command: only the terminal itself breaks it."""
    out.print(plain(text), soft_wrap=True)


def note(text: str) -> None:
    """A line beside the output: progress, warnings."""
    err.print(plain(text), soft_wrap=True)


def warn(text: str) -> None:
    """Something the user should know."""
    _tell("warning:", "yellow", text)


def fail(text: str) -> None:
    """Why nothing more will happen, in one line."""
    _tell("error:", "red", text)


def _tell(word: str, style: str, text: str) -> None:
    _put(err, Text.assemble((word, style), " ", plain(shortened(" ".join(text.split())))))


def tell(text: str, style: str = "", indent: int = 0) -> None:
    """A paragraph of output: in a terminal broken between words."""
    _put(out, plain(text, style), indent)


def _put(console: Console, text: Text, indent: int = 0) -> None:
    """Print a text, in a terminal broken between words; each line after so many spaces."""
    for line in text.wrap(console, max(1, console.width - indent)) if console.is_terminal else [text]:
        console.print(Text(" " * indent) + line, soft_wrap=True)


def show_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    title: str = "",
    numbers_from: int | None = None,
    styles: Mapping[tuple[int, int], str] | None = None,
) -> None:
    """A table; columns from ``numbers_from`` on are numbers, flush right. ``styles`` are by row and column.

    Neither names nor numbers are ever cut: what does not fit side by side is shown in several tables, or as a list.
    """
    if title:
        tell(title)
    start = len(header) if numbers_from is None else numbers_from
    names = 1 if numbers_from is None else start
    cells = Cells(_all_visible(header), tuple(map(_all_visible, rows)), names, start, styles or {})
    # A pipe has no width: nothing is cut or folded there.
    target = out if out.is_terminal else _Console(file=sys.stdout, width=10**6, highlight=False, emoji=False)
    for piece in layout(cells, out.width if out.is_terminal else None):
        if piece.above:
            target.print(plain(piece.above, "bold"))
        if piece.widths is None:
            _show_list(piece.cells)
        else:
            target.print(_rich_table(piece))


def show_grid(grid: Grid) -> None:
    """A table of results with its marks, and how to read it below."""
    rows, styles = _marked(grid)
    show_table(grid.flat_header, rows, title=grid.caption, numbers_from=grid.keys, styles=styles)
    if grid.legend:
        tell(grid.legend, "dim")


def picture_of_grid(grid: Grid) -> str:
    """What `show_grid` prints in a terminal that is wide enough, as an SVG."""
    rows, styles = _marked(grid)
    texts = _all_visible(grid.flat_header), tuple(map(_all_visible, rows))
    (piece,) = layout(Cells(*texts, grid.keys, grid.keys, styles), None)
    table = _rich_table(piece)
    width = Console(width=10_000).measure(table).maximum
    console = Console(file=io.StringIO(), record=True, width=width, highlight=False, legacy_windows=False)
    console.print(plain(grid.caption))
    console.print(table)
    console.print(plain(grid.legend, "dim"))
    picture = console.export_svg(title="bench table")
    return re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)  # rich would have a font fetched


_STYLES = {"best": "bold green", "better": "green", "worse": "red", "failed": "red"}


def _marked(grid: Grid) -> tuple[list[list[str]], dict[tuple[int, int], str]]:
    """The texts of a grid with signs before those that are the best, and the styles of marked ones."""
    rows = [[("* " if cell.mark == "best" else "") + cell.text for cell in row] for row in grid.rows]
    positions = ((number, index, cell) for number, row in enumerate(grid.rows) for index, cell in enumerate(row))
    return rows, {(number, index): _STYLES[cell.mark] for number, index, cell in positions if cell.mark}


def _all_visible(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(visible, texts))


def _rich_table(piece: Piece) -> RichTable:
    cells, widths = piece.cells, piece.widths or ()
    table = RichTable()
    for index, (name, width) in enumerate(zip(cells.header, widths, strict=True)):
        justify: Literal["left", "right"] = "right" if index >= cells.numbers_from else "left"
        table.add_column(Text(name), justify=justify, width=width, overflow="fold")
    for number, row in enumerate(cells.rows):
        table.add_row(*(Text(text, cells.styles.get((number, index), "")) for index, text in enumerate(row)))
    return table


def _show_list(cells: Cells) -> None:
    """A paragraph for each row, with a line for each of its values."""
    for number, (name, *texts) in enumerate(cells.rows):
        out.print(Text(name, "bold"))
        for index, text in enumerate(texts, 1):
            if text:
                line = Text.assemble(f"{cells.header[index]}: ", (text, cells.styles.get((number, index), "")))
                out.print(Padding(line, (0, 0, 0, 2)))


@contextmanager
def working(text: str) -> Iterator[None]:
    """Show that something without a bar of its own goes on; in a terminal only."""
    if not err.is_terminal:
        yield
        return
    with err.status(plain(text)):
        yield


@contextmanager
def working_on(text: str) -> Iterator[Callable[[str, int, int | None], None]]:
    """Show ``text``, then whatever the yielded function is told: an activity, how much is done, how much there is.

    In a terminal a bar; elsewhere a line when an activity begins.
    """
    told: set[str] = set()
    if not err.is_terminal:

        def tell(activity: str, _done: int, _total: int | None) -> None:
            if activity not in told:
                told.add(activity)
                note(activity)

        yield tell
        return
    with Progress(
        TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn(), console=err, transient=True
    ) as bar:
        task = bar.add_task(visible(text), total=None)
        yield lambda activity, done, total: bar.update(task, description=visible(activity), completed=done, total=total)


def track(items: Sequence[Item], text: str) -> Iterator[Item]:
    """Go through ``items`` with a bar; in a terminal only."""
    yield from rich_track(items, visible(text), console=err, transient=True, disable=not err.is_terminal)
