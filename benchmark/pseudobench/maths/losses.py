"""The losses. ``logits [B, C]``, ``positive`` and ``negative bool [B, C]``; each returns a scalar.

``weight [B]`` multiplies each sample's loss; the mean divides by the number of samples, whatever their weights.
``target [B, C]`` are soft labels in place of hard ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn import functional

from pseudobench.contracts.datasets import MULTI

if TYPE_CHECKING:
    from torch import Tensor

    from pseudobench.contracts.steps import Step

_SMALLEST = 1e-7  # log(1 - p) stays finite when p rounds to one


def positive_cross_entropy(
    logits: Tensor, positive: Tensor, weight: Tensor | None = None, target: Tensor | None = None
) -> Tensor:
    """Cross-entropy on positives, mean over samples: ``-log`` of the probability that falls on them.

    With one positive per sample it is the ordinary cross-entropy. With several it asks for one of them to
    be right, which is all that a set of candidates for one label says. With a ``target`` it is
    ``-sum_c target_c log p_c``, and which classes are positive has no say.
    """
    log_probs = functional.log_softmax(logits, dim=1)
    if target is None and bool((positive.sum(1) > 1).any()):
        return -_mean(log_probs.masked_fill(~positive, -torch.inf).logsumexp(1), weight)
    # With one positive the sum of logarithms is the same, in a tenth of the time.
    return -_mean((log_probs * (positive if target is None else target)).sum(1), weight)


def negative_cross_entropy(logits: Tensor, negative: Tensor, weight: Tensor | None = None) -> Tensor:
    """Eq. 5, mean over samples: ``-1/s sum_c g_c (1 - y_c) log(1 - p_c)`` with s the number selected."""
    others = (1 - logits.softmax(1)).clamp(min=_SMALLEST)
    return -_mean((others.log() * negative).sum(1) / negative.sum(1), weight)


def binary_cross_entropy(
    logits: Tensor,
    positive: Tensor,
    negative: Tensor,
    weight: Tensor | None = None,
    target: Tensor | None = None,
) -> Tensor:
    """Eq. 6, mean over samples: binary cross-entropy over the selected classes, divided by their number.

    With a ``target`` the label of a selected class is ``target_c`` in place of 1 (positive) or 0 (negative).
    """
    selected = positive | negative
    labels = positive.to(logits.dtype) if target is None else target
    terms = functional.binary_cross_entropy_with_logits(logits, labels, reduction="none")
    return _mean((terms * selected).sum(1) / selected.sum(1), weight)


def single_label_loss(
    logits: Tensor,
    positive: Tensor,
    negative: Tensor,
    weight: Tensor | None = None,
    target: Tensor | None = None,
) -> Tensor:
    """Cross-entropy over the samples that have positives, plus Eq. 5 over those that have only negatives.

    Each of the two is a mean over its own samples. A ``target`` concerns the first alone.
    """
    has_positive = positive.any(1)
    if bool(has_positive.all()):
        return positive_cross_entropy(logits, positive, weight, target)
    rest = ~has_positive
    loss = negative_cross_entropy(logits[rest], negative[rest], None if weight is None else weight[rest])
    if bool(rest.all()):
        return loss
    weight, target = (None if part is None else part[has_positive] for part in (weight, target))
    return positive_cross_entropy(logits[has_positive], positive[has_positive], weight, target) + loss


def loss_of(logits: Tensor, step: Step) -> Tensor:
    """The loss of a step's labels and pseudo-labels, by its task; ``logits [B, C]`` are those of its inputs."""
    loss = binary_cross_entropy if step.task == MULTI else single_label_loss
    return loss(logits, step.positive, step.negative, step.weight, step.target)


def _mean(losses: Tensor, weight: Tensor | None) -> Tensor:
    """The mean of ``losses [B]``, each times its weight."""
    return (losses if weight is None else losses * weight).mean()
