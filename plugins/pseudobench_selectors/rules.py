"""Tensor maths of the selection rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor


def most_confident(probs: Tensor, target: Tensor, count: int) -> Tensor:
    """``target bool [N, C]`` of the ``count`` samples with the most probable labels; of equals, the first."""
    return _keep(target, probs.masked_fill(~target, -1).amax(1).argsort(descending=True, stable=True)[:count])


def most_certain(probs: Tensor, uncertainty: Tensor, target: Tensor, count: int) -> Tensor:
    """``target bool [N, C]`` of the ``count`` samples with the least uncertain labels; of equals, the most probable.

    Sizes of sets are equal for many samples, so that their order alone would depend on the order of the pool.
    """
    by_confidence = probs.masked_fill(~target, -1).amax(1).argsort(descending=True, stable=True)
    least = uncertainty.masked_fill(~target, torch.inf).amin(1)[by_confidence]
    return _keep(target, by_confidence[least.argsort(stable=True)[:count]])


def _keep(target: Tensor, samples: Tensor) -> Tensor:
    """``target bool [N, C]`` with the labels of these ``samples int64 [n]`` alone."""
    keep = torch.zeros(len(target), dtype=torch.bool, device=target.device)
    keep[samples] = True
    return target & keep[:, None]


def top_per_class(probs: Tensor, target: Tensor, count: int) -> Tensor:
    """``target bool [N, C]``, of each class only the ``count`` samples with the largest probability."""
    order = probs.masked_fill(~target, -1).argsort(dim=0, descending=True, stable=True)[:count]
    return target & torch.zeros_like(target).scatter_(0, order, torch.ones_like(order, dtype=torch.bool))


def flexible_thresholds(probs: Tensor, tau: float) -> Tensor:
    """FlexMatch's threshold of each class, ``[C]``, with its warm-up and its convex mapping.

    A class's learning status x is its number of confident samples, divided by that of the class with the most, or by
    the number of unconfident samples if larger (warm-up). The threshold is ``tau x / (2 - x)``, which rises slowly.
    """
    confident, top = probs.max(1)
    counts = torch.bincount(top[confident >= tau], minlength=probs.shape[1]).to(probs.dtype)
    unused = len(probs) - counts.sum()
    learned = counts / torch.maximum(counts.max(), unused).clamp(min=1)
    return tau * learned / (2 - learned)


def self_adaptive_thresholds(probs: Tensor) -> Tensor:
    """FreeMatch's threshold of each class, ``[C]``: the mean confidence, times the class's mean probability.

    The mean probabilities are divided by the largest of them. The pool's own means take the place of moving averages.
    """
    if not len(probs):
        return probs.new_zeros(probs.shape[1])
    mean = probs.mean(0)
    return probs.amax(1).mean() * mean / mean.amax()


def bounded_error_thresholds(probs: Tensor, truth: Tensor, error: float, deviations: float, least: int) -> Tensor:
    """PabLO's threshold of each class, ``[C]``, from calibration points with ``probs [n, C]`` and ``truth int64 [n]``.

    It is the lowest confidence t of a point predicted as the class such that, of the m points predicted as it with a
    confidence of t or more, m is at least ``least`` and their share e of errors keeps ``e + deviations sqrt(e (1 - e) /
    m) <= error``; infinite if there is none.
    """
    confidence, label = probs.max(1)
    found = probs.new_full((probs.shape[1],), torch.inf)
    for class_ in range(probs.shape[1]):
        own = label == class_
        above = (confidence[own] >= confidence[own][:, None]).double()  # [t, point]
        count = above.sum(1)
        wrong = above @ (truth[own] != class_).double() / count
        bound = wrong + deviations * (wrong * (1 - wrong) / count).sqrt()
        good = confidence[own][(count >= least) & (bound <= error)]
        if len(good):
            found[class_] = good.min()
    return found
