"""The files of `bench figures`: each figure of each section in each format, and the section's table as a picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from pseudobench.contracts.parameters import suggest
from pseudobench.errors import BenchError
from pseudobench.output.console import picture_of_grid
from pseudobench.output.report.figures import FIGURES, FORMATS, figures
from pseudobench.output.report.sections import Section
from pseudobench.output.report.themes import LIGHT
from pseudobench.output.text_tables import table_grid

TABLE = "table"


@dataclass(frozen=True)
class File:
    """A file's name, and the function that makes its content."""

    name: str
    make: Callable[[], bytes]


def files(found: Sequence[Section], formats: Sequence[str], wanted: Sequence[str] | None = None) -> list[File]:
    """The files of all sections: all figures, or the ``wanted`` ones. Contents are made later, by `File.make`."""
    for kind, names, known in (("format", formats, FORMATS), ("figure", wanted or (), (*FIGURES, TABLE))):
        for name in names:
            if name not in known:
                raise BenchError(f"there is no {kind} {name!r}{suggest(name, known)}")
    made = [
        File(f"{section.slug}-{figure.name}.{format_}", partial(figure.render, LIGHT, format_))
        for section in found
        for figure in figures(section)
        for format_ in formats
        if wanted is None or figure.name in wanted
    ]
    if "svg" in formats and (wanted is None or TABLE in wanted):
        made += [File(f"{section.slug}-{TABLE}.svg", partial(_table, section)) for section in found]
    if not made:
        raise BenchError(f"these runs have no numbers for {', '.join(wanted or FIGURES)}")
    return made


def _table(section: Section) -> bytes:
    return picture_of_grid(table_grid(section.table, "*")).encode()
