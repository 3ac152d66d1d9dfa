"""The figures of a report's section: each with its texts, its numbers, and the function that draws it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import vl_convert

from pseudobench.base.text import in_texts, visible
from pseudobench.output.report import accuracy_charts, charts, measures
from pseudobench.output.report.encodings import Spec
from pseudobench.output.report.sections import Section
from pseudobench.output.report.setting_curves import setting_chart, setting_points, share_chart, share_points
from pseudobench.output.report.themes import Theme

if TYPE_CHECKING:
    import pandas as pd

FORMATS = ("svg", "pdf", "png")
_TITLES = {"accuracy": "Accuracy", "mAP": "Mean average precision"}


@dataclass(frozen=True)
class Figure:
    """One figure. ``note`` explains how to read it; ``alt`` describes it to readers who can't see it.

    ``choices`` are columns of the data with the values that a reader can choose from; a file shows the first of each.
    """

    name: str
    title: str
    note: str
    alt: str
    data: pd.DataFrame
    draw: Callable[[Theme], Spec]
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def spec(self, theme: Theme) -> Spec:
        """The figure as Vega-Lite, without the theme's configuration."""
        made: Spec = in_texts(_drawable, self.draw(theme))
        return made

    def render(self, theme: Theme, format_: str, width: float | None = None) -> bytes:
        """The content of the figure's file, as svg, pdf or png; ``width`` in pixels, of which 96 are an inch."""
        spec: dict[str, Any] = {**self.spec(theme), "config": theme.config()}
        first = {key: _drawable(values[0]) for key, values in self.choices.items()}
        for name, rows in spec["datasets"].items():
            spec["datasets"][name] = [row for row in rows if all(row.get(key, at) == at for key, at in first.items())]
        if width is not None:
            fit(spec, width)
        if format_ == "svg":
            return vl_convert.vegalite_to_svg(spec).encode()
        if format_ == "pdf":
            return vl_convert.vegalite_to_pdf(spec) if width is None else _real_pdf(vl_convert.vegalite_to_svg(spec))
        return vl_convert.vegalite_to_png(spec, scale=3)


def _real_pdf(svg: str) -> bytes:
    """A PDF in which 96 pixels of the picture are an inch; by itself a pixel would be a point, of which 72 are one."""
    sides = re.compile(r'width="([\d.]+)" height="([\d.]+)"')
    smaller = sides.sub(lambda side: f'width="{0.75 * float(side[1])}" height="{0.75 * float(side[2])}"', svg, count=1)
    return vl_convert.svg_to_pdf(smaller)


def fit(spec: dict[str, Any], width: float) -> None:
    """Make a specification's views narrower or wider, so that the whole is ``width`` pixels wide; fonts stay."""
    view, columns = (spec["spec"], int(spec.get("columns") or 1)) if "spec" in spec else (spec, 1)
    for _ in range(6):  # names of an axis may take another number of lines, and not every column need have a panel
        found = re.search(r'<svg[^>]*? width="([\d.]+)"', vl_convert.vegalite_to_svg(spec))
        assert found is not None
        over = float(found[1]) - width
        if abs(over) < 1:
            return
        view["width"] = max(60, view["width"] - over / columns)


@cache  # the names of a few series stand in thousands of rows
def _drawable(text: str) -> str:
    """Text without control characters: one of them would end the process that draws."""
    return visible(text, keep="\n")


def figures(section: Section) -> list[Figure]:
    """All figures of the section, except those without numbers."""
    made = (make(name, section) for name, make in FIGURES.items())
    return [figure for figure in made if len(figure.data)]


def _results(name: str, section: Section) -> Figure:
    means = measures.results(section.rivals, name)
    bounds = measures.results(section.ceilings, name)
    runs = measures.each_run(section.rivals, **{section.measure: measures.tested(name)})
    return Figure(
        name,
        _TITLES[section.measure],
        f"Last network of each run: a faint dot for every seed, the mean with its 95 % interval.{_line_of(section)}",
        f"Mean {section.measure} of {_range(means, 'mean')}.",
        means,
        partial(accuracy_charts.results, means, runs, bounds, section.names, section.measure),
    )


def _rounds(name: str, section: Section) -> Figure:
    means = measures.rounds(section.rivals)
    bounds = measures.rounds(section.ceilings).groupby("series", sort=False).tail(1)
    last = means.groupby("series", sort=False).tail(1)
    return Figure(
        name,
        f"{_TITLES[section.measure]} per round",
        "Means with 95 % intervals. A run that settled early keeps its last network, so that every round has all runs."
        + _line_of(section),
        f"{_TITLES[section.measure]} by round; after the last round {_range(last, 'mean')}.",
        means,
        partial(accuracy_charts.rounds, means, bounds, section.names, section.measure),
    )


