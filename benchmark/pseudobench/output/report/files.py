"""The files of `bench figures`: figures of the summary and of each section, and the section's table as a picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pseudobench.contracts.parameters import suggest
from pseudobench.errors import BenchError
from pseudobench.output.console import picture_of_grid
from pseudobench.output.report.figures import FIGURES, FORMATS, figures
from pseudobench.output.report.sections import Section
from pseudobench.output.report.summary import summarize_sections
from pseudobench.output.report.summary_figures import NAMES, summary_figures
from pseudobench.output.report.themes import LIGHT
from pseudobench.output.text_tables import table_grid

if TYPE_CHECKING:
    from pseudobench.registry.components import Registry

TABLE = "table"
#: Widths in pixels, of which 96 are an inch: a column of 85 mm, and a text of 170 mm.
WIDTHS = {"column": 321.0, "text": 643.0}


@dataclass(frozen=True)
class File:
    """A file's name, and the function that makes its content."""

    name: str
    make: Callable[[], bytes]


def files(
    found: Sequence[Section],
    registry: Registry,
    formats: Sequence[str],
    wanted: Sequence[str] | None = None,
    *,
    width: str | None = None,
    prefix: str = "",
) -> list[File]:
    """The files of all sections: all figures, or the ``wanted`` ones. Contents are made later, by `File.make`.

    Names begin with ``prefix`` where a section's own does not: two experiments may have the same sections. Those of the
    summary of one section begin as its own.
    """
    known = (*NAMES, *FIGURES, TABLE)
    for kind, names, there in (("format", formats, FORMATS), ("figure", wanted or (), known)):
        for name in names:
            if name not in there:
                raise BenchError(f"there is no {kind} {name!r}{suggest(name, there)}")
    summary = summary_figures(summarize_sections(found, registry))
    whole = named(found[0].slug, prefix) if len(found) == 1 else prefix or "all"
    drawn = [(whole, figure) for figure in summary]
    drawn += [(named(section.slug, prefix), figure) for section in found for figure in figures(section)]
    pixels = WIDTHS.get(width or "")
    made = [
        File(f"{name}-{figure.name}.{format_}", partial(figure.render, LIGHT, format_, pixels))
        for name, figure in drawn
        for format_ in formats
        if wanted is None or figure.name in wanted
    ]
    if "svg" in formats and (wanted is None or TABLE in wanted):
        made += [File(f"{named(section.slug, prefix)}-{TABLE}.svg", partial(_table, section)) for section in found]
    if not made:
        raise BenchError(f"these runs have no numbers for {', '.join(wanted or FIGURES)}")
    return made


def named(slug: str, prefix: str) -> str:
    """The beginning of a section's file names; words at the end of ``prefix`` that begin the section's stand once."""
    parts = prefix.split("-") if prefix else []
    own = slug.split("-")
    ends = range(max(0, len(parts) - len(own)), len(parts) + 1)
    start = next(at for at in ends if parts[at:] == own[: len(parts) - at])
    return "-".join([*parts[:start], *own])


def _table(section: Section) -> bytes:
    return picture_of_grid(table_grid(section.table, "*")).encode()
