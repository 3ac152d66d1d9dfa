"""The summary of a report: methods by dataset and label count, their paired differences, ranks, and what to take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import TYPE_CHECKING

import pandas as pd

from pseudobench.analysis.comparisons import Comparison
from pseudobench.analysis.rankings import Ranking, ranking_of
from pseudobench.analysis.run_facts import Place, pick_columns
from pseudobench.analysis.tables import Cell, cell_of
from pseudobench.errors import BenchError
from pseudobench.maths.significance import mean_of
from pseudobench.output.comparison_tables import verdict_sign
from pseudobench.output.findings import Finding, finding_sentences, findings, parts_that_vary
from pseudobench.output.report.sections import Section

if TYPE_CHECKING:
    from pseudobench.analysis.arms import Arm
    from pseudobench.registry.components import Registry
_FEW = 12  # rows that are all worth showing


@dataclass(frozen=True)
class Summary:
    """What all sections show together. ``names`` are those of arms, with their styles in figures.

    ``ranks`` are average ranks over the tested places, of the arms that all of them have. Differences are in the units
    that people are shown, one row for each ordered pair of arms of a place.
    """

    findings: tuple[Finding, ...]
    places: tuple[str, ...]
    names: Mapping[str, int]
    cells: Mapping[tuple[str, int], Cell]  # by name and position of the place
    ranks: Mapping[str, float]
    sentences: tuple[str, ...]
    differences: pd.DataFrame
    curves: pd.DataFrame
    bounds: pd.DataFrame
    wins: pd.DataFrame
    ranking: Ranking | None = None
    measures: tuple[str, ...] = field(default=())

    @property
    def main(self) -> dict[str, int]:
        """The names that say most: those of two tested places or more, where there are many."""
        if len(self.names) <= _FEW:
            return dict(self.names)
        tested = [at for at, each in enumerate(self.findings) if each.verdict.tested]
        counts = {name: sum((name, at) in self.cells for at in tested) for name in self.names}
        return {name: style for name, style in self.names.items() if counts[name] > 1} or dict(self.names)


def summarize_sections(sections: Sequence[Section], registry: Registry) -> Summary:
    """The summary of these sections: verdicts are those of all arms, rows those of the arms that are shown."""
    styles = {each.arm.name: each.style for section in sections for each in section.series}
    arms = [arm for section in sections for arm in section.arms]
    order = sorted((arm for arm in arms if arm.name in styles and not arm.ceiling), key=lambda arm: arm.order)
    names = {arm.name: styles[arm.name] for arm in order}
    found = tuple(sorted(findings(arms, registry), key=lambda each: not each.verdict.tested))
    held = [each.place for each in found]
    places = tuple(", ".join([f"{place.dataset} {place.labels}", *parts_that_vary(place, held)]) for place in held)
    titles = {each.place: name for each, name in zip(found, places, strict=True)}
    curves = [_curve(arm, found) for arm in arms if arm.name in styles]
    table = pd.DataFrame([row for rows in curves for row in rows], columns=_CURVE)
    if len(table):
        table = table[table.groupby(["where", "series"])["labels"].transform("nunique") > 1]
    return Summary(
        findings=found,
        places=places,
        names=names,
        cells={
            (arm.name, at): cell_of(arm, each.verdict.column, each.verdict)
            for at, each in enumerate(found)
            for arm in each.verdict.arms
        },
        ranks=_ranks(found, names),
        sentences=tuple(finding_sentences(found)),
        differences=_differences(found, titles, names),
        curves=table[~table["ceiling"].astype(bool)],
        bounds=table[table["ceiling"].astype(bool)],
        wins=_wins(found, names),
        ranking=_ranking([arm for arm in arms if arm.name in names], found, registry),
        measures=tuple(dict.fromkeys(each.verdict.column.name for each in found)),
    )


def _ranks(found: Sequence[Finding], names: Mapping[str, int]) -> dict[str, float]:
    """Average ranks over the tested places, of the arms that every one of these has."""
    tested = [each for each in found if each.verdict.tested]
    held = [{arm.name for arm in each.verdict.arms} for each in tested]
    shared = [name for name in names if all(name in some for some in held)]
    if len(tested) < 2 or len(shared) < 2:
        return {}
    means = []
    for each in tested:
        sign = 1 if each.verdict.column.higher_is_better else -1
        values = {arm.name: list(arm.values[each.verdict.column.name].values()) for arm in each.verdict.arms}
        by_name = {name: mean_of(held).mean for name, held in values.items()}
        means.append([sign * by_name[name] for name in shared])
    ranks = pd.DataFrame(means, columns=shared).rank(axis=1, ascending=False).mean()
    return dict(zip(shared, ranks.tolist(), strict=True))


def _differences(found: Sequence[Finding], titles: Mapping[Place, str], names: Mapping[str, int]) -> pd.DataFrame:
    rows = []
    for each in found:
        column = each.verdict.column
        for arm, base in permutations([arm for arm in each.verdict.arms if arm.name in names], 2):
            pair = each.verdict.between(arm, base)
            if pair.n > 1:
                low, high = (end * column.scale for end in pair.interval)
                sign = verdict_sign(Comparison(arm, base, column, pair)).main
                words = (titles[each.place], base.name, arm.name)
                rows.append((*words, pair.mean * column.scale, low, high, pair.p, pair.n, sign))
    columns = ["where", "baseline", "series", "difference", "low", "high", "p", "seeds", "verdict"]
    return pd.DataFrame(rows, columns=columns)


_CURVE = ["where", "series", "labels", "mean", "low", "high", "n", "ceiling"]


def _curve(arm: Arm, found: Sequence[Finding]) -> list[tuple[object, ...]]:
    """The mean of an arm at its label count, of places where something is compared."""
    for each in found:
        if each.place == arm.place:
            column = each.verdict.column
            value = mean_of([one * column.scale for one in arm.values[column.name].values()])
            where = ", ".join([arm.place.dataset, *parts_that_vary(arm.place, [other.place for other in found])])
            ends = value.mean - value.half, value.mean + value.half
            return [(where, arm.name, arm.place.labels, value.mean, *ends, value.n, arm.ceiling)] if value.n else []
    return []


def _wins(found: Sequence[Finding], names: Mapping[str, int]) -> pd.DataFrame:
    """For each ordered pair of arms, in how many tested places the first is better, not told apart, worse."""
    counts: dict[tuple[str, str], list[int]] = {}
    for each in found:
        for arm, other in permutations([arm for arm in each.verdict.arms if arm.name in names], 2):
            pair = each.verdict.between(arm, other)
            if pair.p is not None:
                better = (pair.mean > 0) == bool(each.verdict.column.higher_is_better)
                counts.setdefault((arm.name, other.name), [0, 0, 0])[(0 if better else 2) if pair.different else 1] += 1
    rows = [(one, two, *held, "/".join(map(str, held)), held[0] - held[2]) for (one, two), held in counts.items()]
    return pd.DataFrame(rows, columns=["series", "against", "wins", "ties", "losses", "text", "balance"])


def _ranking(arms: Sequence[Arm], found: Sequence[Finding], registry: Registry) -> Ranking | None:
    """Ranks over datasets with their test, where there are enough datasets, each once."""
    measures = {each.verdict.column.name for each in found}
    try:
        return ranking_of(arms, pick_columns(registry, sorted(measures))[0]) if len(measures) == 1 else None
    except BenchError:
        return None
