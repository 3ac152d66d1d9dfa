"""Charts of what methods reach: accuracies, their differences, and how both change with rounds and labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from pseudobench.output.report.encodings import (
    HEIGHT,
    WIDTH,
    Chart,
    Names,
    chart_of,
    colour_of,
    legend_of,
    row_axis,
    row_height,
    shape_of,
    styled,
)
from pseudobench.output.report.themes import Theme, dashes

if TYPE_CHECKING:
    import pandas as pd


def results(
    means: pd.DataFrame, runs: pd.DataFrame, bounds: pd.DataFrame, names: Names, measure: str, theme: Theme
) -> Chart:
    """One row per series: a faint dot for every run, the mean with its interval; ``bounds`` as lines."""
    low, high = _span(runs[measure], means["low"], means["high"], bounds["mean"])
    scale = alt.Scale(domain=[low, high], nice=False, zero=False)
    rows = [name for name in names if name in set(means["series"])]
    base, row, colour = chart_of(means, names), row_axis(rows), colour_of(names, theme, None)
    dots = chart_of(runs, names).mark_point(filled=True, size=22, opacity=0.35)
    seeds = dots.encode(x=alt.X(f"{measure}:Q", scale=scale), y=row, color=colour)
    bars = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", scale=scale), x2=alt.X2("high:Q"), y=row, color=colour)
    x = alt.X("mean:Q", title=f"{measure}, %", scale=scale)
    middle = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=x, y=row, color=colour, shape=shape_of(names, None)
    )
    lines = _lines(bounds, (low, high), theme)
    return alt.layer(*lines, seeds, bars, middle).properties(width=WIDTH, height=row_height(rows))


def _span(*values: pd.Series[Any]) -> tuple[float, float]:
    """The ends of an axis with room around all values but the last, and around these where they are near."""
    *known, bounds = values
    low, high = min(each.min() for each in known), max(each.max() for each in known)
    room = max(high - low, 1e-9)
    near = [value for value in bounds if high < value <= high + room / 2 or low - room / 2 <= value < low]
    return min([low, *near]) - 0.04 * room, max([high, *near]) + 0.04 * room


def rounds(means: pd.DataFrame, bounds: pd.DataFrame, names: Names, measure: str, theme: Theme) -> Chart:
    """One line per series over the rounds, with intervals; series are shifted sideways so that none hides another."""
    shown = [name for name in names if name in set(means["series"])]
    positions = {name: position for position, name in enumerate(shown)}
    beside = (means["series"].map(positions) - (len(shown) - 1) / 2) * 0.24 / max(len(shown), 6)
    base = chart_of(means.assign(x=means["round"] + beside), names)
    last = int(means["round"].max())
    x = alt.X(
        "x:Q",
        title="round",
        axis=alt.Axis(values=list(range(last + 1)), format="d", grid=False),
        scale=alt.Scale(domain=[-0.2, last + 0.2], nice=False),
    )
    low, high = _span(means["mean"], means["low"], means["high"], bounds["mean"])
    scale = alt.Scale(domain=[low, high], nice=False, zero=False)
    y = alt.Y("mean:Q", title=f"{measure}, %", scale=scale)
    colour = colour_of(names, theme, shown)
    dash = alt.StrokeDash("series:N", scale=styled(names, dashes(names.values())), legend=legend_of(shown))
    line = base.mark_line(strokeWidth=1.5).encode(x=x, y=y, color=colour, strokeDash=dash)
    bars = base.mark_rule(strokeWidth=1, opacity=0.7).encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), color=colour)
    points = base.mark_point(filled=True, size=40, opacity=1).encode(
        x=x, y=y, color=colour, shape=shape_of(names, shown)
    )
    lines = _lines(bounds, (low, high), theme, level=True)
    return alt.layer(*lines, line, bars, points).properties(width=WIDTH, height=HEIGHT)


def _lines(bounds: pd.DataFrame, ends: tuple[float, float], theme: Theme, *, level: bool = False) -> list[alt.Chart]:
    """A dashed line for each bound with its name, upright or ``level``; outside of the axis, the name at its end."""
    drawn = []
    for name, mean in zip(bounds["series"], map(float, bounds["mean"]), strict=True):
        label = f"{name} {mean:.2f} %"
        at = min(max(mean, ends[0]), ends[1])
        scale = alt.Scale(domain=list(ends), nice=False, zero=False)
        base = alt.Chart(bounds[bounds["series"] == name][["series", "mean"]].round(3))
        place = alt.YDatum(at, scale=scale) if level else alt.XDatum(at, scale=scale)
        channel = "y" if level else "x"
        if at == mean:
            line = base.mark_rule(strokeDash=[5, 3], strokeWidth=1.2, color=theme.ink, opacity=0.7)
            drawn.append(line.encode(**{channel: place}))
        else:
            label += " \N{RIGHTWARDS ARROW}" if not level else " \N{UPWARDS ARROW}"
        text = base.mark_text(
            align="right", dx=0 if level or at == ends[1] else -4, dy=-7 if level else 0, fontSize=10, color=theme.ink
        )
        other = {"x": alt.value("width")} if level else {"y": alt.value(-7)}
        drawn.append(text.encode(text=alt.TextValue(label), **{channel: place}, **other))
    return drawn
