"""Tensor maths of the selection rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor


def most_confident(probs: Tensor, target: Tensor, count: int) -> Tensor:
    """``target bool [N, C]`` of the ``count`` samples with the most probable labels; of equals, the first."""
    confidence = probs.masked_fill(~target, -1).amax(1)
    keep = torch.zeros_like(confidence, dtype=torch.bool)
    keep[confidence.argsort(descending=True, stable=True)[:count]] = True
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
