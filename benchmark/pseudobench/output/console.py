"""What people see in the terminal. Rich is used here and in progress.py, and nowhere else.

All text is shown as it is: neither markup nor emoji codes nor control characters in it have an effect.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.progress import track as rich_track
from rich.table import Table as RichTable
from rich.text import Text

from pseudobench.base.text import shortened, visible

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
    """A line of output."""
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
    err.print(Text.assemble((word, style), " ", plain(shortened(" ".join(text.split())))), soft_wrap=True)


def show_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    title: str = "",
    numbers_from: int | None = None,
    bold: Collection[tuple[int, int]] = (),
) -> None:
    """A table; columns from ``numbers_from`` on are numbers, flush right and never cut. ``bold`` are rows and columns.

    Where they do not fit side by side, they are shown in several tables, each with the columns before them.
    """
    if title:
        say(title)
    # A pipe has no width: nothing is cut or folded there.
    width = max(250, out.width)
    target = out if out.is_terminal else _Console(file=sys.stdout, width=width, highlight=False, emoji=False)
    for table in _tables(header, rows, numbers_from, target.width, bold):
        target.print(table)


def show_grid(grid: Grid) -> None:
    """A table of results with its marks."""
    rows, bold = _marked(grid)
    show_table(grid.flat_header, rows, title=grid.caption, numbers_from=grid.keys, bold=bold)


def picture_of_grid(grid: Grid) -> str:
    """What `show_grid` prints in a terminal that is wide enough, as an SVG."""
    rows, bold = _marked(grid)
    (table,) = _tables(grid.flat_header, rows, grid.keys, sys.maxsize, bold)
    measure = Console(width=10_000)
    width = measure.measure(table).maximum
    console = Console(file=io.StringIO(), record=True, width=width, highlight=False, legacy_windows=False)
    console.print(plain(grid.caption))
    console.print(table)
    picture = console.export_svg(title="bench table")
    return re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL)  # rich would have a font fetched


def _marked(grid: Grid) -> tuple[list[list[str]], set[tuple[int, int]]]:
    """The texts of a grid with signs before those that are marked, and which of them are bold."""
    signs = {"best": "* ", "": ""}
    rows = [[signs[cell.mark] + cell.text for cell in row] for row in grid.rows]
    positions = ((number, index, cell) for number, row in enumerate(grid.rows) for index, cell in enumerate(row))
    return rows, {(number, index) for number, index, cell in positions if cell.mark == "best"}


def _tables(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    numbers_from: int | None,
    width: int,
    bold: Collection[tuple[int, int]],
) -> Iterator[RichTable]:
    """A table in parts that fit into ``width``."""
    start = len(header) if numbers_from is None else numbers_from
    for part in _parts(header, rows, start, width):
        table = RichTable()
        for index in part:
            if index < start:
                table.add_column(plain(header[index]), no_wrap=numbers_from is not None)
            else:
                table.add_column(plain(header[index]), justify="right", no_wrap=True)
        for number, row in enumerate(rows):
            table.add_row(*(plain(row[index], "bold" if (number, index) in bold else "") for index in part))
        yield table


def _parts(header: Sequence[str], rows: Sequence[Sequence[str]], start: int, width: int) -> list[list[int]]:
    """Columns in groups that fit into ``width``: the first ``start`` in each, the others in turn."""
    needs = [max(len(visible(row[index])) for row in (header, *rows)) + 3 for index in range(len(header))]
    keys = list(range(start))
    parts: list[list[int]] = [keys]
    for index in range(start, len(header)):
        used = sum(needs[each] for each in parts[-1]) + 1
        if used + needs[index] > width and len(parts[-1]) > len(keys):
            parts.append(list(keys))
        parts[-1] = [*parts[-1], index]
    return parts


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
