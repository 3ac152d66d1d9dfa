"""Mean and deviation over stochastic passes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import torch

from pseudobench import Estimate

if TYPE_CHECKING:
    from torch import Tensor


def moments(logits: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and unbiased standard deviation ``[B, C]`` of the probabilities over the passes of ``[passes, B, C]``."""
    probs = logits.softmax(-1)
    deviation = probs.std(0) if probs.shape[1] else probs.sum(0)  # of no samples torch would warn
    return probs.mean(0), deviation


def estimate_from_samples(samples: Iterable[Tensor], negative_temperature: float) -> Estimate:
    """Batches of ``[passes, B, C]`` as one estimate of the pool, with the softened one for negatives."""
    plain, soft = [], []
    for logits in samples:
        plain.append(moments(logits))
        soft.append(moments(logits / negative_temperature))
    (probs, deviation), (soft_probs, soft_deviation) = (
        [torch.cat(parts) for parts in zip(*both, strict=True)] for both in (plain, soft)
    )
    return Estimate(probs, deviation, Estimate(soft_probs, soft_deviation))
