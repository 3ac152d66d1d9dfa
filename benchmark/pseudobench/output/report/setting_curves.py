"""Arms that differ in one number as curves: accuracy against the number, and against what it leads a rule to select."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from pseudobench.analysis.arm_settings import varying
from pseudobench.output.report.encodings import (
    WIDTH,
    Names,
    Spec,
    category,
    colour_of,
    legend_of,
    marks,
    panels,
    quantity,
    rows_of,
    shape_of,
    styled,
)
from pseudobench.output.report.measures import chosen, interval, tested
from pseudobench.output.report.sections import Series
from pseudobench.output.report.themes import Theme, dashes

#: Points that a curve needs at least: two numbers are compared by a table.
_LEAST = 3
_KEYS = {"accuracy": "accuracy", "mAP": "map"}


@dataclass(frozen=True)
class Curve:
    """Arms of one method that differ in one ``setting``, by its value."""

    setting: str
    name: str
    points: tuple[tuple[float, Series], ...]


def curves_of(series: Sequence[Series]) -> list[Curve]:
    """All curves of a section: for each method and each of its numbers, one for each choice of everything else."""
    methods: dict[str, list[Series]] = {}
    for each in series:
        if each.done:
            methods.setdefault(each.arm.method, []).append(each)
    return [curve for members in methods.values() for curve in _of_method(members)]


def _of_method(members: Sequence[Series]) -> Iterator[Curve]:
    keys = varying([each.arm.settings for each in members])
    for key in sorted(keys):
        groups: dict[str, list[tuple[float, Series]]] = {}
        for each in members:
            value = each.arm.settings.get(key)
            if isinstance(value, int | float) and not isinstance(value, bool):
                rest = repr([each.arm.place, *(each.arm.settings.get(other) for other in sorted(keys - {key}))])
                groups.setdefault(rest, []).append((value, each))
        for points in groups.values():
            if len(points) >= _LEAST:
                yield Curve(
                    key, _common([each.name for _, each in points]), tuple(sorted(points, key=lambda at: at[0]))
                )


def _common(names: Sequence[str]) -> str:
    """The words that all of these names have: without what each says of the setting that they differ in."""
    return " ".join(word for word in names[0].split(" ") if all(word in name.split(" ") for name in names))


def setting_points(series: Sequence[Series], measure: str) -> pd.DataFrame:
    """A row for each point: ``setting``, ``value``, the curve's name (``series``), and the mean with its interval."""
    rows = [
        {
            "setting": curve.setting,
            "value": value,
            "series": curve.name,
            **interval(map(tested(_KEYS[measure]), each.done)),
        }
        for curve in curves_of(series)
        for value, each in curve.points
    ]
    return pd.DataFrame(rows, columns=["setting", "value", "series", "mean", "low", "high", "n"])


def share_points(series: Sequence[Series], measure: str) -> pd.DataFrame:
    """A row for each point: the curve's name (``series``), ``selected``, a mean with its interval, and ``of`` what."""
    rows = []
    for curve in curves_of(series):
        for _, each in curve.points:
            selected = interval(map(chosen("positive_share"), each.done))
            for of, read in ((measure, tested(_KEYS[measure])), ("precision", chosen("positive_precision"))):
                found = interval(map(read, each.done))
                if found["n"] and selected["n"]:
                    rows.append({"series": curve.name, "of": of, "selected": selected["mean"], **found})
    return pd.DataFrame(rows, columns=["series", "of", "selected", "mean", "low", "high", "n"])


def setting_chart(points: pd.DataFrame, names: Names, measure: str, theme: Theme) -> Spec:
    """A panel for each setting: its value, and the accuracy or mAP that it leads to."""
    x = quantity("value", title=None, scale={"zero": False, "padding": 12})
    return _panels(points, names, theme, x, f"{measure}, %", "setting")


def share_chart(points: pd.DataFrame, names: Names, theme: Theme) -> Spec:
    """Two panels over the share selected: the accuracy that it leads to, and how many of these labels are right."""
    x = quantity("selected", title="pool selected, %", scale={"domain": [0, 100]})
    return _panels(points, names, theme, x, "%", "of")


def _panels(points: pd.DataFrame, names: Names, theme: Theme, x: Spec, title: str, by: str) -> Spec:
    """Lines with means and intervals, a panel for each value of the column ``by``."""
    shown, colour = list(names), colour_of(names, theme, list(names))
    y = quantity("mean", title=title, scale={"zero": False})
    dash = category("series", scale=styled(names, dashes(names.values())), legend=legend_of(shown))
    line = {"x": x, "y": y, "color": colour, "strokeDash": dash, "order": quantity(x["field"])}
    bar = {"x": x, "y": quantity("low"), "y2": {"field": "high"}, "color": colour}
    point = {"x": x, "y": y, "color": colour, "shape": shape_of(names, shown)}
    return panels(
        rows_of(points, names),
        category(by, title=None, sort=list(dict.fromkeys(points[by]))),
        2,
        marks("line", line, strokeWidth=1.5),
        marks("rule", bar, strokeWidth=1, opacity=0.7),
        marks("point", point, filled=True, size=40, opacity=1),
        size=(WIDTH, WIDTH * 2 // 3),
        resolve={"scale": {"x": "independent", "y": "independent"}},
    )
