"""Charts of the summary: paired differences, accuracy by labels, wins and losses, ranks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pseudobench.base.text import in_lines
from pseudobench.output.report.encodings import (
    WIDTH,
    WRAP,
    Names,
    Spec,
    category,
    colour_of,
    layered,
    legend_of,
    marks,
    panels,
    quantity,
    row_height,
    rows_of,
    shape_of,
    styled,
    those_in,
    wrapped,
)
from pseudobench.output.report.themes import Theme, dashes

if TYPE_CHECKING:
    import pandas as pd

    from pseudobench.analysis.rankings import Ranking


def forest(differences: pd.DataFrame, titles: Mapping[str, str], names: Names, measure: str, theme: Theme) -> Spec:
    """One row per series: its mean difference from the baseline with the 95 % interval, and the verdict.

    The title, ``titles`` by place and then the baseline, is data as the rows are: both can be chosen.
    """
    chosen = differences[["where", "baseline"]].drop_duplicates()
    pairs = zip(chosen["where"], chosen["baseline"], strict=True)
    said = [f"{titles[where]} {in_lines(f'minus that of {baseline}', 2 * WRAP)}" for where, baseline in pairs]
    title = {"text": {"expr": "split(data('chosen')[0].title, '\\n')"}, "fontSize": 12, "color": theme.ink}
    row = category("series", title=None, sort=wrapped(names), axis={"grid": True})
    colour, shape = colour_of(names, theme, None), shape_of(names, None)
    x = quantity("difference", title=f"difference in {measure}, points")
    bar = {"x": quantity("low"), "x2": {"field": "high"}, "y": row, "color": colour}
    sign = {"y": row, "x": {"value": "width"}, "text": category("verdict")}
    return layered(
        rows_of(differences, names),
        marks("rule", {"x": {"datum": 0}}, "chosen", strokeWidth=1.2, color=theme.ink),
        marks("rule", bar, strokeWidth=2),
        marks("point", {"x": x, "y": row, "color": colour, "shape": shape}, filled=True, size=70, opacity=1),
        marks("text", sign, align="left", dx=6, fontSize=12),
        others={"chosen": rows_of(chosen.assign(title=said))},
        width=WIDTH,
        height={"step": row_height(list(names)) / len(names)},
        title={**title, "anchor": "start", "frame": "bounds"},
    )


def curves(means: pd.DataFrame, bounds: pd.DataFrame, names: Names, measure: str, theme: Theme) -> Spec:
    """Means by the number of labels, a panel for each dataset; the line of what has all labels is dashed."""
    shown = those_in(names, means["series"])
    counts = sorted(int(count) for count in set(means["labels"]))
    axis = {"values": counts, "format": "d", "labelOverlap": True, "grid": False}
    x = quantity("labels", title="labels", scale={"type": "log", "nice": False, "padding": 12}, axis=axis)
    y = quantity("mean", title=f"{measure}, %", scale={"zero": False})
    colour = colour_of(names, theme, shown)
    dash = category("series", scale=styled(names, dashes(names.values())), legend=legend_of(shown))
    bar = {"x": x, "y": quantity("low"), "y2": {"field": "high"}, "color": colour}
    point = {"x": x, "y": y, "color": colour, "shape": shape_of(names, shown)}
    places = {where: in_lines(where, WRAP) for where in means["where"]}
    once = bounds.drop_duplicates(["where", "series"])
    said = [
        f"{where}: {name} {mean:.2f} %"
        for where, name, mean in zip(once["where"], once["series"], once["mean"], strict=True)
    ]
    title = {"text": said, "fontSize": 10, "fontWeight": "normal", "color": theme.ink}
    title |= {"anchor": "start", "orient": "bottom"}
    return panels(
        rows_of(means.drop(columns="ceiling").assign(where=means["where"].map(places)), names),
        category("where", title=None),
        2,
        marks("line", {"x": x, "y": y, "color": colour, "strokeDash": dash}, strokeWidth=1.5),
        marks("rule", bar, strokeWidth=1, opacity=0.7),
        marks("point", point, filled=True, size=40, opacity=1),
        size=(WIDTH, WIDTH * 2 // 3),
        resolve={"scale": {"x": "independent", "y": "independent"}},
        **({"title": title} if said else {}),
    )


def wins(table: pd.DataFrame, names: Names, theme: Theme) -> Spec:
    """Wins, ties and losses of each row against each column."""
    shown = those_in(names, table["series"])
    against = dict(zip(names, wrapped(names), strict=True))
    most = max(1, int(table["balance"].abs().max()))
    ends = [theme.palette[3], theme.background, theme.palette[2]]
    colours = {"domain": [-most, 0, most], "range": ends, "interpolate": "rgb"}
    axis = {"labelAngle": -90, "orient": "top", "grid": False}
    x = category("against", title=None, sort=wrapped(shown), axis=axis)
    y = category("series", title=None, sort=wrapped(shown), axis={"grid": False})
    cell = {"x": x, "y": y, "color": quantity("balance", scale=colours, legend=None)}
    size = {"expr": f"max(6, min(10, width / {2.8 * len(shown):g}))"}  # in a paper's column cells are narrow
    return layered(
        rows_of(table.assign(against=table["against"].map(against)), names),
        marks("rect", cell, stroke=theme.faint, opacity=0.6),
        marks("text", {"x": x, "y": y, "text": category("text")}, fontSize=size),
        width=max(WIDTH, 44 * len(shown)),
        height=row_height(shown),
    )


def ranks(ranking: Ranking, theme: Theme) -> Spec:
    """A critical-difference diagram: average ranks, and above them a bar over each group that can't be told apart."""
    found = sorted(zip(ranking.ranks.average.tolist(), ranking.names, strict=True))
    groups = _groups([rank for rank, _ in found], ranking.ranks.critical)
    rows = [f"{'not told apart' if not index else ' ' * index}" for index in range(len(groups))]
    names = wrapped(name for _, name in found)
    order = [*rows, *names]
    y = category("row", title=None, sort=order, scale={"domain": order}, axis={"grid": False})
    scale = {"domain": [1, len(names)], "nice": False}
    bar = {"x": quantity("low", scale=scale), "x2": {"field": "high"}, "y": y}
    dot = {"x": quantity("rank", title="average rank, 1 the best", scale=scale), "y": y}
    ends = zip(rows, groups, strict=True)
    bars = [{"row": row, "low": round(low, 3), "high": round(high, 3)} for row, (low, high) in ends]
    return layered(
        [{"row": name, "rank": round(rank, 3)} for name, (rank, _) in zip(names, found, strict=True)],
        marks("rule", bar, "groups", strokeWidth=4, color=theme.ink),
        marks("point", dot, filled=True, size=70, opacity=1, color=theme.palette[2]),
        others={"groups": bars},
        width=WIDTH,
        height=row_height([*rows, *(name for _, name in found)], 20),
    )


def _groups(ranks: list[float], critical: float) -> list[tuple[float, float]]:
    """The ends of the longest runs of ranks, in rising order, that lie within the critical difference."""
    found: list[tuple[float, float]] = []
    for start, low in enumerate(ranks):
        high = max(rank for rank in ranks[start:] if rank - low <= critical)
        if high > low and not any(first <= low and high <= last for first, last in found):
            found.append((low, high))
    return found
