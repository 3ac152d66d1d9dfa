"""A training step as an objective sees it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pseudobench.contracts.datasets import SINGLE

if TYPE_CHECKING:
    import torch
    from torch import Tensor


@dataclass(frozen=True)
class Step:
    """The batch of one training step: B samples with labels or pseudo-labels, and U plain samples of the pool.

    ``inputs [B, ...]`` are the network's inputs, augmented by the recipe; ``positive`` and ``negative bool [B, C]``,
    ``weight float [B]`` and ``target float [B, C]`` are as in a `Selection`; a labeled sample has its true class as
    positive, weight 1 and a hard target. ``views`` are the inputs ``[U, ...]`` of the same U samples of the pool, one
    entry for each that the objective names; ``pool int64 [U]`` says which samples they are, counted from 0.

    ``progress`` is the share of the training that is done, in [0, 1). ``generator`` (on the CPU) is for random draws;
    dropout has a stream of its own.
    """

    inputs: Tensor
    positive: Tensor
    negative: Tensor
    generator: torch.Generator = field(compare=False)
    weight: Tensor | None = None
    target: Tensor | None = None
    views: tuple[Tensor, ...] = ()
    pool: Tensor | None = None
    progress: float = 0.0
    task: str = SINGLE
