"""Tensor maths of conformal prediction: scores, thresholds, sets. No network, no files.

A RAPS set is a prefix of the ranking, because the score of Eq. 2 never falls from one rank to the next. So
sorted probabilities alone decide its size, and the mask follows by comparing with the last value inside.
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
    """The rank of Eq. 1, ``ceil((n+1)(1-alpha))``; larger than ``n`` where no finite threshold covers.

    Exact: ``10 * (1 - 0.7)`` is above 3 in floating point, and its ceiling would be one rank too high.
    """
    return math.ceil((n + 1) * (1 - Fraction(str(alpha))))


def conformal_threshold(scores: Tensor, alpha: float) -> float:
    """Eq. 1: the order statistic of the calibration ``scores [n]`` that covers; infinite if n is too small."""
    rank = conformal_rank(len(scores), alpha)
    return math.inf if rank > len(scores) else float(scores.sort().values[rank - 1])


def ranks(probs: Tensor, labels: Tensor) -> Tensor:
    """Rank (from 0) of each sample's label among ``probs [n, C]``; ties go to the lower class index."""
    own = probs.gather(1, labels[:, None])
    earlier = torch.arange(probs.shape[1], device=probs.device) < labels[:, None]
    return ((probs > own) | ((probs == own) & earlier)).sum(1)


def class_ranks(probs: Tensor) -> Tensor:
    """The rank (from 0) of every class among ``probs [n, C]``, ``int64 [n, C]``; ties go to the lower index."""
    order = probs.sort(dim=1, descending=True, stable=True).indices
    places = torch.arange(probs.shape[1], device=probs.device).expand_as(order)
    return torch.empty_like(order).scatter_(1, order, places)


def ranked_scores(probs: Tensor, u: Tensor, lam: float, k_reg: int, ranks_: int | None = None) -> tuple[Tensor, Tensor]:
    """Eq. 2 by rank: the probabilities from high to low and the score at each rank, both ``[n, C]``.

    With ``ranks_`` of so many ranks, the first.

    The score at rank o (from 1) is the mass before it, plus ``u`` times its own, plus the penalty
    ``lam * (o - k_reg)^+``.
    """
    values = _rising(probs, ranks_).flip(1)
    scores = u[:, None] * values
    scores[:, 1:] += values.cumsum(1)[:, :-1]
    order = torch.arange(1, values.shape[1] + 1, device=probs.device, dtype=probs.dtype)
    scores += lam * (order - k_reg).clamp(min=0)
    return values, scores


def _rising(probs: Tensor, largest: int | None = None) -> Tensor:
    """Each row from low to high, or its ``largest`` alone, ``[n, C]`` or ``[n, largest]``.

    On the CPU by NumPy, which sorts values alone several times faster than torch.
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
    """Eq. 2's score of each sample's own label, ``[n]``: what calibration takes the quantile of."""
    return by_rows(lambda p, y, draws: _label_scores(p, y, draws, lam, k_reg), probs, labels, u)


def _label_scores(probs: Tensor, labels: Tensor, u: Tensor, lam: float, k_reg: int) -> Tensor:
    rising, own = _rising(probs), probs.gather(1, labels[:, None])
    rank = probs.shape[1] - torch.searchsorted(rising, own, right=True)  # how many are larger
    tied = (probs.shape[1] - torch.searchsorted(rising, own) > rank + 1)[:, 0]
    if bool(tied.any()):
        rank[tied] = ranks(probs[tied], labels[tied])[:, None]
    mass = rising.flip(1).cumsum(1).gather(1, (rank - 1).clamp(min=0))
    before = mass.masked_fill(rank == 0, 0.0)
    # In the order of `ranked_scores`, to the last bit: a point must be in the set that its own score is the edge of.
    return (u[:, None] * own + before + lam * (rank + 1 - k_reg).clamp(min=0).to(probs.dtype))[:, 0]


def own_scores(scores: Tensor, labels: Tensor) -> Tensor:
    """The score of each sample's label, ``[n]``, from those of all classes ``[n, C]``.

    Of several labels, ``bool [n, C]``, it is the largest: a threshold at or above it has them all inside. A sample
    without a label is inside any set.
    """
    if labels.ndim == 1:
        return scores.gather(1, labels[:, None])[:, 0]
    return scores.masked_fill(~labels, -math.inf).amax(1)


def class_scores(probs: Tensor, u: Tensor, lam: float, k_reg: int) -> Tensor:
    """Eq. 2's score of every class, ``[n, C]`` in class order."""
    order = probs.sort(dim=1, descending=True, stable=True).indices
    _, scores = ranked_scores(probs, u, lam, k_reg)
    return torch.empty_like(scores).scatter_(1, order, scores)


def set_mask(probs: Tensor, u: Tensor, tau: float, lam: float, k_reg: int) -> Tensor:
    """Eq. 2: the classes whose score is at most ``tau``, ``bool [n, C]``. Sets may be empty."""
    return by_rows(lambda p, draws: _set_mask(p, draws, tau, lam, k_reg), probs, u)


def _set_mask(probs: Tensor, u: Tensor, tau: float, lam: float, k_reg: int) -> Tensor:
    # The penalty alone is above tau from some rank on: what is ranked there is of no interest.
    ranks_ = classes = probs.shape[1]
    if lam > 0:
        ranks_ = min(classes, k_reg + int(min(max(tau, 0.0) / lam, classes)) + 2)
    values, scores = ranked_scores(probs, u, lam, k_reg, ranks_)
    size = torch.searchsorted(scores, scores.new_full((len(scores), 1), tau), right=True)
    last = values.gather(1, (size - 1).clamp(min=0)).masked_fill(size == 0, math.inf)
    mask = probs >= last
    tied = ((values.gather(1, size.clamp(max=ranks_ - 1)) == last) & (size < ranks_))[:, 0]
    if bool(tied.any()):  # equal probabilities at the edge: the lower class indices are inside, as in `ranks`
        mask[tied] = _first(probs[tied], size[tied])
    return mask


def _first(probs: Tensor, size: Tensor) -> Tensor:
    """Mask of the first ``size [n, 1]`` classes of a stable ranking of ``probs [n, C]``."""
    order = probs.sort(dim=1, descending=True, stable=True).indices
    inside = torch.arange(probs.shape[1], device=probs.device) < size
    return torch.zeros_like(inside).scatter_(1, order, inside)


def cross_mask(calibration: Sequence[Tensor], pool: Sequence[Tensor], alpha: float) -> Tensor:
    """Cross-conformal sets (CV+; Romano, Sesia and Candes 2020, section 2.3), ``bool [N, C]``.

    ``calibration[k] [n_k]`` are the scores of fold k's labels, ``pool[k] [N, C]`` those of every class of the
    pool, both by the network that was not trained on fold k. A class is inside unless too many calibration
    scores lie below its own. With one fold this is Eq. 1 and Eq. 2.
    """
    n = sum(len(scores) for scores in calibration)
    below = torch.zeros(pool[0].shape, dtype=torch.int64, device=pool[0].device)
    for own, others in zip(calibration, pool, strict=True):
        below += torch.searchsorted(own.sort().values, others.contiguous(), side="left")
    return below < conformal_rank(n, alpha)
