"""Charts of diagnostics: pure functions from the tidy tables of `measures` to Altair. A series is a row of a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import altair as alt

from pseudobench.output.report.encodings import (
    HEIGHT,
    WIDTH,
    Chart,
    Names,
    chart_of,
    colour_of,
    drawn_once,
    row_axis,
    row_height,
    shape_of,
    small_multiples,
    within,
    wrapped,
)
from pseudobench.output.report.measures import STAGES
from pseudobench.output.report.themes import Theme

if TYPE_CHECKING:
    import pandas as pd


def selections(means: pd.DataFrame, runs: pd.DataFrame, names: Names, theme: Theme) -> Chart:
    """Precision against the share of the pool selected: a faint mark for every run, means with both intervals."""
    ticks = alt.Axis(values=[0, 25, 50, 75, 100])
    x = alt.X("selected:Q", title="pool selected, %", scale=alt.Scale(domain=[0, 100]), axis=ticks)
    y = alt.Y("precision:Q", title="of these labels right, %", scale=alt.Scale(zero=False))
    shown = [name for name in names if name in set(means["series"])]
    colour, shape = colour_of(names, theme, shown), shape_of(names, shown)
    base = chart_of(within(means, "selected low", "selected high", "precision low", "precision high"), names)
    across = base.mark_rule(strokeWidth=1.2).encode(
        x=alt.X("selected low:Q"), x2=alt.X2("selected high:Q"), y=y, color=colour
    )
    along = base.mark_rule(strokeWidth=1.2).encode(
        x=x, y=alt.Y("precision low:Q"), y2=alt.Y2("precision high:Q"), color=colour
    )
    middle = base.mark_point(filled=True, size=70, opacity=1, stroke=theme.background, strokeWidth=0.7)
    faint = chart_of(runs, names).mark_point(filled=True, size=18, opacity=0.35)
    points = [each.encode(x=x, y=y, color=colour, shape=shape) for each in (faint, middle)]
    return alt.layer(points[0], across, along, points[1]).properties(width=WIDTH, height=HEIGHT)


def coverage(means: pd.DataFrame, names: Names, covered: str, theme: Theme) -> Chart:
    """One row per series with sets: coverage of pool and test images, and a dashed line at the nominal level."""
    shown = [name for name in names if name in set(means["series"])]
    base = chart_of(within(means, "low", "high"), names)
    row, scale = row_axis(shown), _around(means)
    beside = alt.YOffset("images:N", sort=["pool", "test"], scale=alt.Scale(paddingOuter=0.3))
    colour = colour_of(names, theme, None)
    images, legend = ["pool", "test"], alt.Legend(symbolFillColor=theme.ink, labelExpr="datum.label + ' images'")
    shape = alt.Shape("images:N", scale=alt.Scale(domain=images, range=["circle", "square"]), legend=legend)
    opacity = alt.condition("datum.images == 'pool'", alt.value(1), alt.value(0.6))
    x = alt.X("mean:Q", title=f"sets that hold {covered}, %", scale=scale)
    levels = chart_of(means.dropna(subset=["nominal"]).drop_duplicates("series"), names)
    line = levels.mark_rule(color=theme.ink, strokeWidth=1.5, strokeDash=[4, 3]).encode(
        x=alt.X("nominal:Q", scale=scale), y=row_axis(shown, bandPosition=0), y2=alt.Y2("series:N", bandPosition=1)
    )
    bars = base.mark_rule(strokeWidth=1.5).encode(
        x=alt.X("low:Q", scale=scale), x2=alt.X2("high:Q"), y=row, yOffset=beside, color=colour, opacity=opacity
    )
    points = base.mark_point(filled=True, size=55).encode(
        x=x, y=row, yOffset=beside, color=colour, shape=shape, opacity=opacity
    )
    return alt.layer(line, bars, points).properties(width=WIDTH, height=row_height(shown, 34))


def sizes(means: pd.DataFrame, names: Names, theme: Theme) -> Chart:
    """One histogram of set sizes per series with sets."""
    means, names = drawn_once(means, names)
    shown = list(names)
    largest = int(means["size"].max())
    x = alt.X(
        "size:O",
        title="classes in the set",
        axis=alt.Axis(labelAngle=0, labelOverlap=True, ticks=False),
        scale=alt.Scale(domain=list(range(largest + 1))),
    )
    colour = colour_of(names, theme, None)
    base = chart_of(within(means, "low", "high"), names)
    bars = base.mark_bar(opacity=0.7).encode(x=x, y=alt.Y("mean:Q", title="pool, %"), color=colour)
    ends = base.mark_rule(color=theme.ink, strokeWidth=1).encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q"))
    return small_multiples(alt.layer(bars, ends), shown, 2, 140, 70)


def reliability(bins: pd.DataFrame, names: Names, right: str, theme: Theme) -> Chart:
    """Accuracy against confidence, one diagram per series, before and after scaling; the diagonal is perfect."""
    bins, names = drawn_once(bins, names)
    shown = list(names)
    domain = alt.Scale(domain=[0, 100])
    ticks = alt.Axis(values=[0, 50, 100])
    x = alt.X("confidence:Q", title="confidence, %", scale=domain, axis=ticks)
    y = alt.Y("accuracy:Q", title=f"{right}, %", scale=domain, axis=ticks)
    kinds, legend = ["before", "after"], alt.Legend(labelExpr="datum.label + ' scaling'")
    colour = alt.Color(
        "scaling:N", scale=alt.Scale(domain=kinds, range=[theme.palette[3], theme.palette[2]]), legend=legend
    )
    shape = alt.Shape("scaling:N", scale=alt.Scale(domain=kinds, range=["triangle-up", "circle"]), legend=legend)
    dash = alt.StrokeDash("scaling:N", scale=alt.Scale(domain=kinds, range=[[4, 2], [1, 0]]), legend=legend)
    base = chart_of(bins, names)
    diagonal = base.mark_rule(color=theme.ink, strokeWidth=0.7).encode(
        x=alt.XDatum(0), y=alt.YDatum(0), x2=alt.X2Datum(100), y2=alt.Y2Datum(100)
    )
    line = base.mark_line(strokeWidth=1.2).encode(x=x, y=y, color=colour, strokeDash=dash)
    size = alt.Size("n:Q", scale=alt.Scale(type="sqrt", range=[4, 60]), legend=None)
    points = base.mark_point(filled=True, opacity=1).encode(x=x, y=y, color=colour, shape=shape, size=size)
    return small_multiples(alt.layer(diagonal, line, points), shown, 2 if len(shown) in (2, 4) else 3, 90, 90)


def seconds(means: pd.DataFrame, names: Names, theme: Theme) -> Chart:
    """Seconds, one row per stage, on a logarithmic axis: stages differ by a factor of thousands."""
    positive = means[means["mean"] > 0]
    stages = [stage for stage in STAGES if stage in set(positive["stage"])]
    low, high = (math.log10(end) for end in (positive["mean"].min(), positive["mean"].max()))
    decades = [10.0**power for power in range(math.floor(low), math.floor(high) + 2)]
    units = "v < 0.001 ? format(v * 1e6, '~g') + ' µs' : v < 1 ? format(v * 1e3, '~g') + ' ms' : format(v, '~g') + ' s'"
    axis = alt.Axis(values=decades, labelExpr=units.replace("v", "datum.value"), labelOverlap=True, labelSeparation=9)
    scale = alt.Scale(type="log", domain=[decades[0], decades[-1]])
    x = alt.X("mean:Q", title="time of a run", scale=scale, axis=axis)
    y = alt.Y("stage:N", title=None, sort=stages, axis=alt.Axis(grid=True, bandPosition=0.5, tickBand="extent"))
    beside = alt.YOffset("series:N", sort=wrapped(names))
    points = chart_of(positive, names).mark_point(filled=True, size=32, opacity=1)
    height = max(26, 4 * len(names)) * len(stages)
    marks: alt.Chart = points.encode(x=x, y=y, yOffset=beside, color=colour_of(names, theme), shape=shape_of(names))
    return marks.properties(width=WIDTH, height=height)


def _around(means: pd.DataFrame) -> alt.Scale:
    """A scale for coverage with room around the nominal level, so that a small miss does not look large."""
    ends = means[["low", "mean", "high", "nominal"]].stack()
    levels = means["nominal"].dropna()
    low, high = min([ends.min(), *(levels - 3)]), max([ends.max(), *(levels + 3)])
    return alt.Scale(domain=[max(low, 0), min(high, 100)], nice=True)
