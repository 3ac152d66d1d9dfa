"""Datasets, splits, and the part of a dataset that a run may know.

N is a number of samples, C the number of classes. Torch is not imported here at run time, so that plugins can be
listed without waiting for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pseudobench.base.hashing import digest
from pseudobench.contracts.checks import check_tensor
from pseudobench.errors import PluginError

if TYPE_CHECKING:
    from torch import Tensor

#: The tasks: each sample has one class, or any number of them.
SINGLE, MULTI = "single-label", "multi-label"
#: The kinds of samples.
IMAGES, VECTORS = "images", "vectors"


@dataclass(frozen=True)
class Samples:
    """Samples without labels: images ``uint8 [N, channels, H, W]``, or vectors ``float32 [N, F]``."""

    tensor: Tensor

    def __len__(self) -> int:
        return len(self.tensor)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one sample: ``(channels, H, W)``, or ``(F,)``."""
        return tuple(self.tensor.shape[1:])

    @property
    def are_vectors(self) -> bool:
        """Whether the samples are vectors instead of images."""
        return self.tensor.ndim == 2

    @cached_property
    def digest(self) -> str:
        """A hash of all samples."""
        return digest(self.tensor)

    @cached_property
    def moments(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Mean and standard deviation of each channel (pixels in [0, 1]) or feature."""
        if self.are_vectors:
            return _feature_moments(self.tensor)
        found = [_pixel_moments(channel) for channel in self.tensor.unbind(1)]
        return tuple(mean for mean, _ in found), tuple(deviation for _, deviation in found)


def _feature_moments(vectors: Tensor) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation of each of F features of ``float32 [N, F]``, in double precision.

    A thousand rows at once: whole columns lie far apart in memory, and a copy of everything would be twice as large.
    """
    parts = [vectors[start : start + 1024] for start in range(0, len(vectors), 1024)]
    zero = vectors.new_zeros(vectors.shape[1]).double()
    mean = sum((part.double().sum(0) for part in parts), zero) / len(vectors)
    squares = sum((((part.double() - mean) ** 2).sum(0) for part in parts), zero)
    return tuple(mean.tolist()), tuple((squares / (len(vectors) - 1)).sqrt().tolist())


def _pixel_moments(channel: Tensor) -> tuple[float, float]:
    """Mean and standard deviation of a channel; pixels are counted by value, which needs no memory."""
    counts = channel.flatten().bincount(minlength=256).double()
    values = counts.new_tensor(range(256)) / 255
    mean = float((counts * values).sum() / counts.sum())
    return mean, math.sqrt(float((counts * (values - mean) ** 2).sum() / (counts.sum() - 1)))


@dataclass(frozen=True)
class Split:
    """Disjoint indices into the training samples: labeled, held out for calibration, unlabeled."""

    labeled: tuple[int, ...]
    calibration: tuple[int, ...]
    unlabeled: tuple[int, ...]
    digest: str

    def __post_init__(self) -> None:
        parts = (self.labeled, self.calibration, self.unlabeled)
        if len(set().union(*parts)) != sum(map(len, parts)):
            raise ValueError("the parts of a split must be disjoint")


@dataclass(frozen=True)
class Dataset:
    """Images ``uint8 [N, channels, H, W]`` in memory and labels ``int64 [N]``, for training and for testing.

    Vectors ``float32 [N, F]`` can stand in place of the images: data without pixels, or a frozen backbone's features.
    Where a sample can have any number of classes, labels are ``bool [N, C]``. ``flip`` says whether a mirrored image
    keeps its class.
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
                check_tensor(self, f"{part}_images", images, (len(labels), None), "float")
            else:
                check_tensor(self, f"{part}_images", images, (len(labels), None, None, None), "uint8")
            if labels.ndim == 2:
                check_tensor(self, f"{part}_labels", labels, (len(images), self.classes), "bool")
            else:
                check_tensor(self, f"{part}_labels", labels, (len(images),), "int64")

    @cached_property
    def train(self) -> Samples:
        """The training samples without their labels."""
        return Samples(self.train_images)

    @cached_property
    def test(self) -> Samples:
        """The test samples without their labels."""
        return Samples(self.test_images)

    @property
    def task(self) -> str:
        """`SINGLE` or `MULTI`."""
        return SINGLE if self.train_labels.ndim == 1 else MULTI

    @property
    def strata(self) -> list[int]:
        """The groups that a split draws from equally: the classes; one group where a sample can have several."""
        return strata_of(self.train_labels)

    def known_to(self, split: Split) -> RunData:
        """The part of this dataset that a run with this split may know."""
        import torch

        known = torch.tensor(sorted((*split.labeled, *split.calibration)), dtype=torch.int64)
        return RunData(
            self.name, self.classes, self.task, self.flip, self.train, self.test, split, known, self.train_labels[known]
        )


def strata_of(labels: Tensor) -> list[int]:
    """The group of each sample: its class ``int64 [n]``; one group for all of ``bool [n, C]``."""
    found: list[int] = labels.tolist() if labels.ndim == 1 else [0] * len(labels)
    return found


@dataclass(frozen=True)
class RunData:
    """What a run may know: all samples, and the labels of its labeled and calibration samples.

    There is no way from here to the labels of the pool or of the test set. ``known int64 [n]`` are the indices of the
    training samples whose ``labels`` are known, in rising order.
    """

    name: str
    classes: int
    task: str
    flip: bool
    train: Samples
    test: Samples
    split: Split
    known: Tensor
    labels: Tensor

    def samples(self, indices: Sequence[int]) -> Tensor:
        """Training samples by index."""
        return self.train.tensor[list(indices)]

    def labels_of(self, indices: Sequence[int]) -> Tensor:
        """Labels of training samples by index; raises for a sample of the pool."""
        positions = {index: position for position, index in enumerate(self.known.tolist())}
        try:
            return self.labels[[positions[index] for index in indices]]
        except KeyError as error:
            raise PluginError(f"the label of training sample {error} is not known to this run") from None

    @property
    def pool(self) -> Tensor:
        """The unlabeled samples."""
        return self.samples(self.split.unlabeled)
