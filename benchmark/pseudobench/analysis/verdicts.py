"""The one engine behind every verdict: which arms of a family differ, and which can't be told from the best.

A family is all pairs of arms of one place, ceilings excluded. `bench run`, `bench table`, `bench compare`,
`bench report` and `pseudobench.compare` take their verdicts from here.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from pseudobench.analysis.arm_settings import grouped
from pseudobench.analysis.arms import Arm
from pseudobench.analysis.pairs import Pair, compare_arms
from pseudobench.analysis.run_facts import Place
from pseudobench.maths.significance import letters, max_t, mean_of

if TYPE_CHECKING:
    from pseudobench.contracts.columns import Column


@dataclass(frozen=True)
class Verdict:
    """What one column shows of the arms of a family. ``pairs`` are by the positions of two arms, in their order."""

    arms: tuple[Arm, ...]
    column: Column
    pairs: Mapping[tuple[int, int], Pair]

    def between(self, arm: Arm, other: Arm) -> Pair:
        """One arm of the family against another."""
        one, two = self._place[arm.run_ids], self._place[other.run_ids]
        return self.pairs[one, two] if one < two else self.pairs[two, one].turned()

    @property
    def tested(self) -> bool:
        """Whether any pair had enough seeds for a test."""
        return bool(self._tested)

    @property
    def tests(self) -> int:
        """How many pairs were tested together."""
        return max((pair.tests for pair in self.pairs.values()), default=0)

    @property
    def most_seeds(self) -> int:
        """How many seeds the pair with the most of them has."""
        return max((pair.n for pair in self.pairs.values()), default=0)

    @cached_property
    def best(self) -> Arm | None:
        """The arm with the best mean, among those that were tested; None where none was or nothing is better.

        Means are taken after subtracting each seed's mean over all arms: an arm that lacks hard seeds gains nothing.
        """
        if self.column.higher_is_better is None or not self.tested:
            return None
        sign = 1 if self.column.higher_is_better else -1
        return self.arms[max(self._tested, key=lambda index: (sign * self._above[index], -index))]

    @cached_property
    def best_tier(self) -> list[Arm]:
        """The best arm and those that were tested against it and not found different."""
        if self.best is None:
            return []
        others = [arm for arm in self.arms if arm is not self.best]
        pairs = [(arm, self.between(arm, self.best)) for arm in others]
        return [self.best, *(arm for arm, pair in pairs if pair.p is not None and not pair.different)]

    @cached_property
    def letters(self) -> dict[tuple[str, ...], str]:
        """By the runs of arms that were tested: those that share a letter were not found different."""
        if self.best is None:
            return {}
        sign = -1 if self.column.higher_is_better else 1
        order = sorted(
            self._tested,
            key=lambda index: sign * self._above[index],
        )
        different = np.zeros((len(order), len(order)), dtype=bool)
        for one, two in combinations(range(len(order)), 2):
            pair = self.pairs[min(order[one], order[two]), max(order[one], order[two])]
            different[one, two] = different[two, one] = pair.different
        given = letters(different)
        return {self.arms[index].run_ids: text for index, text in zip(order, given, strict=True)}

    @cached_property
    def _tested(self) -> list[int]:
        """Places of arms with a p-value in some pair."""
        return sorted({place for places, pair in self.pairs.items() if pair.p is not None for place in places})

    @cached_property
    def _place(self) -> dict[tuple[str, ...], int]:
        return {arm.run_ids: index for index, arm in enumerate(self.arms)}

    @cached_property
    def _above(self) -> list[float]:
        """The mean of each arm above that of all arms with the same seed; NaN without a value."""
        held = [arm.values[self.column.name] for arm in self.arms]
        by_seed: dict[int, list[float]] = {}
        for values in held:
            for seed, value in values.items():
                by_seed.setdefault(seed, []).append(value)
        usual = {seed: math.fsum(values) / len(values) for seed, values in by_seed.items()}
        return [mean_of([value - usual[seed] for seed, value in values.items()]).mean for values in held]


def judge(arms: Sequence[Arm], column: Column, baseline: Collection[tuple[str, ...]] | None = None) -> Verdict:
    """Compare the arms of one place in one column.

    The family is all pairs, or with ``baseline`` the pairs with one of these arms (by their runs). Arms that lack seeds
    are compared on the seeds that they share; a pair with fewer than `SEEDS_NEEDED` of them is not tested.
    """
    rivals = tuple(arm for arm in arms if not arm.ceiling)
    return _judge(rivals, column, None if baseline is None else frozenset(baseline))


@lru_cache(maxsize=1024)  # a report asks for the same verdict in its table, its summary and its comparisons
def _judge(rivals: tuple[Arm, ...], column: Column, baseline: frozenset[tuple[str, ...]] | None) -> Verdict:
    pairs = {
        (one, two): compare_arms(rivals[one], rivals[two], column) for one, two in combinations(range(len(rivals)), 2)
    }
    seeds = sorted({seed for arm in rivals for seed in arm.values[column.name]})
    family = [
        places for places in pairs if baseline is None or any(rivals[place].run_ids in baseline for place in places)
    ]
    differences = np.full((len(family), len(seeds)), np.nan)
    column_of = {seed: index for index, seed in enumerate(seeds)}
    for row, places in enumerate(family):
        differences[row, [column_of[seed] for seed in pairs[places].seeds]] = pairs[places].differences
    p_values = max_t(differences)
    tests = int(np.isfinite(p_values).sum())
    for positions, p in zip(family, p_values.tolist(), strict=True):
        pairs[positions] = replace(pairs[positions], p=None if math.isnan(p) else p, tests=tests)
    return Verdict(rivals, column, pairs)


def families(arms: Iterable[Arm]) -> dict[Place, list[Arm]]:
    """The arms of each place."""
    return grouped(arms, lambda arm: arm.place)
