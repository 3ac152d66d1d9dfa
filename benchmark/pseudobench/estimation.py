"""Mean and deviation over several predictions of the same samples: passes with dropout, networks, or views."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import torch

from pseudobench.types import Estimate

if TYPE_CHECKING:
    from torch import Tensor


def moments(probs: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and unbiased standard deviation ``[B, C]`` over the passes of probabilities ``[passes, B, C]``."""
    deviation = probs.std(0) if probs.shape[1] else probs.sum(0)  # of no samples torch would warn
    return probs.mean(0), deviation


def estimate_from_samples(
    samples: Iterable[Tensor], negative_temperature: float, activate: Callable[[Tensor], Tensor]
) -> Estimate:
    """Batches of logits ``[passes, B, C]`` as one estimate of the pool, with the softened one for negatives.

    ``activate`` makes logits probabilities: `Context.activate`.
    """
    plain, soft = [], []
    for logits in samples:
        plain.append(moments(activate(logits)))
        soft.append(moments(activate(logits / negative_temperature)))
    (probs, deviation), (soft_probs, soft_deviation) = (
        [torch.cat(parts) for parts in zip(*both, strict=True)] for both in (plain, soft)
    )
    return Estimate(probs, deviation, Estimate(soft_probs, soft_deviation))
