"""Statistics of few seeds: intervals of means, a paired test, and the price of comparing often. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from scipy import special  # scipy.stats takes half a second to import

#: What counts as significant.
LEVEL = 0.05
#: Up to this many pairs every choice of signs is looked at: half a million, in some milliseconds.
EXACT = 20
_DRAWS = 20_000


@dataclass(frozen=True)
class Mean:
    """The mean of ``n`` values and half of its 95 % t interval (NaN where n is below 2)."""

    mean: float
    half: float
    n: int


@dataclass(frozen=True)
class Paired:
    """Differences of pairs: their mean with its interval, and two p-values, not corrected for other comparisons.

    ``p`` is that of the sign-flip test, None where there are too few pairs for it to reach `LEVEL`. ``p_t`` is that of
    the paired t test, None where it does not exist.
    """

    difference: Mean
    p: float | None
    p_t: float | None


def mean_of(values: Sequence[float]) -> Mean:
    """The mean and its t interval."""
    n = len(values)
    if not n:
        return Mean(math.nan, math.nan, 0)
    mean = math.fsum(values) / n
    if n == 1:
        return Mean(mean, math.nan, 1)
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    return Mean(mean, _t_quantile(n - 1) * deviation / math.sqrt(n), n)


@cache
def _t_quantile(freedom: int) -> float:
    return float(special.stdtrit(freedom, 0.975))


def compare_pairs(values: Sequence[float], baseline: Sequence[float]) -> Paired:
    """``values`` minus ``baseline``, pair by pair."""
    differences = [value - other for value, other in zip(values, baseline, strict=True)]
    difference = mean_of(differences)
    enough = difference.n >= seeds_needed()
    return Paired(difference, sign_flip_test(differences) if enough else None, _t_test(difference))


def _t_test(difference: Mean) -> float | None:
    if difference.n < 2:
        return None
    if difference.half == 0:  # every pair differs by the same
        return 1.0 if difference.mean == 0 else 0.0
    freedom = difference.n - 1
    statistic = difference.mean / difference.half * _t_quantile(freedom)
    return float(2 * special.stdtr(freedom, -abs(statistic)))


def sign_flip_test(differences: Sequence[float] | np.ndarray) -> float:
    """How often the mean is at least as far from zero if every difference has its sign by the toss of a coin.

    If two methods do the same, then within a seed either could have had either result, so this p-value is exact,
    whatever the distribution: it needs no normal differences, which five or ten seeds could not show. Its
    smallest value is 2 / 2^n (see `seeds_needed`). With more than `EXACT` pairs it is drawn, from a seed of its own.
    """
    values = np.asarray(differences, dtype=np.float64)
    if not len(values):
        return 1.0
    size = np.abs(values).sum()
    least = abs(values.sum()) - 1e-9 * size  # equal sums come out in different orders
    if len(values) > EXACT:
        return _drawn_sign_flips(values, least)
    sums = values[:1]  # the first sign may be fixed: turning all signs gives the other half
    for value in values[1:]:
        sums = np.concatenate([sums + value, sums - value])
    return float(np.mean(np.abs(sums) >= least))


def _drawn_sign_flips(values: np.ndarray, least: float) -> float:
    reached = np.count_nonzero(np.abs(_signs(len(values)) @ values) >= least)
    return float(reached + 1) / (_DRAWS + 1)  # the signs that were seen are one of the draws, so that p is never 0


@lru_cache(maxsize=4)  # a table has many tests of as many seeds
def _signs(n: int) -> np.ndarray:
    return np.random.default_rng(0).choice([-1.0, 1.0], size=(_DRAWS, n))


def seeds_needed(comparisons: int = 1) -> int:
    """The fewest seeds with which the sign-flip test can reach `LEVEL` after Holm: six for one comparison.

    With fewer no difference, however large, would ever be called significant, so no p-value is given at all.
    """
    return math.ceil(1 + math.log2(max(comparisons, 1) / LEVEL))


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for their number by Holm's method, in the order in which they came."""
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda place: p_values[place])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = largest
    return corrected
