"""What a network is trained on, and the order in which samples come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from pseudobench.contracts.datasets import MULTI, SINGLE

if TYPE_CHECKING:
    from torch import Generator, Tensor


@dataclass(frozen=True)
class TrainingSet:
    """Which of the images ``uint8 [N, channels, H, W]`` to train on, and what is known of those.

    ``rows int64 [M]``, ``positive`` and ``negative bool [M, C]``, and where a selection has them ``weight float [M]``
    and ``target float [M, C]``. ``pool int64 [P]`` are the rows of the pool. The images are not copied.
    """

    images: Tensor
    rows: Tensor
    positive: Tensor
    negative: Tensor
    task: str = SINGLE
    weight: Tensor | None = None
    target: Tensor | None = None
    pool: Tensor | None = None

    @property
    def leading(self) -> Tensor:
        """Which samples others are matched with, ``bool [M]``: those with a positive; of several classes, all."""
        return self.positive.any(1) | (self.task == MULTI)

    @property
    def known(self) -> tuple[Tensor, ...]:
        """The tensors that say which samples are trained on, and how."""
        return tuple(
            part for part in (self.rows, self.positive, self.negative, self.weight, self.target) if part is not None
        )


def pass_length(data: TrainingSet) -> int:
    """Samples in one pass: those with positives are repeated to match those with negatives alone (as in UPS)."""
    positives = int(data.leading.sum())
    return max(positives, len(data.positive) - positives) + len(data.positive) - positives


class Stream:
    """Row indices of batch after batch, ``int64 [batch_size]``, pass after pass without end.

    ``leading bool [M]`` are the samples that are repeated to match the others.
    """

    def __init__(self, leading: Tensor, batch_size: int, generator: Generator) -> None:
        self._positives, self._negatives = leading.nonzero()[:, 0], (~leading).nonzero()[:, 0]
        self._batch_size, self._generator = batch_size, generator
        self.waiting = torch.empty(0, dtype=torch.int64)

    def __next__(self) -> Tensor:
        while len(self.waiting) < self._batch_size:
            self.waiting = torch.cat([self.waiting, self._pass()])
        rows, self.waiting = self.waiting[: self._batch_size], self.waiting[self._batch_size :]
        return rows

    def _pass(self) -> Tensor:
        """Each sample once, and those with positives again until there are as many as those without."""
        count = len(self._positives)
        wanted = max(count, len(self._negatives))
        repeats = [torch.randperm(count, generator=self._generator) for _ in range(-(-wanted // count))]
        once = torch.cat([self._positives[torch.cat(repeats)[:wanted]], self._negatives])
        return once[torch.randperm(len(once), generator=self._generator)]
