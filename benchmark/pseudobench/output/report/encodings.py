"""Encodings that all charts share: series by colour, marker and row, the same in every figure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import altair as alt

from pseudobench.base.text import in_lines
from pseudobench.output.report.themes import Theme, shapes

if TYPE_CHECKING:
    import pandas as pd

WIDTH, HEIGHT, LINE = 300, 240, 13
WRAP = 24
Chart = alt.Chart | alt.LayerChart | alt.FacetChart | alt.VConcatChart
#: Names of series in their order, with their styles.
Names = Mapping[str, int]
#: Under this name Altair knows `rows_of`.
TRANSFORMER = "pseudobench"


def rows_of(table: Any, *_options: Any, **_more: Any) -> dict[str, Any]:
    """A table as Vega-Lite takes it. Altair's own function looks at each column in turn, which takes far longer."""
    return {"values": json.loads(table.to_json(orient="records"))}


alt.data_transformers.register(TRANSFORMER, rows_of)


def chart_of(table: pd.DataFrame, names: Iterable[str]) -> alt.Chart:
    """A chart of ``table``, with the names of series broken into lines and numbers that are fit to be read."""
    lines = {name: in_lines(name, WRAP) for name in names}
    return alt.Chart(table.assign(series=table["series"].map(lines)).round(3))


def row_axis(names: Sequence[str], **options: Any) -> alt.Y:
    """One row per series."""
    scale = alt.Scale(domain=wrapped(names), padding=0)
    return alt.Y("series:N", title=None, sort=None, scale=scale, axis=alt.Axis(grid=True), **options)


def row_height(names: Sequence[str], least: int = 26) -> int:
    """Height in pixels of one row per series, each at least ``least`` high and with room for its name."""
    return len(names) * max(least, *(LINE * (name.count("\n") + 1) + 8 for name in wrapped(names)))


def colour_of(names: Names, theme: Theme, shown: Sequence[str] | None = ()) -> alt.Color:
    """Colours by series; ``shown`` are the series in the legend (None: no legend; empty: all series)."""
    scale = styled(names, theme.colours(names.values()))
    return alt.Color("series:N", scale=scale, legend=legend_of(shown))


def shape_of(names: Names, shown: Sequence[str] | None = ()) -> alt.Shape:
    """Markers by series; ``shown`` as in `colour_of`."""
    return alt.Shape("series:N", scale=styled(names, shapes(names.values())), legend=legend_of(shown))


def styled(names: Names, values: Sequence[Any]) -> alt.Scale:
    """A scale from names to colours, markers or dashes."""
    return alt.Scale(domain=wrapped(names), range=list(values))


def legend_of(shown: Sequence[str] | None) -> Any:
    """The legend of ``shown`` series (None: no legend; empty: all series)."""
    if shown is None:
        return None
    return alt.Legend(values=wrapped(shown)) if shown else alt.Legend()


def small_multiples(chart: Chart, names: Sequence[str], columns: int, width: int, height: int) -> Chart:
    """Small multiples: ``chart`` once per series in ``columns`` columns, wide enough for the names."""
    lines = (line for name in wrapped(names) for line in name.split("\n"))
    needed = min(7 * max(map(len, lines), default=0), 150)
    if needed > width + 45:  # names may reach into the gap between charts
        columns, width, height = min(columns, 2), needed, height * needed // width
    facet = alt.Facet("series:N", title=None, sort=wrapped(names))
    return chart.properties(width=width, height=height).facet(facet, columns=columns)


def drawn_once(table: pd.DataFrame, names: Names) -> tuple[pd.DataFrame, dict[str, int]]:
    """The table with one of several series that have the same numbers, under the names of all of them."""
    alike: dict[str, list[str]] = {}
    by_name = dict(iter(table.groupby("series", sort=False)))
    for name in names:
        if name in by_name:
            alike.setdefault(repr(by_name[name].drop(columns="series").to_numpy().tolist()), []).append(name)
    joined = {members[0]: " = ".join(members) for members in alike.values()}
    kept = table[table["series"].isin(joined)]
    return kept.assign(series=kept["series"].map(joined)), {joined[name]: names[name] for name in joined}


def within(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """``table`` with the ends of intervals clipped to 0 to 100 %; the numbers beside the figure are not clipped."""
    return table.assign(**{column: table[column].clip(0, 100) for column in columns})


def wrapped(names: Iterable[str]) -> list[str]:
    """Names, long ones in several lines."""
    return [in_lines(name, WRAP) for name in names]
