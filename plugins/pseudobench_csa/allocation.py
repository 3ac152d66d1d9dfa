"""Welch's test of the two best classes, and the allocation of samples to classes. N samples, C classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from scipy import stats

if TYPE_CHECKING:
    from torch import Tensor


def welch_p_values(mean: Tensor, deviation: Tensor, passes: int) -> Tensor:
    """Two-sided p-values ``[N]`` that the two classes with the largest ``mean [N, C]`` over passes are alike.

    ``deviation [N, C]`` is the unbiased one over the passes. Without any deviation, 1 for equal means and else 0.
    """
    means, best = mean.double().topk(2, dim=1)
    variances = deviation.double().gather(1, best) ** 2
    total = variances.sum(1)
    difference = means[:, 0] - means[:, 1]
    constant = total == 0
    t = difference / (total / passes).sqrt().where(~constant, 1)
    freedom = (total**2 / ((variances**2).sum(1) / (passes - 1))).where(~constant, 1)
    found = torch.from_numpy(2 * stats.t.sf(t.cpu().numpy(), freedom.cpu().numpy())).to(mean)
    return torch.where(constant, (difference == 0).to(mean), found)


def allocate(probs: Tensor, sure: Tensor, share: float, slack: float, regularizer: float) -> Tensor:
    """One class for some of the samples that are ``sure bool [N]``, as ``bool [N, C]``.

    Each class gets a ``share`` of a C-th of the samples, give or take ``slack`` of that: the samples that the transport
    gives most of their mass.
    """
    positive = torch.zeros_like(probs, dtype=torch.bool)
    count, classes = int(sure.sum()), probs.shape[1]
    if not count or share <= 0:
        return positive
    # A row of one more sample and a column of one more class take what lies between the bounds: w+ and w- of the paper.
    most, least = ((1 + sign * slack) * share * count / classes for sign in (1, -1))
    rows = probs.new_ones(count + 1, dtype=torch.float64)
    rows[-1] = (most - least) * classes
    columns = probs.new_full((classes + 1,), most, dtype=torch.float64)
    columns[-1] = count - least * classes
    cost = torch.zeros(count + 1, classes + 1, dtype=torch.float64)
    cost[:-1, :-1] = 1 - probs[sure].double()
    plan = sinkhorn(cost, rows, columns, regularizer)[:-1, :-1]
    mass, best = plan.max(1)
    for class_ in range(classes):
        own = (best == class_).nonzero()[:, 0]
        chosen = own[mass[own].argsort(descending=True, stable=True)[: int(most + 1e-9)]]
        positive[sure.nonzero()[chosen, 0], class_] = True
    return positive


def sinkhorn(cost: Tensor, rows: Tensor, columns: Tensor, regularizer: float, iterations: int = 100) -> Tensor:
    """The transport plan ``[n, m]`` with sums ``rows [n]`` and (to convergence) ``columns [m]``.

    It has the least cost less ``regularizer`` times its entropy (Cuturi 2013).
    """
    kernel = (-cost / regularizer).exp()
    left = torch.ones_like(rows)
    for _ in range(iterations):
        right = columns / (left @ kernel).clamp(min=1e-300)
        left = rows / (kernel @ right).clamp(min=1e-300)
    return left[:, None] * kernel * right
