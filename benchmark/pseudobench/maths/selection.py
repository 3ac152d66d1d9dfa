"""Tensor maths shared by labelers and selectors. Probabilities, targets and masks are ``[N, C]``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from pseudobench.contracts.datasets import MULTI, SINGLE
from pseudobench.contracts.values import Selection

if TYPE_CHECKING:
    from torch import Tensor

    from pseudobench.contracts.values import Estimate, PredictionSets


def argmax_mask(probs: Tensor) -> Tensor:
    """One-hot mask of each row's largest probability, ``bool [N, C]``; ties go to the lower class index."""
    return torch.zeros_like(probs, dtype=torch.bool).scatter_(1, probs.argmax(1, keepdim=True), True)


def confident_positives(estimate: Estimate, target: Tensor, tau_p: float, kappa_p: float) -> Tensor:
    """First term of Eq. 4: classes with pseudo-label 1 that are probable and certain, ``bool [N, C]``."""
    return target & (estimate.probs >= tau_p) & (estimate.uncertainty <= kappa_p)


def confident_negatives(
    estimate: Estimate, target: Tensor, tau_n: float, kappa_n: float, *, task: str = SINGLE
) -> Tensor:
    """Second term of Eq. 4: classes with pseudo-label 0 that are improbable and certain, ``bool [N, C]``.

    In the single-label task a sample's most probable class is never a negative, even if the labeler left it out.
    """
    low = estimate.for_negatives
    sure = (low.probs <= tau_n) & (low.uncertainty <= kappa_n) & ~target
    return sure if task == MULTI else sure & ~argmax_mask(estimate.probs)


def outside(sets: PredictionSets, estimate: Estimate, *, task: str = SINGLE) -> Tensor:
    """The classes outside each sample's set, ``bool [N, C]``; in the single-label task never its most probable class.

    An empty set rules no class out: RAPS leaves sets of very confident samples empty, not of samples that fit no class.
    """
    beyond = ~sets.mask & sets.mask.any(1, keepdim=True)
    return beyond if task == MULTI else beyond & ~argmax_mask(estimate.probs)


def balance(positive: Tensor, estimate: Estimate, floor: int) -> Tensor:
    """Keep of each class only as many positives as the rarest class has, but at least ``floor``; the surest stay.

    The surest are the least uncertain and, at equal uncertainty (common with set sizes), the most probable.
    """
    counts = positive.sum(0)
    keep = max(floor, int(counts.min()))
    rows, classes = positive.nonzero(as_tuple=True)
    # Sort by class, then uncertainty, then probability: only the positives, which are far fewer than N x C.
    order = estimate.probs[positive].sort(descending=True, stable=True).indices
    order = order[estimate.uncertainty[positive][order].sort(stable=True).indices]
    order = order[classes[order].sort(stable=True).indices]
    first = counts.cumsum(0) - counts
    position = torch.arange(len(order), device=order.device) - first[classes[order]]
    kept = order[position < keep]
    return torch.zeros_like(positive).index_put_((rows[kept], classes[kept]), positive.new_ones(()))


def either(positive: Tensor, negative: Tensor) -> Selection:
    """The selection in which a sample has either positives or, without any, negatives."""
    return Selection(positive, negative & ~positive.any(1, keepdim=True))


def share_changed(before: Selection, now: Selection) -> float:
    """Share of the positive labels in either selection that are not in both; 0 if both are empty.

    Where neither has a positive label, of the negative ones: they are what is trained on then.
    """
    pairs = ((before.positive, now.positive), (before.negative, now.negative))
    last, this = next((pair for pair in pairs if bool((pair[0] | pair[1]).any())), pairs[0])
    either_one = int((last | this).sum())
    return int((last ^ this).sum()) / either_one if either_one else 0.0
