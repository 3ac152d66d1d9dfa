"""The parts that all charts are made of, as Vega-Lite takes them; series have the same colour, marker and row in all.

Specifications are plain dictionaries. Altair's charts would be copied, names of series and all, by each function that
puts them together, which took a third of a report's time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pseudobench.base.text import in_lines
from pseudobench.output.report.themes import Theme, shapes

if TYPE_CHECKING:
    import pandas as pd

WIDTH, HEIGHT, LINE = 300, 240, 13
WRAP = 24
Spec = dict[str, Any]
Rows = list[Spec]
#: Names of series in their order, with their styles.
Names = Mapping[str, int]


def rows_of(table: pd.DataFrame, names: Iterable[str] = ()) -> Rows:
    """A table's rows, with ``names`` of series broken into lines and numbers that are fit to be read."""
    rows: Rows = json.loads(table.round(3).to_json(orient="records"))
    lines = {name: in_lines(name, WRAP) for name in names}
    return [{**row, "series": lines[row["series"]]} for row in rows] if lines else rows


def those_in(names: Iterable[str], column: pd.Series[Any]) -> list[str]:
    """The names that a column holds."""
    held = set(column)
    return [name for name in names if name in held]


def quantity(field: str, **options: Any) -> Spec:
    """A channel for the numbers of a column."""
    return {"field": field, "type": "quantitative", **options}


def category(field: str, **options: Any) -> Spec:
    """A channel for the words of a column."""
    return {"field": field, "type": "nominal", **options}


def marks(kind: str, encoding: Spec, data: str = "", **look: Any) -> Spec:
    """A layer: a mark for each row of the chart's table, or of the one with the name ``data``."""
    return {"mark": {"type": kind, **look}, "encoding": encoding, **({"data": {"name": data}} if data else {})}


def layered(rows: Rows, *layers: Spec, others: Mapping[str, Rows] | None = None, **options: Any) -> Spec:
    """A chart of layers, the last on top; ``others`` are tables that some of them name."""
    return {**_tables(rows, others), "layer": list(layers), **options}


def panels(rows: Rows, facet: Spec, columns: int, *layers: Spec, size: tuple[int, int], **options: Any) -> Spec:
    """The layers once for each value of ``facet``, ``size`` wide and high, in so many columns."""
    view = {"layer": list(layers), "width": size[0], "height": size[1]}
    return {**_tables(rows), "facet": facet, "columns": columns, "spec": view, **options}


def unlayered(rows: Rows, layer: Spec, **options: Any) -> Spec:
    """A chart of one layer."""
    return {**_tables(rows), **layer, **options}


def _tables(rows: Rows, others: Mapping[str, Rows] | None = None) -> Spec:
    return {"data": {"name": "rows"}, "datasets": {"rows": rows, **(others or {})}}


def row_axis(names: Sequence[str], **options: Any) -> Spec:
    """One row per series."""
    scale = {"domain": wrapped(names), "padding": 0}
    return category("series", title=None, sort=None, scale=scale, axis={"grid": True}, **options)


def row_height(names: Sequence[str], least: int = 26) -> int:
    """Height in pixels of one row per series, each at least ``least`` high and with room for its name."""
    return len(names) * max(least, *(LINE * (name.count("\n") + 1) + 8 for name in wrapped(names)))


def colour_of(names: Names, theme: Theme, shown: Sequence[str] | None = ()) -> Spec:
    """Colours by series; ``shown`` are the series in the legend (None: no legend; empty: all series)."""
    scale = styled(names, theme.colours(names.values()))
    return category("series", scale=scale, legend=legend_of(shown))


def shape_of(names: Names, shown: Sequence[str] | None = ()) -> Spec:
    """Markers by series; ``shown`` as in `colour_of`."""
    return category("series", scale=styled(names, shapes(names.values())), legend=legend_of(shown))


def styled(names: Names, values: Sequence[Any]) -> Spec:
    """A scale from names to colours, markers or dashes."""
    return {"domain": wrapped(names), "range": list(values)}


def legend_of(shown: Sequence[str] | None) -> Spec | None:
    """The legend of ``shown`` series (None: no legend; empty: all series)."""
    if shown is None:
        return None
    return {"values": wrapped(shown)} if shown else {}


def small_multiples(rows: Rows, names: Sequence[str], columns: int, size: tuple[int, int], *layers: Spec) -> Spec:
    """Small multiples: the layers once per series in ``columns`` columns, wide enough for the names."""
    width, height = size
    lines = (line for name in wrapped(names) for line in name.split("\n"))
    needed = min(7 * max(map(len, lines), default=0), 150)
    if needed > width + 45:  # names may reach into the gap between charts
        columns, width, height = min(columns, 2), needed, height * needed // width
    facet = category("series", title=None, sort=wrapped(names))
    return panels(rows, facet, columns, *layers, size=(width, height))


def drawn_once(table: pd.DataFrame, names: Names) -> tuple[pd.DataFrame, dict[str, int]]:
    """The table with one of several series that have the same numbers, under the names of all of them."""
    by_name: dict[str, list[Any]] = {}
    for name, row in zip(table["series"], table.drop(columns="series").itertuples(index=False), strict=True):
        by_name.setdefault(name, []).append(tuple(row))
    alike: dict[str, list[str]] = {}
    for name in names:
        if name in by_name:
            alike.setdefault(repr(by_name[name]), []).append(name)
    joined = {members[0]: " = ".join(members) for members in alike.values()}
    kept = table[table["series"].isin(joined)]
    return kept.assign(series=kept["series"].map(joined)), {joined[name]: names[name] for name in joined}


def within(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """``table`` with the ends of intervals clipped to 0 to 100 %; the numbers beside the figure are not clipped."""
    return table.assign(**table[list(columns)].clip(0, 100))


def wrapped(names: Iterable[str]) -> list[str]:
    """Names, long ones in several lines."""
    return [in_lines(name, WRAP) for name in names]
