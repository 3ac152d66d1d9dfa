"""How many or how clean: accuracy and precision against the share selected, as one setting of a rule changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import altair as alt
import pandas as pd

from pseudobench.analysis.arms import varying
from pseudobench.analysis.run_facts import plain
from pseudobench.output.report.encodings import WIDTH, Chart, Names, chart_of, colour_of, legend_of, shape_of, styled
from pseudobench.output.report.measures import chosen, interval, tested
from pseudobench.output.report.sections import Series
from pseudobench.output.report.themes import Theme, dashes

#: Values of a setting that a curve needs.
_LEAST = 3


def share_curves(series: Sequence[Series], measure: str) -> pd.DataFrame:
    """A row for each point: the curve's name (``series``), ``selected``, the kind (``of``) and its mean with interval.

    The arms of a method that differ in a number are a curve, one for each choice of what else they differ in.
    """
    rows = []
    for name, members in _curves(series):
        for each in members:
            selected = interval(map(chosen("positive_share"), each.done))
            for of, read in ((measure, tested(_KEYS[measure])), ("precision", chosen("positive_precision"))):
                found = interval(map(read, each.done))
                if found["n"] and selected["n"]:
                    rows.append({"series": name, "of": of, "selected": selected["mean"], **found})
    return pd.DataFrame(rows, columns=["series", "of", "selected", "mean", "low", "high", "n"])


_KEYS = {"accuracy": "accuracy", "mAP": "map"}


def _curves(series: Sequence[Series]) -> Iterable[tuple[str, list[Series]]]:
    methods: dict[str, list[Series]] = {}
    for each in series:
        methods.setdefault(each.arm.method, []).append(each)
    for method, members in methods.items():
        keys = sorted(varying([each.arm.settings for each in members]))
        numbers = [key for key in keys if all(_is_number(each.arm.settings.get(key)) for each in members)]
        if len(numbers) == 1:
            others = [key for key in keys if key not in numbers]
            curves: dict[str, list[Series]] = {}
            for each in members:
                said = (f"{key.rpartition('.')[2]}={plain(each.arm.settings.get(key))}" for key in others)
                curves.setdefault(" ".join([method, *said]), []).append(each)
            yield from ((name, points) for name, points in curves.items() if len(points) >= _LEAST)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def share_chart(points: pd.DataFrame, names: Names, theme: Theme) -> Chart:
    """Two panels over the share selected: the accuracy that it leads to, and how many of these labels are right."""
    shown, colour = list(names), colour_of(names, theme, list(names))
    x = alt.X("selected:Q", title="pool selected, %", scale=alt.Scale(domain=[0, 100]))
    y = alt.Y("mean:Q", title="%", scale=alt.Scale(zero=False))
    dash = alt.StrokeDash("series:N", scale=styled(names, dashes(names.values())), legend=legend_of(shown))
    base = chart_of(points, names)
    line = base.mark_line(strokeWidth=1.5).encode(x=x, y=y, color=colour, strokeDash=dash, order="selected:Q")
    bars = base.mark_rule(strokeWidth=1, opacity=0.7).encode(x=x, y="low:Q", y2="high:Q", color=colour)
    marks = base.mark_point(filled=True, size=40, opacity=1)
    dots = marks.encode(x=x, y=y, color=colour, shape=shape_of(names, shown))
    panel = alt.layer(line, bars, dots).properties(width=WIDTH, height=WIDTH * 2 // 3)
    facet = alt.Facet("of:N", title=None, sort=list(dict.fromkeys(points["of"])))
    found: alt.FacetChart = panel.facet(facet, columns=2).resolve_scale(y="independent")
    return found
