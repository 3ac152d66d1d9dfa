"""Tensor maths of conformal prediction: scores, thresholds, sets. n is the number of samples, C of classes.

The score of Eq. 2 never falls from one rank to the next, so a RAPS set is a prefix of the ranking. Its size follows
from the sorted probabilities alone, and its members are the classes at least as probable as the last one inside.
Therefore `label_scores` and `set_mask` sort values; the order of classes, which is slower to get, decides ties only.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import torch

from pseudobench.base.threads import by_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


def conformal_rank(n: int, alpha: float) -> int:
    """The rank of Eq. 1, ``ceil((n+1)(1-alpha))``; above ``n`` if the points are too few for a finite threshold.

    Computed in fractions: in floating point ``10 * (1 - 0.7)`` is above 3, and its ceiling one rank too high.
    """
    return math.ceil((n + 1) * (1 - Fraction(str(alpha))))


def conformal_threshold(scores: Tensor, alpha: float) -> float:
    """Eq. 1: the order statistic of the calibration ``scores [n]`` at `conformal_rank`; infinite above rank n."""
    rank = conformal_rank(len(scores), alpha)
    return math.inf if rank > len(scores) else float(scores.sort().values[rank - 1])


def ranks(probs: Tensor, labels: Tensor) -> Tensor:
    """Rank (from 0) of the ``labels [n]`` among ``probs [n, C]``, ``int64 [n]``; ties go to the lower class index."""
    own = probs.gather(1, labels[:, None])
    earlier = torch.arange(probs.shape[1], device=probs.device) < labels[:, None]
    return ((probs > own) | ((probs == own) & earlier)).sum(1)


def class_ranks(probs: Tensor) -> Tensor:
    """Rank (from 0) of every class among ``probs [n, C]``, ``int64 [n, C]``; ties go to the lower class index."""
    order = probs.sort(dim=1, descending=True, stable=True).indices
    positions = torch.arange(probs.shape[1], device=probs.device).expand_as(order)
    return torch.empty_like(order).scatter_(1, order, positions)


def ranked_scores(probs: Tensor, u: Tensor, lam: float, k_reg: int, ranks_: int | None = None) -> tuple[Tensor, Tensor]:
    """Eq. 2 by rank: the probabilities from high to low and the score at each rank, both ``[n, C]``.

    ``ranks_`` limits the result to the first ranks, ``[n, ranks_]``. ``u [n]`` are the random draws.

    The score at rank o (from 1) is the probability mass before it, plus ``u`` times its own probability, plus the
    penalty ``lam * (o - k_reg)^+``.
    """
    values = _rising(probs, ranks_).flip(1)
    scores = u[:, None] * values
    scores[:, 1:] += values.cumsum(1)[:, :-1]
    order = torch.arange(1, values.shape[1] + 1, device=probs.device, dtype=probs.dtype)
    scores += lam * (order - k_reg).clamp(min=0)
    return values, scores


def _rising(probs: Tensor, largest: int | None = None) -> Tensor:
    """Each row of ``probs`` sorted from low to high, ``[n, C]``; with ``largest`` only its top, ``[n, largest]``.

    NumPy does it on the CPU: it sorts values several times faster than torch, which also returns indices.
    """
    kept = largest or probs.shape[1]
    if probs.device.type != "cpu":
        return probs.sort(dim=1).values[:, -kept:]
    rows = np.array(probs.numpy())
    if 4 * kept < rows.shape[1]:
        rows.partition(-kept, axis=1)
        rows = rows[:, -kept:]
    rows.sort(axis=1)
    return torch.from_numpy(rows[:, -kept:])


def label_scores(probs: Tensor, labels: Tensor, u: Tensor, lam: float, k_reg: int) -> Tensor:
    """Eq. 2's score of each sample's label, ``[n]``; calibration takes the quantile of these."""
    return by_rows(lambda p, y, draws: _label_scores(p, y, draws, lam, k_reg), probs, labels, u)


def _label_scores(probs: Tensor, labels: Tensor, u: Tensor, lam: float, k_reg: int) -> Tensor:
    rising, own = _rising(probs), probs.gather(1, labels[:, None])
    rank = probs.shape[1] - torch.searchsorted(rising, own, right=True)  # number of larger ones
    tied = (probs.shape[1] - torch.searchsorted(rising, own) > rank + 1)[:, 0]
    if bool(tied.any()):
        rank[tied] = ranks(probs[tied], labels[tied])[:, None]
    mass = rising.flip(1).cumsum(1).gather(1, (rank - 1).clamp(min=0))
    before = mass.masked_fill(rank == 0, 0.0)
    # Summed in the order of `ranked_scores`, to the last bit: a threshold equal to a point's score must include it.
    return (u[:, None] * own + before + lam * (rank + 1 - k_reg).clamp(min=0).to(probs.dtype))[:, 0]


def own_scores(scores: Tensor, labels: Tensor) -> Tensor:
    """The score of each sample's label, ``[n]``, picked from the ``scores [n, C]`` of all classes.

    With several labels, ``bool [n, C]``, it is the largest of theirs: a threshold at or above it includes them all. A
    sample without a label scores minus infinity: every set covers it.
    """
    if labels.ndim == 1:
        return scores.gather(1, labels[:, None])[:, 0]
    return scores.masked_fill(~labels, -math.inf).amax(1)


def class_scores(probs: Tensor, u: Tensor, lam: float, k_reg: int) -> Tensor:
    """Eq. 2's score of every class, ``[n, C]``, in class order."""
    order = probs.sort(dim=1, descending=True, stable=True).indices
    _, scores = ranked_scores(probs, u, lam, k_reg)
    return torch.empty_like(scores).scatter_(1, order, scores)


