"""Small stand-ins for the arguments of stages: fixed random numbers in the shapes that real runs have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import torch

from pseudobench.contracts.datasets import MULTI, SINGLE, Dataset
from pseudobench.contracts.pools import Fold
from pseudobench.contracts.values import Context, Estimate, PredictionSets, PseudoLabels
from pseudobench.errors import PluginError

if TYPE_CHECKING:
    from torch import Tensor


class FakePool:
    """A pool of ``count`` samples and ``classes`` classes whose network is a table of random logits.

    It has the methods of `pseudobench.Pool` and nothing else: any other attribute, such as labels, is an error.
    """

    def __init__(self, count: int = 60, classes: int = 5, *, seed: int = 0, logits: Tensor | None = None) -> None:
        drawn = torch.randn(count, classes, generator=torch.Generator().manual_seed(seed)) * 2
        self._logits = drawn if logits is None else logits

    def __len__(self) -> int:
        return len(self._logits)

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        raise PluginError(
            f"a pool has no {name!r}: it gives len(), logits(), samples(passes, seed), views(count, seed), members(), "
            "features(), and no labels"
        )

    def logits(self) -> Tensor:
        """Always the same, ``float32 [N, C]``."""
        return self._logits

    def samples(self, passes: int, seed: int) -> Iterator[Tensor]:
        """The logits with noise that follows the seed, in batches of 32: ``[passes, B, C]`` each."""
        noise = torch.Generator().manual_seed(seed)
        for batch in torch.split(self._logits, 32):
            yield batch + 0.5 * torch.randn(passes, *batch.shape, generator=noise).to(batch)

    def views(self, count: int, seed: int) -> Iterator[Tensor]:
        """As `samples`, with other noise."""
        return self.samples(count, seed + 1)

    def features(self) -> Tensor:
        """Eight numbers for each sample that follow from its logits, ``float32 [N, 8]``."""
        mixed = torch.randn(self._logits.shape[1], 8, generator=torch.Generator().manual_seed(0))
        return self._logits @ mixed.to(self._logits)

    def members(self) -> list[FakePool]:
        """This pool, and two more whose logits differ a little."""
        drawn = (torch.randn(self._logits.shape, generator=torch.Generator().manual_seed(k)) for k in (1, 2))
        return [self, *(FakePool(logits=self._logits + noise.to(self._logits)) for noise in drawn)]


def fake_context(
    classes: int = 5,
    *,
    seed: int = 0,
    round_: int = 1,
    rounds: int = 3,
    task: str = SINGLE,
    calibration: Sequence[Fold[FakePool]] | None = None,
) -> Context:
    """The context of a stage; ``calibration``: folds such as `fake_folds`, for a stage that needs calibration."""
    return Context(seed=seed, round=round_, rounds=rounds, classes=classes, task=task, calibration=calibration)


def fake_estimate(pool: FakePool | None = None, task: str = SINGLE) -> Estimate:
    """Probabilities of a pool, and an uncertainty below 0.2."""
    logits = (FakePool() if pool is None else pool).logits()
    return Estimate(fake_context(task=task).activate(logits), 0.1 * (1 + logits.sin()))


def fake_labels(estimate: Estimate, task: str = SINGLE) -> PseudoLabels:
    """The most probable class of every sample; multi-label: every class with probability 0.5 or more."""
    from pseudobench.maths.selection import argmax_mask

    return PseudoLabels(estimate.probs >= 0.5 if task == MULTI else argmax_mask(estimate.probs))


def fake_sets(estimate: Estimate) -> PredictionSets:
    """Sets of the classes with probability 0.2 or more; a set can be empty."""
    return PredictionSets(estimate.probs >= 0.2, estimate.probs, tau=0.8)


def fake_folds(
    folds: int = 1, count: int = 60, classes: int = 5, *, rest: FakePool | None = None, task: str = SINGLE
) -> list[Fold[FakePool]]:
    """Folds of calibration points, with labels drawn from the network's probabilities, and the pool ``rest``."""
    made = []
    for fold in range(folds):
        pool = FakePool(count, classes, seed=100 + fold)
        generator = torch.Generator().manual_seed(fold)
        if task == MULTI:
            labels = torch.bernoulli(pool.logits().sigmoid(), generator=generator).bool()
        else:
            labels = torch.multinomial(pool.logits().softmax(1), 1, generator=generator)[:, 0]
        made.append(Fold(pool, labels, FakePool(40, classes) if rest is None else rest))
    return made


def fake_dataset(train: int = 60, test: int = 20, classes: int = 5, size: int = 8) -> Dataset:
    """Grey images of one shade for each class, with noise."""
    labels = torch.arange(train + test) % classes
    noise = torch.randint(0, 32, (len(labels), 1, size, size), generator=torch.Generator().manual_seed(0))
    images = ((labels * 255 // classes)[:, None, None, None] + noise).clamp(max=255).to(torch.uint8)
    return Dataset("fake", classes, images[:train], labels[:train], images[train:], labels[train:])
