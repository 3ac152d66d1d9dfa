"""The figures of a report's summary, over all sections."""

from __future__ import annotations

from functools import partial

import pandas as pd

from pseudobench.output.findings import parts_that_vary
from pseudobench.output.report import summary_charts
from pseudobench.output.report.encodings import those_in
from pseudobench.output.report.figures import Figure
from pseudobench.output.report.summary import Summary

NAMES = ("differences", "labels", "wins", "ranks")


def summary_figures(summary: Summary) -> list[Figure]:
    """Those that there are numbers for."""
    measure = " or ".join(summary.measures)
    found = [_differences(summary, measure)] if len(summary.differences) else []
    if len(summary.curves):
        found.append(_labels(summary, measure))
    if len(summary.wins) and len(set(summary.differences["where"])) > 1:
        found.append(_wins(summary))
    if summary.ranking is not None:
        found.append(_ranks(summary))
    return found


def _differences(summary: Summary, measure: str) -> Figure:
    """Those from labels alone, or else from the first method, at the places that have it; a reader can choose others.

    Places that have this baseline come first, so that the first choices are a drawing.
    """
    data = summary.differences
    held = those_in(summary.names, data["baseline"])
    floor = next((each.floor.name for each in summary.findings if each.floor and each.floor.name in held), held[0])
    there = set(data["where"][data["baseline"] == floor])
    places = sorted(dict.fromkeys(data["where"]), key=lambda where: where not in there)
    found = [each.place for each in summary.findings]
    words = [", ".join([f"{place.dataset}, {place.labels} labels", *parts_that_vary(place, found)]) for place in found]
    titles = {
        where: f"{said}:\n{each.verdict.column.name}"
        for where, said, each in zip(summary.places, words, summary.findings, strict=True)
    }
    return Figure(
        "differences",
        "Differences from a baseline",
        "Mean difference over the same seeds with its 95 % interval. ▲ better, ▼ worse, = no difference that these "
        "seeds can show, – not tested; corrected over all pairs of methods.",
        f"Paired differences in {measure} from {floor}.",
        data,
        partial(summary_charts.forest, data, titles, summary.names, measure),
        {"where": tuple(places), "baseline": (floor, *(name for name in held if name != floor))},
    )


def _labels(summary: Summary, measure: str) -> Figure:
    data = summary.curves
    return Figure(
        "labels",
        f"{measure[0].upper()}{measure[1:]} by number of labels",
        "Means with 95 % intervals. Below: what training on all labels reaches.",
        f"{measure} of {data['series'].nunique()} methods at {data['labels'].nunique()} numbers of labels.",
        data.drop(columns="ceiling"),
        partial(summary_charts.curves, data, summary.bounds, summary.names, measure),
    )


def _wins(summary: Summary) -> Figure:
    tested = sum(each.verdict.tested for each in summary.findings)
    names = summary.main
    data = summary.wins[summary.wins["series"].isin(names) & summary.wins["against"].isin(names)]
    return Figure(
        "wins",
        "Wins, ties and losses",
        f"Of the row against the column, over {tested} datasets and label counts: better / not told apart / worse.",
        "A table of wins, ties and losses.",
        data,
        partial(summary_charts.wins, data, names),
    )


def _ranks(summary: Summary) -> Figure:
    assert summary.ranking is not None
    ranks = summary.ranking.ranks
    data = pd.DataFrame({"series": summary.ranking.names, "average rank": ranks.average})
    return Figure(
        "ranks",
        "Critical differences of average ranks",
        f"Over {ranks.datasets} datasets; Friedman's test: p = {ranks.p:.2g}. A bar joins methods whose ranks are "
        f"within Nemenyi's critical difference, {ranks.critical:.2f}.",
        f"Average ranks over {ranks.datasets} datasets.",
        data,
        partial(summary_charts.ranks, summary.ranking),
    )
