"""Charts of diagnostics: pure functions from the tables of `measures` to Vega-Lite. A series is a row of a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pseudobench.output.report.encodings import (
    HEIGHT,
    WIDTH,
    Names,
    Spec,
    category,
    colour_of,
    drawn_once,
    layered,
    marks,
    quantity,
    row_axis,
    row_height,
    rows_of,
    shape_of,
    small_multiples,
    those_in,
    unlayered,
    within,
    wrapped,
)
from pseudobench.output.report.measures import STAGES
from pseudobench.output.report.themes import Theme

if TYPE_CHECKING:
    import pandas as pd


def selections(means: pd.DataFrame, runs: pd.DataFrame, names: Names, theme: Theme) -> Spec:
    """Precision against the share of the pool selected: a faint mark for every run, means with both intervals."""
    ticks = {"values": [0, 25, 50, 75, 100]}
    x = quantity("selected", title="pool selected, %", scale={"domain": [0, 100]}, axis=ticks)
    y = quantity("precision", title="of these labels right, %", scale={"zero": False})
    shown = those_in(names, means["series"])
    colour = colour_of(names, theme, shown)
    point = {"x": x, "y": y, "color": colour, "shape": shape_of(names, shown)}
    across = {"x": quantity("selected low"), "x2": {"field": "selected high"}, "y": y, "color": colour}
    along = {"x": x, "y": quantity("precision low"), "y2": {"field": "precision high"}, "color": colour}
    return layered(
        rows_of(within(means, "selected low", "selected high", "precision low", "precision high"), names),
        marks("point", point, "runs", filled=True, size=18, opacity=0.35),
        marks("rule", across, strokeWidth=1.2),
        marks("rule", along, strokeWidth=1.2),
        marks("point", point, filled=True, size=70, opacity=1, stroke=theme.background, strokeWidth=0.7),
        others={"runs": rows_of(runs, names)},
        width=WIDTH,
        height=HEIGHT,
    )


def coverage(means: pd.DataFrame, names: Names, covered: str, theme: Theme) -> Spec:
    """One row per series with sets: coverage of pool and test images, and a dashed line at the nominal level."""
    shown = those_in(names, means["series"])
    images, scale = ["pool", "test"], _around(means)
    beside = category("images", sort=images, scale={"paddingOuter": 0.3})
    legend = {"symbolFillColor": theme.ink, "labelExpr": "datum.label + ' images'"}
    place = {
        "y": row_axis(shown),
        "yOffset": beside,
        "color": colour_of(names, theme, None),
        "opacity": {"condition": {"test": "datum.images == 'pool'", "value": 1}, "value": 0.6},
    }
    level = {
        "x": quantity("nominal", scale=scale),
        "y": row_axis(shown, bandPosition=0),
        "y2": {"field": "series", "bandPosition": 1},
    }
    bar = {"x": quantity("low", scale=scale), "x2": {"field": "high"}, **place}
    shape = category("images", scale={"domain": images, "range": ["circle", "square"]}, legend=legend)
    point = {"x": quantity("mean", title=f"sets that hold {covered}, %", scale=scale), "shape": shape, **place}
    levels = means.dropna(subset=["nominal"]).drop_duplicates("series")
    return layered(
        rows_of(within(means, "low", "high"), names),
        marks("rule", level, "levels", color=theme.ink, strokeWidth=1.5, strokeDash=[4, 3]),
        marks("rule", bar, strokeWidth=1.5),
        marks("point", point, filled=True, size=55),
        others={"levels": rows_of(levels, names)},
        width=WIDTH,
        height=row_height(shown, 34),
    )


def sizes(means: pd.DataFrame, names: Names, theme: Theme) -> Spec:
    """One histogram of set sizes per series with sets."""
    means, names = drawn_once(means, names)
    x = {
        "field": "size",
        "type": "ordinal",
        "title": "classes in the set",
        "axis": {"labelAngle": 0, "labelOverlap": True, "ticks": False},
        "scale": {"domain": list(range(int(means["size"].max()) + 1))},
    }
    bar = {"x": x, "y": quantity("mean", title="pool, %"), "color": colour_of(names, theme, None)}
    ends = {"x": x, "y": quantity("low"), "y2": {"field": "high"}}
    return small_multiples(
        rows_of(within(means, "low", "high"), names),
        list(names),
        2,
        (140, 70),
        marks("bar", bar, opacity=0.7),
        marks("rule", ends, color=theme.ink, strokeWidth=1),
    )


def reliability(bins: pd.DataFrame, names: Names, right: str, theme: Theme) -> Spec:
    """Accuracy against confidence, one diagram per series, before and after scaling; the diagonal is perfect."""
    bins, names = drawn_once(bins, names)
    share = {"scale": {"domain": [0, 100]}, "axis": {"values": [0, 50, 100]}}
    x = quantity("confidence", title="confidence, %", **share)
    y = quantity("accuracy", title=f"{right}, %", **share)
    kinds, legend = ["before", "after"], {"labelExpr": "datum.label + ' scaling'"}
    colours, shapes, dashes = [theme.palette[3], theme.palette[2]], ["triangle-up", "circle"], [[4, 2], [1, 0]]
    colour, shape, dash = (
        category("scaling", scale={"domain": kinds, "range": values}, legend=legend)
        for values in (colours, shapes, dashes)
    )
    size = quantity("n", scale={"type": "sqrt", "range": [4, 60]}, legend=None)
    diagonal = {"x": {"datum": 0}, "y": {"datum": 0}, "x2": {"datum": 100}, "y2": {"datum": 100}}
    point = {"x": x, "y": y, "color": colour, "shape": shape, "size": size}
    return small_multiples(
        rows_of(bins, names),
        list(names),
        2 if len(names) in (2, 4) else 3,
        (90, 90),
        marks("rule", diagonal, color=theme.ink, strokeWidth=0.7),
        marks("line", {"x": x, "y": y, "color": colour, "strokeDash": dash}, strokeWidth=1.2),
        marks("point", point, filled=True, opacity=1),
    )


def seconds(means: pd.DataFrame, names: Names, theme: Theme) -> Spec:
    """Seconds, one row per stage, on a logarithmic axis: stages differ by a factor of thousands."""
    positive = means[means["mean"] > 0]
    stages = those_in(STAGES, positive["stage"])
    low, high = (math.log10(end) for end in (positive["mean"].min(), positive["mean"].max()))
    decades = [10.0**power for power in range(math.floor(low), math.floor(high) + 2)]
    units = "v < 0.001 ? format(v * 1e6, '~g') + ' µs' : v < 1 ? format(v * 1e3, '~g') + ' ms' : format(v, '~g') + ' s'"
    units = units.replace("v", "datum.value")
    axis = {"values": decades, "labelExpr": units, "labelOverlap": True, "labelSeparation": 9}
    scale = {"type": "log", "domain": [decades[0], decades[-1]]}
    band = {"grid": True, "bandPosition": 0.5, "tickBand": "extent"}
    place = {
        "x": quantity("mean", title="time of a run", scale=scale, axis=axis),
        "y": category("stage", title=None, sort=stages, axis=band),
        "yOffset": category("series", sort=wrapped(names)),
        "color": colour_of(names, theme),
        "shape": shape_of(names),
    }
    height = max(26, 4 * len(names)) * len(stages)
    points = marks("point", place, filled=True, size=32, opacity=1)
    return unlayered(rows_of(positive, names), points, width=WIDTH, height=height)


def _around(means: pd.DataFrame) -> Spec:
    """A scale for coverage with room around the nominal level, so that a small miss does not look large."""
    ends = means[["low", "mean", "high", "nominal"]].stack()
    levels = means["nominal"].dropna()
    low, high = min([ends.min(), *(levels - 3)]), max([ends.max(), *(levels + 3)])
    return {"domain": [float(max(low, 0)), float(min(high, 100))], "nice": True}
