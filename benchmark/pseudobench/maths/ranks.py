"""Methods over several datasets: average ranks, Friedman's test and Nemenyi's critical difference."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

#: Fewer datasets can't carry a test of ranks.
DATASETS_NEEDED = 5


@dataclass(frozen=True)
class Ranks:
    """Average ranks float [K] of K methods, 1 the best, and what they show.

    ``p`` is Iman and Davenport's, of Friedman's ``statistic``: do the methods differ at all? Two methods are different
    at 5 % if their average ranks are further apart than ``critical``.
    """

    average: np.ndarray
    statistic: float
    p: float
    critical: float
    datasets: int


def rank(values: np.ndarray, higher_is_better: bool = True) -> Ranks:
    """``values`` is float [N, K]: N datasets, K methods. Formulas of Demsar (2006), sections 3.2.1 and 3.2.2."""
    from scipy import stats  # takes half a second

    datasets, methods = values.shape
    each = stats.rankdata(-values if higher_is_better else values, axis=1)
    average = each.mean(axis=0)
    spread = np.square(each - (methods + 1) / 2).sum()  # smaller where ranks are tied
    apart = np.square(each.sum(axis=0) - datasets * (methods + 1) / 2).sum()
    statistic = float((methods - 1) * apart / spread) if spread else 0.0
    left = datasets * (methods - 1) - statistic
    found = (datasets - 1) * statistic / left if left > 1e-9 else math.inf  # the same order on every dataset
    p = float(stats.f.sf(found, methods - 1, (methods - 1) * (datasets - 1)))
    quantile = float(stats.studentized_range.ppf(0.95, methods, np.inf)) / math.sqrt(2)
    return Ranks(average, statistic, p, quantile * math.sqrt(methods * (methods + 1) / (6 * datasets)), datasets)
