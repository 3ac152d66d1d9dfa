"""Two arms over the seeds that both have a value for: their differences, and what these show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pseudobench.analysis.arms import Arm
from pseudobench.maths.significance import (
    LEVEL,
    SEEDS_NEEDED,
    Mean,
    half_over_seeds_and_samples,
    mean_of,
    sign_flip_test,
)

if TYPE_CHECKING:
    from pseudobench.contracts.columns import Column


@dataclass(frozen=True)
class Pair:
    """One arm against another over the ``seeds`` that both have a value for: means, differences and what they show.

    ``p`` is corrected for the ``tests`` of the family, None where the pair was not tested. The 95 % interval of the
    mean difference, ``mean ± half``, is over seeds, or ``over_samples`` too, which gives another ``half_of_both``.
    Means are worked out when they are asked for: most pairs of a large family are never looked at.
    """

    seeds: tuple[int, ...]
    values: tuple[tuple[float, ...], tuple[float, ...]]
    half_of_both: float | None
    unpaired: int  # seeds that only one of the two has
    p: float | None = None
    tests: int = 0

    @property
    def n(self) -> int:
        """How many seeds both have."""
        return len(self.seeds)

    @property
    def means(self) -> tuple[Mean, Mean]:
        """Of either arm."""
        return mean_of(self.values[0]), mean_of(self.values[1])

    @cached_property
    def differences(self) -> tuple[float, ...]:
        """By seed."""
        return tuple(one - other for one, other in zip(*self.values, strict=True))

    @cached_property
    def _difference(self) -> Mean:
        return mean_of(self.differences)

    @property
    def mean(self) -> float:
        """The mean difference."""
        return self._difference.mean

    @property
    def half(self) -> float:
        """Half of the 95 % interval."""
        return self._difference.half if self.half_of_both is None else self.half_of_both

    @property
    def over_samples(self) -> bool:
        """Whether the interval is over test samples as well as over seeds."""
        return self.half_of_both is not None

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
        return self.p is not None and self.p <= LEVEL and not self.interval[0] <= 0 <= self.interval[1]

    def turned(self) -> Pair:
        """The second arm against the first."""
        return replace(self, values=self.values[::-1])


def compare_arms(arm: Arm, other: Arm, column: Column) -> Pair:
    """One arm against another, without a test."""
    values, others = arm.values[column.name], other.values[column.name]
    seeds = _shared_seeds(arm, other, column)
    stored = _stored(arm, other, seeds) if column.name == "accuracy" else None
    return Pair(
        seeds=seeds,
        values=(tuple(values[seed] for seed in seeds), tuple(others[seed] for seed in seeds)),
        half_of_both=None if stored is None else half_over_seeds_and_samples(*stored),
        unpaired=len(values.keys() | others.keys()) - len(seeds),
    )


def _shared_seeds(arm: Arm, other: Arm, column: Column) -> tuple[int, ...]:
    """The seeds that both arms have a value for, with the same images labeled."""
    both = arm.values[column.name].keys() & other.values[column.name].keys()
    return tuple(sorted(seed for seed in both if not split_differs(arm, other, seed)))


def split_differs(arm: Arm, other: Arm, seed: int) -> bool:
    """Whether two runs that trained and calibrated on as many labels had other ones."""
    one, two = arm.splits[seed], other.splits[seed]
    return bool(one != two and one and two and one.split()[0] == two.split()[0])


def _stored(arm: Arm, other: Arm, seeds: Sequence[int]) -> tuple[np.ndarray, np.ndarray] | None:
    """Whether both arms were right, bool [S, N] each; None unless stored for the same samples of all seeds."""
    held = [[each.correct.get(seed) for seed in seeds] for each in (arm, other)]
    found = [right for rights in held for right in rights if right is not None]
    if len(seeds) < 2 or len(found) < 2 * len(seeds) or len({right.shape for right in found}) > 1:
        return None
    return np.stack(found[: len(seeds)]), np.stack(found[len(seeds) :])
