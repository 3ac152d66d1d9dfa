"""Tensor maths of the uncertainty measures."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import torch

from pseudobench import Estimate

if TYPE_CHECKING:
    from torch import Tensor


def entropy(probs: Tensor) -> Tensor:
    """The entropy of each row of ``probs [..., C]`` over ``log C``, ``[...]``."""
    found: Tensor = torch.special.entr(probs).sum(-1) / math.log(probs.shape[-1])
    return found


def binary_entropy(probs: Tensor) -> Tensor:
    """The binary entropy of each class, present or absent, over ``log 2``, in the shape of ``probs``."""
    found: Tensor = (torch.special.entr(probs) + torch.special.entr(1 - probs)) / math.log(2)
    return found


def margin(probs: Tensor) -> Tensor:
    """The largest of ``probs [N, C]`` minus the second largest, ``[N]``."""
    top = probs.topk(2, dim=1).values
    return top[:, 0] - top[:, 1]


def mutual_information(logits: Tensor) -> tuple[Tensor, Tensor]:
    """Mean probabilities ``[B, C]`` over the passes of ``logits [passes, B, C]``, and BALD's score ``[B]``.

    The score is the entropy of the mean minus the mean of the entropies, over ``log C``.
    """
    probs = logits.softmax(-1)
    mean = probs.mean(0)
    return mean, (entropy(mean) - entropy(probs).mean(0)).clamp(min=0)  # rounding may give less than 0


def disagreement(samples: Iterable[Tensor]) -> Estimate:
    """BALD's estimate of the pool from batches of logits ``[passes, B, C]``."""
    found = [mutual_information(logits) for logits in samples]
    return per_sample(torch.cat([probs for probs, _ in found]), torch.cat([score for _, score in found]))


def per_sample(probs: Tensor, uncertainty: Tensor) -> Estimate:
    """An estimate with the same ``uncertainty [N]`` for all classes of a sample."""
    return Estimate(probs, uncertainty[:, None].expand_as(probs).contiguous())
