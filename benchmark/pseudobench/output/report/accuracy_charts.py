"""Charts of what methods reach: accuracies, their differences, and how both change with rounds and labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pseudobench.output.report.encodings import (
    HEIGHT,
    WIDTH,
    Names,
    Rows,
    Spec,
    category,
    colour_of,
    layered,
    legend_of,
    marks,
    quantity,
    row_axis,
    row_height,
    rows_of,
    shape_of,
    styled,
    those_in,
)
from pseudobench.output.report.themes import Theme, dashes

if TYPE_CHECKING:
    import pandas as pd


def results(
    means: pd.DataFrame, runs: pd.DataFrame, bounds: pd.DataFrame, names: Names, measure: str, theme: Theme
) -> Spec:
    """One row per series: a faint dot for every run, the mean with its interval; ``bounds`` as lines."""
    ends = _span(runs[measure], means["low"], means["high"], bounds["mean"])
    scale = {"domain": list(ends), "nice": False, "zero": False}
    shown = those_in(names, means["series"])
    row, colour, shape = row_axis(shown), colour_of(names, theme, None), shape_of(names, None)
    dot = {"x": quantity(measure, scale=scale), "y": row, "color": colour}
    bar = {"x": quantity("low", scale=scale), "x2": {"field": "high"}, "y": row, "color": colour}
    middle = {"x": quantity("mean", title=f"{measure}, %", scale=scale), "y": row, "color": colour, "shape": shape}
    lines, tables = _lines(bounds, ends, theme)
    return layered(
        rows_of(means, names),
        *lines,
        marks("point", dot, "runs", filled=True, size=22, opacity=0.35),
        marks("rule", bar, strokeWidth=2),
        marks("point", middle, filled=True, size=70, opacity=1),
        others={"runs": rows_of(runs, names), **tables},
        width=WIDTH,
        height=row_height(shown),
    )


def _span(*values: pd.Series[Any]) -> tuple[float, float]:
    """The ends of an axis with room around all values but the last, and around these where they are near."""
    *known, bounds = values
    low, high = min(each.min() for each in known), max(each.max() for each in known)
    room = max(high - low, 1e-9)
    near = [value for value in bounds if high < value <= high + room / 2 or low - room / 2 <= value < low]
    return float(min([low, *near]) - 0.04 * room), float(max([high, *near]) + 0.04 * room)


def rounds(means: pd.DataFrame, bounds: pd.DataFrame, names: Names, measure: str, theme: Theme) -> Spec:
    """One line per series over the rounds, with intervals; series are shifted sideways so that none hides another."""
    shown = those_in(names, means["series"])
    positions = {name: position for position, name in enumerate(shown)}
    beside = (means["series"].map(positions) - (len(shown) - 1) / 2) * 0.24 / max(len(shown), 6)
    last = int(means["round"].max())
    axis = {"values": list(range(last + 1)), "format": "d", "grid": False}
    x = quantity("x", title="round", axis=axis, scale={"domain": [-0.2, last + 0.2], "nice": False})
    ends = _span(means["mean"], means["low"], means["high"], bounds["mean"])
    y = quantity("mean", title=f"{measure}, %", scale={"domain": list(ends), "nice": False, "zero": False})
    colour = colour_of(names, theme, shown)
    dash = category("series", scale=styled(names, dashes(names.values())), legend=legend_of(shown))
    bar = {"x": x, "y": quantity("low"), "y2": {"field": "high"}, "color": colour}
    point = {"x": x, "y": y, "color": colour, "shape": shape_of(names, shown)}
    lines, tables = _lines(bounds, ends, theme, level=True)
    return layered(
        rows_of(means.assign(x=means["round"] + beside), names),
        *lines,
        marks("line", {"x": x, "y": y, "color": colour, "strokeDash": dash}, strokeWidth=1.5),
        marks("rule", bar, strokeWidth=1, opacity=0.7),
        marks("point", point, filled=True, size=40, opacity=1),
        others=tables,
        width=WIDTH,
        height=HEIGHT,
    )


def _lines(
    bounds: pd.DataFrame, ends: tuple[float, float], theme: Theme, *, level: bool = False
) -> tuple[list[Spec], dict[str, Rows]]:
    """A dashed line for each bound with its name, upright or ``level``; outside of the axis, the name at its end.

    Also returned is the table of each, by name.
    """
    drawn: list[Spec] = []
    tables: dict[str, Rows] = {}
    scale = {"domain": list(ends), "nice": False, "zero": False}
    for name, mean in zip(bounds["series"], map(float, bounds["mean"]), strict=True):
        label = f"{name} {mean:.2f} %"
        at = min(max(mean, ends[0]), ends[1])
        table = f"bound {len(tables)}"
        tables[table] = rows_of(bounds[bounds["series"] == name][["series", "mean"]])
        place = {"y" if level else "x": {"datum": at, "scale": scale}}
        if at == mean:
            look = {"strokeDash": [5, 3], "strokeWidth": 1.2, "color": theme.ink, "opacity": 0.7}
            drawn.append(marks("rule", place, table, **look))
        else:
            label += " \N{RIGHTWARDS ARROW}" if not level else " \N{UPWARDS ARROW}"
        other = {"x": {"value": "width"}} if level else {"y": {"value": -7}}
        shift = {"dx": 0 if level or at == ends[1] else -4, "dy": -7 if level else 0}
        words = {"text": {"value": label}, **place, **other}
        drawn.append(marks("text", words, table, align="right", **shift, fontSize=10, color=theme.ink))
    return drawn, tables