def set_mask(probs: Tensor, u: Tensor, tau: float, lam: float, k_reg: int) -> Tensor:
    """Eq. 2: the classes whose score is at most ``tau``, ``bool [n, C]``. Sets may be empty."""
    return by_rows(lambda p, draws: _set_mask(p, draws, tau, lam, k_reg), probs, u)


def _set_mask(probs: Tensor, u: Tensor, tau: float, lam: float, k_reg: int) -> Tensor:
    # From some rank on the penalty alone exceeds tau: no class from there can be inside, so none is sorted.
    ranks_ = classes = probs.shape[1]
    if lam > 0:
        ranks_ = min(classes, k_reg + int(min(max(tau, 0.0) / lam, classes)) + 2)
    values, scores = ranked_scores(probs, u, lam, k_reg, ranks_)
    size = torch.searchsorted(scores, scores.new_full((len(scores), 1), tau), right=True)
    last = values.gather(1, (size - 1).clamp(min=0)).masked_fill(size == 0, math.inf)
    mask = probs >= last
    tied = ((values.gather(1, size.clamp(max=ranks_ - 1)) == last) & (size < ranks_))[:, 0]
    if bool(tied.any()):  # equal probabilities at the edge: the lower class indices go inside, as in `ranks`
        mask[tied] = _first(probs[tied], size[tied])
    return mask


def _first(probs: Tensor, size: Tensor) -> Tensor:
    """The first ``size [n, 1]`` classes of a stable ranking of ``probs [n, C]``, as ``bool [n, C]``."""
    order = probs.sort(dim=1, descending=True, stable=True).indices
    inside = torch.arange(probs.shape[1], device=probs.device) < size
    return torch.zeros_like(inside).scatter_(1, order, inside)


def cross_mask(calibration: Sequence[Tensor], pool: Sequence[Tensor], alpha: float) -> Tensor:
    """Cross-conformal sets (CV+; Romano, Sesia and Candes 2020, section 2.3), ``bool [N, C]``.

    ``calibration[k] [n_k]`` are the scores of fold k's labels, ``pool[k] [N, C]`` the scores of every class of every
    pool sample; both come from the network that was not trained on fold k. A class is inside the set unless at least
    `conformal_rank` of all calibration scores lie below its own score. With one fold this is Eq. 1 and Eq. 2.
    """
    n = sum(len(scores) for scores in calibration)
    below = torch.zeros(pool[0].shape, dtype=torch.int64, device=pool[0].device)
    for fold_scores, pool_scores in zip(calibration, pool, strict=True):
        below += torch.searchsorted(fold_scores.sort().values, pool_scores.contiguous(), side="left")
    return below < conformal_rank(n, alpha)
