"""Losses of a batch: ``logits [B, C]``, selected classes ``positive`` and ``negative bool [B, C]``, to a scalar."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn import functional

if TYPE_CHECKING:
    from torch import Tensor

_SMALLEST = 1e-7  # keeps log(1 - p) finite when p rounds to one


def positive_cross_entropy(logits: Tensor, positive: Tensor) -> Tensor:
    """Mean over samples of ``-log`` of the total probability of the positives.

    With one positive per sample this is the ordinary cross-entropy. Several positives are candidates for one label:
    the loss is low as soon as one of them is probable.
    """
    log_probs = functional.log_softmax(logits, dim=1)
    return -log_probs.masked_fill(~positive, -torch.inf).logsumexp(1).mean()


def negative_cross_entropy(logits: Tensor, negative: Tensor) -> Tensor:
    """Eq. 5, mean over samples: ``-1/s sum_c g_c (1 - y_c) log(1 - p_c)``, s the sample's number of negatives."""
    absent = (1 - logits.softmax(1)).clamp(min=_SMALLEST)
    return -((absent.log() * negative).sum(1) / negative.sum(1)).mean()


def binary_cross_entropy(logits: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """Eq. 6, mean over samples: binary cross-entropy of the selected classes, divided by their number."""
    selected = positive | negative
    terms = functional.binary_cross_entropy_with_logits(logits, positive.to(logits.dtype), reduction="none")
    return ((terms * selected).sum(1) / selected.sum(1)).mean()


def single_label_loss(logits: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """Cross-entropy of the samples with positives, plus Eq. 5 of the samples with negatives only."""
    has_positive = positive.any(1)
    loss = logits.new_zeros(())
    if bool(has_positive.any()):
        loss = loss + positive_cross_entropy(logits[has_positive], positive[has_positive])
    if not bool(has_positive.all()):
        loss = loss + negative_cross_entropy(logits[~has_positive], negative[~has_positive])
    return loss
