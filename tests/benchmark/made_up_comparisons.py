"""Made-up accuracies of three methods, and comparing records of them."""

from __future__ import annotations

import numpy as np

from pseudobench.analysis.comparisons import compare_records

NOISE = np.random.default_rng(0).normal(0, 0.01, size=(3, 10))
UPS, PL, SUPERVISED = (0.9 + NOISE[0]).tolist(), (0.88 + NOISE[1]).tolist(), (0.895 + NOISE[2]).tolist()


def compare(registry, names, *groups, metric=None, family="all"):
    return compare_records([each for group in groups for each in group], names, metric, registry, family)
