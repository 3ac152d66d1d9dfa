"""Frozen data that passes between the stages. Shapes are checked on construction.

N is the number of samples in the pool, C the number of classes. Torch is not imported here at run time, so
that plugins can be listed without waiting for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pseudobench.errors import PluginError
from pseudobench.seeds import derive_seed

if TYPE_CHECKING:
    import torch
    from torch import Tensor


#: The tasks: each sample has one class, or any number of them.
SINGLE, MULTI = "single-label", "multi-label"


def _check(owner: object, name: str, tensor: Tensor, shape: tuple[int | None, ...], kind: str) -> None:
    """Raise unless ``tensor`` has this shape (None: any length) and kind (``bool``, ``float`` or ``int``)."""
    where = f"{type(owner).__name__}.{name}"
    actual = tuple(tensor.shape)
    fits = len(actual) == len(shape) and all(e in (None, a) for e, a in zip(shape, actual, strict=True))
    if not fits:
        wanted = ", ".join("any" if n is None else str(n) for n in shape)
        raise PluginError(f"{where} must have shape [{wanted}], not {list(actual)}")
    dtype = str(tensor.dtype).removeprefix("torch.")
    if not (dtype == kind if kind == "bool" else dtype.startswith(kind)):
        raise PluginError(f"{where} must hold {kind} values, not {dtype}")
    if kind == "float" and not bool(tensor.isfinite().all()):
        raise PluginError(f"{where} holds NaN or infinite values")


@dataclass(frozen=True)
class Dataset:
    """Images ``uint8 [N, channels, H, W]`` in memory and labels ``int64 [N]``, for training and for testing.

    Where a sample can have any number of classes, labels are ``bool [N, C]``. ``flip`` says whether a mirrored
    image still is of its class. Where a backbone is frozen, its features ``float32 [N, F]`` stand in place of images.
    """

    name: str
    classes: int
    train_images: Tensor
    train_labels: Tensor
    test_images: Tensor
    test_labels: Tensor
    flip: bool = False

    def __post_init__(self) -> None:
        for part in ("train", "test"):
            images, labels = getattr(self, f"{part}_images"), getattr(self, f"{part}_labels")
            if images.ndim == 2:
                _check(self, f"{part}_images", images, (len(labels), None), "float")
            else:
                _check(self, f"{part}_images", images, (len(labels), None, None, None), "uint8")
            if labels.ndim == 2:
                _check(self, f"{part}_labels", labels, (len(images), self.classes), "bool")
            else:
                _check(self, f"{part}_labels", labels, (len(images),), "int64")

    @property
    def task(self) -> str:
        """Whether a sample has one class or any number of them."""
        return SINGLE if self.train_labels.ndim == 1 else MULTI

    @property
    def strata(self) -> list[int]:
        """What splits are to hold equally many of: the classes, or nothing where a sample can have several."""
        labels: list[int] = self.train_labels.tolist()
        return labels if self.task == SINGLE else [0] * len(labels)

    @cached_property
    def digest(self) -> str:
        """A hash of all training images."""
        from pseudobench.cache import digest

        return digest(self.train_images)

    @cached_property
    def moments(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Mean and standard deviation of each channel (pixels in [0, 1]) or feature of the training images."""
        found = [_moments(channel) for channel in self.train_images.unbind(1)]
        return tuple(mean for mean, _ in found), tuple(deviation for _, deviation in found)


def _moments(channel: Tensor) -> tuple[float, float]:
    """Mean and standard deviation; of pixels by counting each of their 256 values, which needs no memory."""
    if channel.ndim == 1:
        return float(channel.double().mean()), float(channel.double().std())
    counts = channel.flatten().bincount(minlength=256).double()
    values = counts.new_tensor(range(256)) / 255
    mean = float((counts * values).sum() / counts.sum())
    return mean, math.sqrt(float((counts * (values - mean) ** 2).sum() / (counts.sum() - 1)))


