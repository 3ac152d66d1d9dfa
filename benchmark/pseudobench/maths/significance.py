"""Statistics of few seeds: intervals, a paired test, its correction for many pairs, and letters. Pure functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import combinations

import numpy as np
from scipy import special  # scipy.stats takes half a second to import

#: What counts as significant.
LEVEL = 0.05
#: The fewest pairs with which a sign-flip test can reach `LEVEL`: 2 / 2^6 is 3.1 %, 2 / 2^5 is 6.3 %.
SEEDS_NEEDED = 6
#: Up to this many seeds every choice of signs is looked at.
EXACT = 16
_DRAWS = 20_000
#: Multiplications at a time: few enough to stay in a core's cache. From about here on numpy's library would wake
#: threads for each of them, which wait for more by spinning.
_CHUNK = 1 << 18
_TIE = 1e-9  # equal sums come out in different orders


@dataclass(frozen=True)
class Mean:
    """The mean of ``n`` values and half of its 95 % t interval (NaN where n is below 2)."""

    mean: float
    half: float
    n: int


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
def _t_quantile(freedom: float) -> float:
    return float(special.stdtrit(freedom, 0.975))


def half_over_seeds_and_samples(correct: np.ndarray, baseline: np.ndarray) -> float:
    """Half of the 95 % interval of a difference in accuracy, over seeds and over test samples.

    ``correct`` and ``baseline`` are bool [S, N]: whether the runs of S seeds were right on the same N test samples.
    Both seeds and samples are draws, so the variance of the mean difference is that of a crossed design with two random
    effects, (MS_seeds + MS_samples - MS_rest) / (S N), never below that of seeds alone; its degrees of freedom are
    Satterthwaite's. A bootstrap over both factors counts the rest three times and is too wide where that dominates.
    """
    differences = correct.astype(np.float64) - baseline
    seeds, samples = differences.shape
    mean = differences.mean()
    of_seeds = samples * np.square(differences.mean(axis=1) - mean).sum()
    of_samples = seeds * np.square(differences.mean(axis=0) - mean).sum()
    rest = max(np.square(differences - mean).sum() - of_seeds - of_samples, 0.0)
    freedoms = seeds - 1, samples - 1, (seeds - 1) * (samples - 1)
    squares = [float(each / freedom) for each, freedom in zip((of_seeds, of_samples, rest), freedoms, strict=True)]
    total = squares[0] + squares[1] - squares[2]
    if squares[1] <= squares[2]:  # samples add nothing that can be seen
        total, squares = squares[0], squares[:1]
    if total == 0:
        return 0.0
    freedom = total**2 / sum(each**2 / count for each, count in zip(squares, freedoms, strict=False))
    return _t_quantile(freedom) * math.sqrt(total / (seeds * samples))


def sign_flip_test(differences: Sequence[float]) -> float:
    """How often the mean is at least as far from zero if every difference has its sign by the toss of a coin.

    If two methods do the same, then within a seed either could have had either result, so this p-value is exact,
    whatever the distribution: it needs no normal differences, which five or ten seeds could not show. Its
    smallest value is 2 / 2^n (see `SEEDS_NEEDED`).
    """
    return float(_step_down(np.asarray(differences, dtype=np.float64)[None])[0])


def max_t(differences: np.ndarray) -> np.ndarray:
    """P-values of K paired comparisons, corrected for being made together: float [K].

    ``differences`` is float [K, S]: a row for each pair of arms, a column for each seed, NaN where a pair lacks a seed.
    NaN is also the p-value of a pair with fewer than `SEEDS_NEEDED` seeds; such a pair is no part of the correction.

    Westfall and Young's step-down procedure: a seed's sign is flipped for all pairs at once, so that the dependence
    between pairs is kept, and each statistic is compared with the largest among the pairs not yet found different. All
    2^(S-1) choices of signs are looked at for up to `EXACT` seeds, else `_DRAWS` from a fixed seed. The smallest
    p-value is 2 / 2^S, however many pairs there are. Exact where differences are symmetric about their mean.

    The statistic is |sum d| / sqrt(sum d^2 + m / 4), m the median of sum d^2 over pairs: between Student's t, which
    finds half as much with six seeds, as some pair's differences are nearly equal by chance, and the plain mean, which
    a noisy arm drowns. The denominator does not change with the signs, so any choice of it keeps the level.
    """
    p_values = np.full(len(differences), np.nan)
    tested = np.flatnonzero(np.isfinite(differences).sum(axis=1) >= SEEDS_NEEDED)
    if len(tested):
        p_values[tested] = _step_down(np.nan_to_num(differences[tested]))
    return p_values


def _step_down(held: np.ndarray) -> np.ndarray:
    """The procedure of `max_t` for float [K, S] without gaps."""
    held = held[:, np.any(held, axis=0)]  # a seed that no pair differs in changes nothing
    squares = np.square(held).sum(axis=1)
    scale = np.sqrt(squares + np.median(squares) / 4)
    scaled = held / np.where(scale > 0, scale, 1.0)[:, None]
    observed = np.abs(scaled.sum(axis=1))
    order = np.argsort(-observed, kind="stable")[::-1]  # the least first: the largest so far is what each is held to
    least = (observed - _TIE * np.abs(scaled).sum(axis=1))[order, None]
    scaled, signs = scaled[order], _signs(held.shape[1]).T
    reached = np.zeros(len(held))
    for start in range(0, signs.shape[1], step := max(_CHUNK // max(held.size, 1), 1)):
        statistics = np.abs(scaled @ signs[:, start : start + step])
        reached += np.count_nonzero(np.maximum.accumulate(statistics, axis=0) >= least, axis=1)
    p_values = np.empty(len(held))
    p_values[order[::-1]] = np.maximum.accumulate(reached[::-1] / signs.shape[1])
    return p_values


@lru_cache(maxsize=4)  # a table has many families of as many seeds
def _signs(seeds: int) -> np.ndarray:
    """Choices of signs, int8 [B, S], the first without a flip, so that no p-value is 0.

    Where all are looked at, the first seed is never flipped: all signs turned give the same statistics.
    """
    if seeds > EXACT:
        drawn = np.random.default_rng(0).integers(0, 2, size=(_DRAWS, seeds), dtype=np.int8)
        return np.concatenate([np.ones((1, seeds), dtype=np.int8), 1 - 2 * drawn])
    free = max(seeds - 1, 0)
    bits = np.arange(1 << free)[:, None] >> np.arange(free) & 1
    flips = np.concatenate([np.zeros((len(bits), seeds - free), dtype=bits.dtype), bits], axis=1)
    return (1 - 2 * flips).astype(np.int8)


def letters(different: np.ndarray) -> list[str]:
    """A compact letter display: two arms share a letter exactly if they were not found different.

    ``different`` is bool [A, A], symmetric; arms are best first, so that the letter a is the best one's. Insert and
    absorb (Piepho 2004): a group of arms that holds a different pair is split, and groups within others are dropped.
    """
    groups = [frozenset(range(len(different)))]
    for one, other in combinations(range(len(different)), 2):
        if different[one, other]:
            split = [part for group in groups for part in _without_either(group, one, other)]
            groups = [part for index, part in enumerate(split) if not _absorbed(part, index, split)]
    ordered = sorted(groups, key=sorted)
    return [
        "".join(_letter(index) for index, group in enumerate(ordered) if arm in group) for arm in range(len(different))
    ]


def _without_either(group: frozenset[int], one: int, other: int) -> list[frozenset[int]]:
    return [group - {one}, group - {other}] if {one, other} <= group else [group]


def _absorbed(part: frozenset[int], index: int, split: Sequence[frozenset[int]]) -> bool:
    """Whether another group holds all of this one; of equal ones the first stays."""
    return any(part < each or (part == each and before < index) for before, each in enumerate(split))


def _letter(index: int) -> str:
    """a to z, then a' and so on."""
    return chr(ord("a") + index % 26) + "'" * (index // 26)
