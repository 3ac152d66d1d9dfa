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

from pseudobench.analysis.arms import Arm
from pseudobench.analysis.run_facts import Place
from pseudobench.maths.significance import (
    LEVEL,
    SEEDS_NEEDED,
    Mean,
    half_over_seeds_and_samples,
    letters,
    max_t,
    mean_of,
    sign_flip_test,
)

if TYPE_CHECKING:
    from pseudobench.contracts.columns import Column


@dataclass(frozen=True)
class Pair:
    """One arm against another over the seeds that both have a value for: means, differences and what they show.

    ``p`` is corrected for the ``tests`` of the family, None where the pair was not tested. The 95 % interval of the
    mean difference, ``mean ± half``, is over seeds, or ``over_samples`` too.
    """

    means: tuple[Mean, Mean]
    differences: tuple[float, ...]
    half: float
    over_samples: bool
    unpaired: int  # seeds that only one of the two has
    p: float | None = None
    tests: int = 0

    @property
    def n(self) -> int:
        """How many seeds both have."""
        return len(self.differences)

    @property
    def mean(self) -> float:
        """The mean difference."""
        return mean_of(self.differences).mean

    @property
    def interval(self) -> tuple[float, float]:
        """The ends of the 95 % interval."""
        return self.mean - self.half, self.mean + self.half

    @property
    def alone(self) -> float | None:
        """The p-value as if no other pair had been tested; None for too few seeds."""
        return sign_flip_test(self.differences) if self.n >= SEEDS_NEEDED else None

    @property
    def smallest(self) -> bool:
        """Whether ``p`` is the smallest value that so many seeds can reach."""
        return self.p is not None and self.p <= 2.0 ** (1 - self.n) * (1 + 1e-9)

    @property
    def different(self) -> bool:
        """Whether the corrected test and the interval agree that there is a difference."""
        low, high = self.interval
        return self.p is not None and self.p <= LEVEL and not low <= 0 <= high

    def turned(self) -> Pair:
        """The second arm against the first."""
        return replace(self, means=self.means[::-1], differences=tuple(-each for each in self.differences))


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


@lru_cache(maxsize=256)  # a report asks for the same verdict in its table, its summary and its comparisons
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
    for row, (one, two) in enumerate(family):
        shared = shared_seeds(rivals[one], rivals[two], column)
        differences[row, [column_of[seed] for seed in shared]] = pairs[one, two].differences
    p_values = max_t(differences)
    tests = int(np.isfinite(p_values).sum())
    for positions, p in zip(family, p_values.tolist(), strict=True):
        pairs[positions] = replace(pairs[positions], p=None if math.isnan(p) else p, tests=tests)
    return Verdict(rivals, column, pairs)


def families(arms: Iterable[Arm]) -> dict[Place, list[Arm]]:
    """The arms of each place."""
    found: dict[Place, list[Arm]] = {}
    for arm in arms:
        found.setdefault(arm.place, []).append(arm)
    return found


def shared_seeds(arm: Arm, other: Arm, column: Column) -> list[int]:
    """The seeds that both arms have a value for, with the same images labeled."""
    both = arm.values[column.name].keys() & other.values[column.name].keys()
    return sorted(seed for seed in both if not split_differs(arm, other, seed))


def split_differs(arm: Arm, other: Arm, seed: int) -> bool:
    """Whether two runs that trained and calibrated on as many labels had other ones."""
    one, two = arm.splits[seed], other.splits[seed]
    return bool(one != two and one and two and one.split()[0] == two.split()[0])


def compare_arms(arm: Arm, other: Arm, column: Column) -> Pair:
    """One arm against another, without a test."""
    values, others = arm.values[column.name], other.values[column.name]
    seeds = shared_seeds(arm, other, column)
    differences = tuple(values[seed] - others[seed] for seed in seeds)
    half = mean_of(differences).half
    stored = _stored(arm, other, seeds) if column.name == "accuracy" else None
    if stored is not None:
        half = half_over_seeds_and_samples(*stored)
    means = mean_of([values[seed] for seed in seeds]), mean_of([others[seed] for seed in seeds])
    return Pair(means, differences, half, stored is not None, len(values.keys() | others.keys()) - len(seeds))


def _stored(arm: Arm, other: Arm, seeds: Sequence[int]) -> tuple[np.ndarray, np.ndarray] | None:
    """Whether both arms were right, bool [S, N] each; None unless stored for the same samples of all seeds."""
    held = [[each.correct.get(seed) for seed in seeds] for each in (arm, other)]
    found = [right for rights in held for right in rights if right is not None]
    if len(seeds) < 2 or len(found) < 2 * len(seeds) or len({right.shape for right in found}) > 1:
        return None
    return np.stack(found[: len(seeds)]), np.stack(found[len(seeds) :])
