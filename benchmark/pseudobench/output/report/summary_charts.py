"""Charts of the summary: paired differences, accuracy by labels, wins and losses, ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from pseudobench.base.text import in_lines
from pseudobench.output.report.encodings import (
    WIDTH,
    WRAP,
    Chart,
    Names,
    chart_of,
    colour_of,
    legend_of,
    row_height,
    shape_of,
    styled,
    wrapped,
)
from pseudobench.output.report.themes import Theme, dashes

if TYPE_CHECKING:
    import pandas as pd

    from pseudobench.analysis.rankings import Ranking


def forest(differences: pd.DataFrame, names: Names, measure: str, theme: Theme) -> Chart:
    """One row per series: its mean difference from the baseline with the 95 % interval, and the verdict."""
    base, colour = chart_of(differences, names), colour_of(names, theme, None)
    row = alt.Y("series:N", title=None, sort=wrapped(names), axis=alt.Axis(grid=True))
    zero = alt.Chart(differences[:1][["seeds"]]).mark_rule(strokeWidth=1.2, color=theme.ink).encode(x=alt.datum(0))
    bars = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"), y=row, color=colour)
    x = alt.X("difference:Q", title=f"difference in {measure}, points")
    points = base.mark_point(filled=True, size=70, opacity=1)
    points = points.encode(x=x, y=row, color=colour, shape=shape_of(names, None))
    signs = base.mark_text(align="left", dx=6, fontSize=12).encode(
        y=row, x=alt.value("width"), text=alt.Text("verdict:N")
    )
    step = row_height(list(names)) / len(names)
    return alt.layer(zero, bars, points, signs).properties(width=WIDTH, height=alt.Step(step))


def curves(means: pd.DataFrame, bounds: pd.DataFrame, names: Names, measure: str, theme: Theme) -> Chart:
    """Means by the number of labels, a panel for each dataset; the line of what has all labels is dashed."""
    shown = [name for name in names if name in set(means["series"])]
    counts = sorted(int(count) for count in set(means["labels"]))
    axis = alt.Axis(values=counts, format="d", labelOverlap=True, grid=False)
    x = alt.X("labels:Q", title="labels", scale=alt.Scale(type="log", nice=False, padding=12), axis=axis)
    y = alt.Y("mean:Q", title=f"{measure}, %", scale=alt.Scale(zero=False))
    colour = colour_of(names, theme, shown)
    dash = alt.StrokeDash("series:N", scale=styled(names, dashes(names.values())), legend=legend_of(shown))
    places = {where: in_lines(where, WRAP) for where in means["where"]}
    base = chart_of(means.drop(columns="ceiling").assign(where=means["where"].map(places)), names)
    line = base.mark_line(strokeWidth=1.5).encode(x=x, y=y, color=colour, strokeDash=dash)
    bars = base.mark_rule(strokeWidth=1, opacity=0.7).encode(x=x, y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), color=colour)
    points = base.mark_point(filled=True, size=40, opacity=1).encode(
        x=x, y=y, color=colour, shape=shape_of(names, shown)
    )
    panel = alt.layer(line, bars, points).properties(width=WIDTH, height=WIDTH * 2 // 3)
    panels = panel.facet(alt.Facet("where:N", title=None), columns=2).resolve_scale(x="independent", y="independent")
    once = bounds.drop_duplicates(["where", "series"])
    said = [
        f"{where}: {name} {mean:.2f} %"
        for where, name, mean in zip(once["where"], once["series"], once["mean"], strict=True)
    ]
    title = alt.TitleParams(said, fontSize=10, fontWeight="normal", color=theme.ink, anchor="start", orient="bottom")
    found: alt.FacetChart = panels.properties(title=title) if said else panels
    return found


def wins(table: pd.DataFrame, names: Names, theme: Theme) -> Chart:
    """Wins, ties and losses of each row against each column."""
    shown = [name for name in names if name in set(table["series"])]
    against = dict(zip(names, wrapped(names), strict=True))
    base = chart_of(table.assign(against=table["against"].map(against)), names)
    most = max(1, int(table["balance"].abs().max()))
    ends = [theme.palette[3], theme.background, theme.palette[2]]
    colours = alt.Scale(domain=[-most, 0, most], range=ends, interpolate="rgb")
    x = alt.X("against:N", title=None, sort=wrapped(shown), axis=alt.Axis(labelAngle=-90, orient="top", grid=False))
    y = alt.Y("series:N", title=None, sort=wrapped(shown), axis=alt.Axis(grid=False))
    cells = base.mark_rect(stroke=theme.faint, opacity=0.6)
    cells = cells.encode(x=x, y=y, color=alt.Color("balance:Q", scale=colours, legend=None))
    size = alt.ExprRef(f"max(6, min(10, width / {2.8 * len(shown):g}))")  # in a paper's column cells are narrow
    words = base.mark_text(fontSize=size).encode(x=x, y=y, text=alt.Text("text:N"))
    return alt.layer(cells, words).properties(width=max(WIDTH, 44 * len(shown)), height=row_height(shown))


def ranks(ranking: Ranking, theme: Theme) -> Chart:
    """A critical-difference diagram: average ranks, and above them a bar over each group that can't be told apart."""
    import pandas as pd

    found = sorted(zip(ranking.ranks.average.tolist(), ranking.names, strict=True))
    groups = _groups([rank for rank, _ in found], ranking.ranks.critical)
    rows = [f"{'not told apart' if not index else ' ' * index}" for index in range(len(groups))]
    names = [name for _, name in found]
    order = [*rows, *wrapped(names)]
    y = alt.Y("row:N", title=None, sort=order, scale=alt.Scale(domain=order), axis=alt.Axis(grid=False))
    scale = alt.Scale(domain=[1, len(names)], nice=False)
    bars = pd.DataFrame([(row, *ends) for row, ends in zip(rows, groups, strict=True)], columns=["row", "low", "high"])
    points = pd.DataFrame({"row": wrapped(names), "rank": [round(rank, 3) for rank, _ in found]})
    x = alt.X("rank:Q", title="average rank, 1 the best", scale=scale)
    segments = (
        alt.Chart(bars)
        .mark_rule(strokeWidth=4, color=theme.ink)
        .encode(x=alt.X("low:Q", scale=scale), x2=alt.X2("high:Q"), y=y)
    )
    dots = alt.Chart(points).mark_point(filled=True, size=70, opacity=1, color=theme.palette[2]).encode(x=x, y=y)
    return alt.layer(segments, dots).properties(width=WIDTH, height=20 * len(order))


def _groups(ranks: list[float], critical: float) -> list[tuple[float, float]]:
    """The ends of the longest runs of ranks, in rising order, that lie within the critical difference."""
    found: list[tuple[float, float]] = []
    for start, low in enumerate(ranks):
        high = max(rank for rank in ranks[start:] if rank - low <= critical)
        if high > low and not any(first <= low and high <= last for first, last in found):
            found.append((low, high))
    return found
