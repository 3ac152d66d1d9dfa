"""What a network is trained on, and the order in which samples come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch

from pseudobench.contracts.datasets import MULTI, SINGLE

if TYPE_CHECKING:
    from torch import Generator, Tensor


@dataclass(frozen=True)
class TrainingSet:
    """Which of the images ``uint8 [N, channels, H, W]`` to train on, and what is known of those.

    ``rows int64 [M]``, ``positive`` and ``negative bool [M, C]``, and where a selection has them ``weight float [M]``
    and ``target float [M, C]``. ``pool int64 [P]`` are the rows of the pool. The first ``labeled`` of the M samples
    have true labels (None: all), the others pseudo-labels. The images are not copied.
    """

    images: Tensor
    rows: Tensor
    positive: Tensor
    negative: Tensor
    task: str = SINGLE
    weight: Tensor | None = None
    target: Tensor | None = None
    pool: Tensor | None = None
    labeled: int | None = None

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


@dataclass(frozen=True)
class Part:
    """Samples that take ``count`` places in each batch: ``rows int64 [n]``, in a new random order in each pass.

    ``repeated int64 [m]`` come as often as it takes to match the number of ``rows``, at least once.
    """

    count: int
    rows: Tensor
    repeated: Tensor = field(default_factory=lambda: torch.empty(0, dtype=torch.int64))

    @property
    def length(self) -> int:
        """Samples in one pass."""
        return len(self.rows) + (max(len(self.rows), len(self.repeated)) if len(self.repeated) else 0)

    def draw(self, generator: Generator) -> Tensor:
        """The order of one pass, ``int64 [length]``."""
        own, wanted = len(self.repeated), self.length - len(self.rows)
        repeats = [torch.randperm(own, generator=generator) for _ in range(-(-wanted // max(own, 1)))]
        once = torch.cat([self.repeated[torch.cat(repeats)[:wanted]], self.rows]) if own else self.rows
        return once[torch.randperm(len(once), generator=generator)]


def parts_of(data: TrainingSet, batch_size: int, batches: str = "mixed") -> tuple[Part, ...]:
    """What each batch is made of, by ``recipe.batches``.

    As in UPS's code, samples with a positive are repeated to match those with negatives alone, in ``mixed`` and
    ``ups``. ``half`` and ``beside`` keep labeled samples apart from pseudo-labels, so that no method sees less of the
    former because it has more of the latter.
    """
    with_positive, without = data.leading.nonzero()[:, 0], (~data.leading).nonzero()[:, 0]
    mixed = Part(batch_size, without, with_positive)
    if batches == "ups" and len(without):
        negatives = max(batch_size * len(without) // mixed.length, 1)
        repeats = -(-len(without) // len(with_positive))
        return Part(batch_size - negatives, with_positive.repeat(repeats)), Part(negatives, without)
    every = torch.arange(len(data.rows))
    labeled, selected = every[: data.labeled], every[len(every) if data.labeled is None else data.labeled :]
    if batches in ("half", "beside") and len(selected):
        halves = (batch_size, batch_size) if batches == "beside" else (batch_size - batch_size // 2, batch_size // 2)
        return Part(halves[0], labeled), Part(max(halves[1], 1), selected)
    return (mixed,)


def steps_in_pass(parts: Sequence[Part], batches: str = "mixed") -> int:
    """Steps until each sample has come once; UPS drops the last batch of a pass if it is not full."""
    if batches == "ups":
        return max(sum(part.length for part in parts) // sum(part.count for part in parts), 1)
    return max(-(-part.length // part.count) for part in parts)


class Stream:
    """Row indices of batch after batch, ``int64 [batch]``, pass after pass without end."""

    def __init__(self, parts: Sequence[Part], generator: Generator) -> None:
        self._parts, self._generator = parts, generator
        self._waiting = [torch.empty(0, dtype=torch.int64) for _ in parts]

    def __next__(self) -> Tensor:
        return torch.cat([self._take(position) for position in range(len(self._parts))])

    def _take(self, position: int) -> Tensor:
        part, waiting = self._parts[position], self._waiting[position]
        while len(waiting) < part.count:
            waiting = torch.cat([waiting, part.draw(self._generator)])
        self._waiting[position] = waiting[part.count :]
        return waiting[: part.count]

    def state(self, name: str) -> dict[str, Tensor]:
        """The rest of each part's pass, under names that begin with ``name``."""
        return {f"{name}/{position}": waiting for position, waiting in enumerate(self._waiting)}

    def restore(self, name: str, state: Mapping[str, Tensor]) -> None:
        """Go back to a state."""
        self._waiting = [state[f"{name}/{position}"] for position in range(len(self._parts))]