@dataclass(frozen=True)
class Split:
    """Who is labeled, held out for calibration, and unlabeled: disjoint indices into the training images."""

    labeled: tuple[int, ...]
    calibration: tuple[int, ...]
    unlabeled: tuple[int, ...]
    digest: str

    def __post_init__(self) -> None:
        parts = (self.labeled, self.calibration, self.unlabeled)
        if len(set().union(*parts)) != sum(map(len, parts)):
            raise ValueError("the parts of a split must be disjoint")


@dataclass(frozen=True)
class Estimate:
    """What an estimator says of the pool: ``probs [N, C]`` and their ``uncertainty [N, C]``.

    ``negative`` is the estimate that rules for negative labels read, where that differs: UPS softens the
    network's outputs with a temperature of 2 for them.
    """

    probs: Tensor
    uncertainty: Tensor
    negative: Estimate | None = None

    def __post_init__(self) -> None:
        _check(self, "probs", self.probs, (None, None), "float")
        _check(self, "uncertainty", self.uncertainty, tuple(self.probs.shape), "float")
        if self.negative is not None:
            _check(self, "negative", self.negative.probs, tuple(self.probs.shape), "float")

    @property
    def for_negatives(self) -> Estimate:
        """The estimate to decide on negatives with."""
        return self.negative or self


@dataclass(frozen=True)
class PredictionSets:
    """Conformal sets of the pool: ``mask [N, C]``, and the ``probs [N, C]`` they were built from.

    ``tau`` is the threshold of Eq. 1; NaN where there is no single one (cross-conformal sets).
    """

    mask: Tensor
    probs: Tensor
    tau: float = math.nan

    def __post_init__(self) -> None:
        _check(self, "mask", self.mask, (None, None), "bool")
        _check(self, "probs", self.probs, tuple(self.mask.shape), "float")

    @property
    def sizes(self) -> Tensor:
        """How many classes each set holds, ``int64 [N]``."""
        return self.mask.sum(1)


@dataclass(frozen=True)
class PseudoLabels:
    """The pseudo-label of every sample as a binary vector, ``target bool [N, C]``; a row may be empty."""

    target: Tensor

    def __post_init__(self) -> None:
        _check(self, "target", self.target, (None, None), "bool")


@dataclass(frozen=True)
class Selection:
    """Which pseudo-labels to train on: ``positive`` and ``negative``, ``bool [N, C]``, never both.

    The vector g of Eq. 4 is ``positive | negative``; the pseudo-label it selects is 1 in ``positive`` and
    0 in ``negative``.
    """

    positive: Tensor
    negative: Tensor

    def __post_init__(self) -> None:
        _check(self, "positive", self.positive, (None, None), "bool")
        _check(self, "negative", self.negative, tuple(self.positive.shape), "bool")
        if bool((self.positive & self.negative).any()):
            raise PluginError("Selection holds a class as both positive and negative")

    @property
    def count(self) -> int:
        """How many pseudo-labels are selected: the sum of g over samples and classes."""
        return int(self.positive.sum()) + int(self.negative.sum())


@dataclass(frozen=True)
class Context:
    """What every stage may know besides its inputs: where in the run it is, and its own randomness."""

    seed: int
    round: int
    rounds: int
    classes: int
    task: str = SINGLE

    def activate(self, logits: Tensor) -> Tensor:
        """Probabilities of logits ``[..., C]``: of one class out of C, or of each class by itself."""
        return logits.sigmoid() if self.task == MULTI else logits.softmax(-1)

    def seed_for(self, use: str) -> int:
        """A seed for the use called ``use`` in this round of this run."""
        return derive_seed(self.seed, use, self.round)

    def generator(self, use: str) -> torch.Generator:
        """A generator on the CPU for the use called ``use`` in this round of this run."""
        import torch

        return torch.Generator().manual_seed(self.seed_for(use))
