"""Training steps, and the objectives that learn from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from pseudobench.contracts.datasets import SINGLE
from pseudobench.contracts.protocols import Component

if TYPE_CHECKING:
    import torch
    from torch import Tensor


@dataclass(frozen=True)
class Step:
    """The batch of one training step: B samples with labels or pseudo-labels, and U plain samples of the pool.

    ``inputs [B, ...]`` are the network's inputs, augmented by the recipe; ``positive`` and ``negative bool [B, C]``,
    ``weight float [B]`` and ``target float [B, C]`` are as in a `Selection`; a labeled sample has its true class as
    positive, weight 1 and a hard target. ``views`` are the inputs ``[U, ...]`` of the same U samples of the pool, one
    entry for each that the objective names; ``pool int64 [U]`` says which samples they are, counted from 0;
    samples held out for calibration are seen too, without labels, and counted after the pool.

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


class Objective(Component, Protocol):
    """How a network learns in a step. Network, optimizer, schedule and the flow of samples are the harness's.

    All but ``loss`` is optional. ``views = ("weak", "strong")`` asks for plain samples of the pool, each seen in the
    ways named: ``weak`` is shifted (and mirrored where that is harmless), ``strong`` has RandAugment and a hole on top.
    ``ratio`` (a parameter, property or class variable; 1 unless said) is their number for each sample of the batch,
    FixMatch's mu. An objective with views works on images alone, unless it says ``needs_images = False``: of a vector
    the weak view is the vector itself, the strong one has Gaussian noise of half of each feature's deviation.

    ``start(context, pool)`` gives the state that the training begins with, tensors by name, for ``pool`` samples of
    the pool. ``loss`` may replace these tensors in ``state`` by others of the same shape and type, without gradient; an
    interrupted training goes on with the state it had.
    """

    def loss(self, step: Step, forward: Callable[[Tensor], Tensor], state: dict[str, Tensor]) -> Tensor:
        """The scalar to minimize. ``forward`` is the network in training: inputs ``[n, ...]`` to logits ``[n, C]``."""
        ...
