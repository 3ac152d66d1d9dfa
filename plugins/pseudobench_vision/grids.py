"""Samples with several classes, made of a dataset whose samples have one: grids of 2 x 2 images."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from pseudobench import Dataset, shuffled

if TYPE_CHECKING:
    from torch import Tensor


def load_grid(name: str, data: Dataset) -> Dataset:
    """Grids of a dataset's images; training and test images are never mixed.

    Each image is used once: a grid that is labeled, or held out for calibration, has nothing in common with the pool.
    A grid may be flipped if its images may: a mirrored grid shows mirrored images.
    """
    train, test = (
        _grids(images, labels, data.classes, shuffled(range(len(labels)), name, part))
        for part, images, labels in (
            ("train", data.train_images, data.train_labels),
            ("test", data.test_images, data.test_labels),
        )
    )
    return Dataset(name, data.classes, *train, *test, flip=data.flip)


def _grids(images: Tensor, labels: Tensor, classes: int, order: list[int]) -> tuple[Tensor, Tensor]:
    """Four consecutive images each, ``uint8 [N, channels, 2H, 2W]``, and the classes in each, ``bool [N, C]``."""
    fours = torch.tensor(order[: len(order) // 4 * 4]).view(-1, 4)
    upper, lower = (torch.cat([images[fours[:, place]], images[fours[:, place + 1]]], -1) for place in (0, 2))
    present = torch.nn.functional.one_hot(labels[fours], classes).any(1)
    return torch.cat([upper, lower], -2), present
