"""Frozen values that pass between the stages of a round. Shapes are checked on construction.

N is the number of samples in the pool, C the number of classes. Torch is not imported here at run time, so that
plugins can be listed without waiting for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pseudobench.base.seeds import derive_seed
from pseudobench.contracts.checks import check_tensor
from pseudobench.contracts.datasets import MULTI, SINGLE
from pseudobench.errors import PluginError

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from pseudobench.contracts.pools import Fold, Pool


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimator's answer for the pool: ``probs [N, C]`` and their ``uncertainty [N, C]``.

    ``negative`` is the estimate for rules about negative labels, where it differs: UPS softens the network's outputs
    with a temperature of 2 for them.
    """

    probs: Tensor
    uncertainty: Tensor
    negative: Estimate | None = None

    def __post_init__(self) -> None:
        check_tensor(self, "probs", self.probs, (None, None), "float")
        check_tensor(self, "uncertainty", self.uncertainty, self.shape, "float")
        if self.negative is not None:
            check_tensor(self, "negative", self.negative.probs, self.shape, "float")

    @property
    def shape(self) -> tuple[int, ...]:
        """``(N, C)``."""
        return tuple(self.probs.shape)

    @property
    def for_negatives(self) -> Estimate:
        """The estimate to decide on negatives with."""
        return self.negative or self


@dataclass(frozen=True, slots=True)
class PredictionSets:
    """Conformal sets of the pool: ``mask [N, C]``, and the ``probs [N, C]`` they were built from.

    ``tau`` is the threshold of Eq. 1; NaN where there is no single one (cross-conformal sets).
    """

    mask: Tensor
    probs: Tensor
    tau: float = math.nan

    def __post_init__(self) -> None:
        check_tensor(self, "mask", self.mask, (None, None), "bool")
        check_tensor(self, "probs", self.probs, self.shape, "float")

    @property
    def shape(self) -> tuple[int, ...]:
        """``(N, C)``."""
        return tuple(self.mask.shape)

    @property
    def sizes(self) -> Tensor:
        """The number of classes in each set, ``int64 [N]``."""
        return self.mask.sum(1)


@dataclass(frozen=True, slots=True)
class PseudoLabels:
    """The pseudo-label of every sample as a binary vector, ``target bool [N, C]``; a row may be empty."""

    target: Tensor

    def __post_init__(self) -> None:
        check_tensor(self, "target", self.target, (None, None), "bool")

    @property
    def shape(self) -> tuple[int, ...]:
        """``(N, C)``."""
        return tuple(self.target.shape)


@dataclass(frozen=True, slots=True)
class Selection:
    """The pseudo-labels to train on: ``positive`` and ``negative``, ``bool [N, C]``, never both.

    The vector g of Eq. 4 is ``positive | negative``; the pseudo-label it selects is 1 in ``positive`` and 0 in
    ``negative``. A sample without either is not trained on.

    ``weight float [N]``, at least 0, multiplies the loss of each sample (None: 1 for all, as for labeled samples). The
    mean of a batch still divides by its number of samples: a sample of weight 0 counts, and teaches nothing.

    ``target float [N, C]`` in [0, 1] are soft labels (None: hard ones). Single-label: a sample with a positive learns
    the distribution ``target[i]``, which sums to 1; rows of other samples are ignored. Multi-label: ``target[i, c]``
    stands in for the 1 or 0 of each selected class; other classes are ignored.
    """

    positive: Tensor
    negative: Tensor
    weight: Tensor | None = None
    target: Tensor | None = None

    def __post_init__(self) -> None:
        check_tensor(self, "positive", self.positive, (None, None), "bool")
        check_tensor(self, "negative", self.negative, self.shape, "bool")
        if bool((self.positive & self.negative).any()):
            raise PluginError("Selection holds a class as both positive and negative")
        if self.weight is not None:
            check_tensor(self, "weight", self.weight, self.shape[:1], "float")
            if bool((self.weight < 0).any()):
                raise PluginError("Selection.weight holds values below 0")
        if self.target is not None:
            check_tensor(self, "target", self.target, self.shape, "float")
            if bool(((self.target < 0) | (self.target > 1)).any()):
                raise PluginError("Selection.target holds values outside [0, 1]")

    def check_target(self, task: str) -> None:
        """Raise unless the soft labels that are trained on are distributions; of several classes, none need be."""
        if self.target is None or task == MULTI:
            return
        sums = self.target[self.positive.any(1)].double().sum(1)
        if bool(((sums - 1).abs() > 1e-3).any()):
            raise PluginError("Selection.target must sum to 1 over the classes of each sample with a positive")

    @property
    def shape(self) -> tuple[int, ...]:
        """``(N, C)``."""
        return tuple(self.positive.shape)


@dataclass(frozen=True)
class Context:
    """What every stage may know besides its inputs: its position in the run, and its own randomness.

    ``calibration`` are the calibration points as set predictors get them, for an estimator, labeler or selector that
    says ``needs_calibration = True``; None for all others.
    """

    seed: int
    round: int
    rounds: int
    classes: int
    task: str = SINGLE
    calibration: Sequence[Fold[Pool]] | None = field(default=None, compare=False, repr=False)

    def activate(self, logits: Tensor) -> Tensor:
        """Probabilities for logits ``[..., C]``: over the C classes, or of each class by itself."""
        return logits.sigmoid() if self.task == MULTI else logits.softmax(-1)

    def seed_for(self, use: str) -> int:
        """A seed for the use called ``use`` in this round of this run."""
        return derive_seed(self.seed, use, self.round)

    def generator(self, use: str) -> torch.Generator:
        """A generator on the CPU for the use called ``use`` in this round of this run."""
        import torch

        return torch.Generator().manual_seed(self.seed_for(use))