def _precision(name: str, section: Section) -> Figure:
    means = measures.selections(section.series)
    selected, precision = measures.chosen("positive_share"), measures.chosen("positive_precision")
    runs = measures.each_run(section.series, selected=selected, precision=precision)
    return Figure(
        name,
        "Pseudo-label precision against how many were selected",
        "Last selection of each run: a faint mark for every seed, means with 95 % intervals in both directions. "
        "Runs that selected nothing have no precision; both means leave them out.",
        f"Share of the pool selected: {_range(means, 'selected')}. Precision: {_range(means, 'precision')}.",
        means,
        partial(charts.selections, means, runs, section.names),
    )


def _settings(name: str, section: Section) -> Figure:
    points = setting_points(section.rivals, section.measure)
    return Figure(
        name,
        f"{_TITLES[section.measure]} by setting",
        "Methods that were run with several values of a number, everything else alike. Means with 95 % intervals.",
        f"Mean {section.measure} of {_range(points, 'mean')}.",
        points,
        partial(setting_chart, points, _numbered(points), section.measure),
    )


def _shares(name: str, section: Section) -> Figure:
    points = share_points(section.rivals, section.measure)
    return Figure(
        name,
        "How many or how clean",
        "The same runs: what is selected at each value of the number, what share of that is right, and where it leads.",
        f"Share of the pool selected: {_range(points, 'selected')}.",
        points,
        partial(share_chart, points, _numbered(points)),
    )


def _numbered(points: pd.DataFrame) -> dict[str, int]:
    """Names of curves with styles of their own: they are not those of the table's rows."""
    return {curve: index for index, curve in enumerate(dict.fromkeys(points["series"]))}


def _coverage(name: str, section: Section) -> Figure:
    means = measures.coverage(section.series)
    covered = "all true classes" if section.multi_label else "the true class"
    levels = ", ".join(f"{level:g} %" for level in sorted(set(means["nominal"].dropna()))) or "not known"
    return Figure(
        name,
        "Coverage of prediction sets",
        f"Sets that hold {covered}, in the last round; means with 95 % intervals. The dashed line is the nominal level "
        f"1 - alpha ({levels}).",
        f"Coverage of pool and test images: {_range(means, 'mean')}; nominal {levels}.",
        means,
        partial(charts.coverage, means, section.names, covered),
    )


def _sizes(name: str, section: Section) -> Figure:
    means = measures.sizes(section.series)
    return Figure(
        name,
        "Sizes of prediction sets",
        "Share of the pool's sets with so many classes, in the last round; means with 95 % intervals.",
        f"Histograms of set sizes from 0 to {means['size'].max()}, {means['series'].nunique()} of them.",
        means,
        partial(charts.sizes, means, section.names),
    )


def _reliability(name: str, section: Section) -> Figure:
    bins = measures.reliability(section.series)
    each, right = "Test images", "accuracy"
    if section.multi_label:
        each, right = "Every class of every test image, predicted to be there or not", "classes right"
    return Figure(
        name,
        "Reliability before and after scaling",
        f"{each}; of the network that chose last, all runs together. On the diagonal it is right as often as it is "
        "sure, below it too sure. Larger marks stand for more predictions. Methods without scaling have one line.",
        f"Accuracy against confidence in {bins['bin'].nunique()} bins, in {bins['series'].nunique()} diagrams.",
        bins,
        partial(charts.reliability, bins, section.names, right),
    )


def _seconds(name: str, section: Section) -> Figure:
    means = measures.seconds(section.series)
    return Figure(
        name,
        "Seconds per stage",
        "Total of a run, mean over runs, logarithmic. What was reused from the cache was not trained again, and counts "
        "as the little that took.",
        f"Mean seconds by stage: {_range(means, 'mean', 'stage', ' s')}.",
        means,
        partial(charts.seconds, means, section.names),
    )


#: Name to the function that makes it, in the order of the page: neighbours are about equally high.
FIGURES: dict[str, Callable[[str, Section], Figure]] = {
    "accuracy": _results,
    "map": _results,
    "coverage": _coverage,
    "rounds": _rounds,
    "precision": _precision,
    "settings": _settings,
    "shares": _shares,
    "reliability": _reliability,
    "seconds": _seconds,
    "sizes": _sizes,
}


def _line_of(section: Section) -> str:
    names = [each.name for each in section.ceilings if each.done]
    return f" Line: {', '.join(names)}, which has all labels." if names else ""


def _range(table: pd.DataFrame, column: str, label: str = "series", unit: str = " %") -> str:
    """The smallest and the largest value of a column, each with its name, as text."""
    known = [(value, name) for value, name in zip(table[column], table[label], strict=True) if not math.isnan(value)]
    if not known:
        return "none"
    known.sort(key=lambda each: each[0])
    ends = [f"{value:.3g}{unit} ({name})" for value, name in (known[0], known[-1])]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
