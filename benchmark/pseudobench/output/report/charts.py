"""Charts: pure functions from the tidy tables of `measures` to Altair. A series is one row of a results table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import altair as alt

from pseudobench.base.text import in_lines
from pseudobench.output.report.measures import STAGES
from pseudobench.output.report.themes import Theme, dashes, shapes

if TYPE_CHECKING:
    import pandas as pd

WIDTH, HEIGHT, LINE = 300, 240, 13
_WRAP = 24
Chart = alt.Chart | alt.LayerChart | alt.FacetChart


def results(means: pd.DataFrame, runs: pd.DataFrame, names: Sequence[str], measure: str, theme: Theme) -> Chart:
    """One row per series: a faint dot for every run, the mean with its interval."""
    scale = alt.Scale(zero=False)
    base, row, colour = _base(means, names), _rows(names), _colour(names, theme, None)
    dots = _base(runs, names).mark_point(filled=True, size=22, opacity=0.35)
    seeds = dots.encode(x=alt.X(f"{measure}:Q", scale=scale), y=row, color=colour)
    bars = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", scale=scale), x2="high:Q", y=row, color=colour)
    x = alt.X("mean:Q", title=f"{measure}, %", scale=scale)
    middle = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=x, y=row, color=colour, shape=_shape(names, None)
    )
    return alt.layer(seeds, bars, middle).properties(width=WIDTH, height=_height(names))


def rounds(means: pd.DataFrame, names: Sequence[str], measure: str, theme: Theme) -> Chart:
    """One line per series over the rounds, with intervals; series are shifted sideways so that none hides another."""
    positions = {name: position for position, name in enumerate(names)}
    beside = (means["series"].map(positions) - (len(names) - 1) / 2) * 0.5 / max(len(names), 6)
    base = _base(means.assign(x=means["round"] + beside), names)
    last = int(means["round"].max())
    x = alt.X(
        "x:Q",
        title="round",
        axis=alt.Axis(values=list(range(last + 1)), format="d", grid=False),
        scale=alt.Scale(domain=[-0.4, last + 0.4], nice=False),
    )
    y = alt.Y("mean:Q", title=f"{measure}, %", scale=alt.Scale(zero=False))
    colour = _colour(names, theme)
    dash = alt.StrokeDash("series:N", scale=alt.Scale(domain=_wrapped(names), range=dashes(len(names))), legend=None)
    line = base.mark_line(strokeWidth=1.5).encode(x=x, y=y, color=colour, strokeDash=dash)
    bars = base.mark_rule(strokeWidth=1, opacity=0.7).encode(x=x, y="low:Q", y2="high:Q", color=colour)
    points = base.mark_point(filled=True, size=40, opacity=1).encode(x=x, y=y, color=colour, shape=_shape(names))
    return alt.layer(line, bars, points).properties(width=WIDTH, height=HEIGHT)


def selections(means: pd.DataFrame, runs: pd.DataFrame, names: Sequence[str], theme: Theme) -> Chart:
    """Precision against the share of the pool selected: a faint mark for every run, means with both intervals."""
    ticks = alt.Axis(values=[0, 25, 50, 75, 100])
    x = alt.X("selected:Q", title="pool selected, %", scale=alt.Scale(domain=[0, 100]), axis=ticks)
    y = alt.Y("precision:Q", title="of these labels right, %", scale=alt.Scale(zero=False))
    shown = [name for name in names if name in set(means["series"])]
    colour, shape = _colour(names, theme, shown), _shape(names, shown)
    base = _base(_within(means, "selected low", "selected high", "precision low", "precision high"), names)
    across = base.mark_rule(strokeWidth=1.2).encode(x="selected low:Q", x2="selected high:Q", y=y, color=colour)
    along = base.mark_rule(strokeWidth=1.2).encode(x=x, y="precision low:Q", y2="precision high:Q", color=colour)
    middle = base.mark_point(filled=True, size=70, opacity=1, stroke=theme.background, strokeWidth=0.7)
    faint = _base(runs, names).mark_point(filled=True, size=18, opacity=0.35)
    points = [each.encode(x=x, y=y, color=colour, shape=shape) for each in (faint, middle)]
    return alt.layer(points[0], across, along, points[1]).properties(width=WIDTH, height=HEIGHT)


def coverage(means: pd.DataFrame, names: Sequence[str], covered: str, theme: Theme) -> Chart:
    """One row per series with sets: coverage of pool and test images, and a dashed line at the nominal level."""
    shown = [name for name in names if name in set(means["series"])]
    base = _base(_within(means, "low", "high"), names)
    row, scale = _rows(shown), _around(means)
    beside = alt.YOffset("images:N", sort=["pool", "test"], scale=alt.Scale(paddingOuter=0.3))
    colour = _colour(names, theme, None)
    images, legend = ["pool", "test"], alt.Legend(symbolFillColor=theme.ink, labelExpr="datum.label + ' images'")
    shape = alt.Shape("images:N", scale=alt.Scale(domain=images, range=["circle", "square"]), legend=legend)
    opacity = alt.Opacity("images:N", scale=alt.Scale(domain=images, range=[1, 0.6]), legend=legend)
    x = alt.X("mean:Q", title=f"sets that hold {covered}, %", scale=scale)
    levels = _base(means.dropna(subset=["nominal"]).drop_duplicates("series"), names)
    line = levels.mark_rule(color=theme.ink, strokeWidth=1.5, strokeDash=[4, 3]).encode(
        x=alt.X("nominal:Q", scale=scale), y=_rows(shown, bandPosition=0), y2=alt.Y2("series:N", bandPosition=1)
    )
    bars = base.mark_rule(strokeWidth=1.5).encode(
        x=alt.X("low:Q", scale=scale), x2="high:Q", y=row, yOffset=beside, color=colour, opacity=opacity
    )
    points = base.mark_point(filled=True, size=55).encode(
        x=x, y=row, yOffset=beside, color=colour, shape=shape, opacity=opacity
    )
    return alt.layer(line, bars, points).properties(width=WIDTH, height=_height(shown, 34))


def sizes(means: pd.DataFrame, names: Sequence[str], theme: Theme) -> Chart:
    """One histogram of set sizes per series with sets."""
    shown = [name for name in names if name in set(means["series"])]
    largest = int(means["size"].max())
    x = alt.X(
        "size:O",
        title="classes in the set",
        axis=alt.Axis(labelAngle=0, labelOverlap=True, ticks=False),
        scale=alt.Scale(domain=list(range(largest + 1))),
    )
    colour = _colour(names, theme, None)
    base = _base(_within(means, "low", "high"), names)
    bars = base.mark_bar(opacity=0.7).encode(x=x, y=alt.Y("mean:Q", title="pool, %"), color=colour)
    ends = base.mark_rule(color=theme.ink, strokeWidth=1).encode(x=x, y="low:Q", y2="high:Q")
    return _small(alt.layer(bars, ends), shown, 2, 140, 70)


def reliability(bins: pd.DataFrame, names: Sequence[str], right: str, theme: Theme) -> Chart:
    """Accuracy against confidence, one diagram per series, before and after scaling; the diagonal is perfect."""
    shown = [name for name in names if name in set(bins["series"])]
    domain = alt.Scale(domain=[0, 100])
    ticks = alt.Axis(values=[0, 50, 100])
    x = alt.X("confidence:Q", title="confidence, %", scale=domain, axis=ticks)
    y = alt.Y("accuracy:Q", title=f"{right}, %", scale=domain, axis=ticks)
    kinds, legend = ["before", "after"], alt.Legend(labelExpr="datum.label + ' scaling'")
    colour = alt.Color(
        "scaling:N", scale=alt.Scale(domain=kinds, range=[theme.palette[1], theme.palette[0]]), legend=legend
    )
    shape = alt.Shape("scaling:N", scale=alt.Scale(domain=kinds, range=["triangle-up", "circle"]), legend=legend)
    dash = alt.StrokeDash("scaling:N", scale=alt.Scale(domain=kinds, range=[[4, 2], [1, 0]]), legend=None)
    base = _base(bins, names)
    diagonal = base.mark_rule(color=theme.ink, strokeWidth=0.7).encode(
        x=alt.XDatum(0), y=alt.YDatum(0), x2=alt.X2Datum(100), y2=alt.Y2Datum(100)
    )
    line = base.mark_line(strokeWidth=1.2).encode(x=x, y=y, color=colour, strokeDash=dash)
    size = alt.Size("n:Q", scale=alt.Scale(type="sqrt", range=[4, 60]), legend=None)
    points = base.mark_point(filled=True, opacity=1).encode(x=x, y=y, color=colour, shape=shape, size=size)
    return _small(alt.layer(diagonal, line, points), shown, 2 if len(shown) in (2, 4) else 3, 90, 90)


def seconds(means: pd.DataFrame, names: Sequence[str], theme: Theme) -> Chart:
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
    beside = alt.YOffset("series:N", sort=_wrapped(names))
    points = _base(positive, names).mark_point(filled=True, size=32, opacity=1)
    height = max(26, 4 * len(names)) * len(stages)
    marks: alt.Chart = points.encode(x=x, y=y, yOffset=beside, color=_colour(names, theme), shape=_shape(names))
    return marks.properties(width=WIDTH, height=height)


def _base(table: pd.DataFrame, names: Sequence[str]) -> alt.Chart:
    """A chart of ``table``, with the names of series broken into lines."""
    lines = dict(zip(names, _wrapped(names), strict=True))
    return alt.Chart(table.assign(series=table["series"].map(lines)))


def _rows(names: Sequence[str], **options: Any) -> alt.Y:
    scale = alt.Scale(domain=_wrapped(names), padding=0)
    return alt.Y("series:N", title=None, sort=None, scale=scale, axis=alt.Axis(grid=True), **options)


def _height(names: Sequence[str], least: int = 26) -> int:
    """Height in pixels of one row per series, each at least ``least`` high and with room for its name."""
    return len(names) * max(least, *(LINE * (name.count("\n") + 1) + 8 for name in _wrapped(names)))


def _colour(names: Sequence[str], theme: Theme, shown: Sequence[str] | None = ()) -> alt.Color:
    """Colours by series; ``shown`` are the series in the legend (None: no legend; empty: all series)."""
    scale = alt.Scale(domain=_wrapped(names), range=theme.colours(len(names)))
    return alt.Color("series:N", scale=scale, legend=_legend(shown))


def _shape(names: Sequence[str], shown: Sequence[str] | None = ()) -> alt.Shape:
    scale = alt.Scale(domain=_wrapped(names), range=shapes(len(names)))
    return alt.Shape("series:N", scale=scale, legend=_legend(shown))


def _legend(shown: Sequence[str] | None) -> Any:
    if shown is None:
        return None
    return alt.Legend(values=_wrapped(shown)) if shown else alt.Legend()


def _small(chart: Chart, names: Sequence[str], columns: int, width: int, height: int) -> Chart:
    """Small multiples: ``chart`` once per series in ``columns`` columns, wide enough for the names."""
    lines = (line for name in _wrapped(names) for line in name.split("\n"))
    needed = min(7 * max(map(len, lines), default=0), 150)
    if needed > width + 45:  # names may reach into the gap between charts
        columns, width, height = min(columns, 2), needed, height * needed // width
    facet = alt.Facet("series:N", title=None, sort=_wrapped(names))
    return chart.properties(width=width, height=height).facet(facet, columns=columns)


def _around(means: pd.DataFrame) -> alt.Scale:
    """A scale for coverage with room around the nominal level, so that a small miss does not look large."""
    ends = means[["low", "mean", "high", "nominal"]].stack()
    levels = means["nominal"].dropna()
    low, high = min([ends.min(), *(levels - 3)]), max([ends.max(), *(levels + 3)])
    return alt.Scale(domain=[max(low, 0), min(high, 100)], nice=True)


def _within(table: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """``table`` with the ends of intervals clipped to 0 to 100 %; the numbers beside the figure are not clipped."""
    return table.assign(**{column: table[column].clip(0, 100) for column in columns})


def _wrapped(names: Sequence[str]) -> list[str]:
    return [in_lines(name, _WRAP) for name in names]
