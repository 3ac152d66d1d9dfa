"""A folder of images, one folder per class: how users bring their own data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from pseudobench import BenchError, Dataset
from pseudobench_vision.listing import Label, Listing
from pseudobench_vision.pictures import read_picture


def load_folder(name: str, listing: Listing[Label]) -> Dataset:
    """Every image as RGB, in the order of the listing; all must have one size."""
    first: list[tuple[Path, tuple[int, ...]]] = []
    train, test = (
        (_read(files, first), _labels([label for _, label in files], len(listing.classes)))
        for files in (listing.train, listing.test)
    )
    return Dataset(name, len(listing.classes), *train, *test, flip=True)


def _labels(labels: list[Label], classes: int) -> Tensor:
    """``int64 [N]``, or for several classes of a sample ``bool [N, C]``."""
    if isinstance(labels[0], int):
        return torch.tensor(labels, dtype=torch.int64)
    present = torch.zeros(len(labels), classes, dtype=torch.bool)
    for place, own in enumerate(labels):
        present[place, list(own)] = True
    return present


def _read(files: list[tuple[Path, Label]], first: list[tuple[Path, tuple[int, ...]]]) -> Tensor:
    """Images ``uint8 [N, 3, H, W]``; ``first`` remembers the first image and its shape."""
    images = []
    for path, _ in files:
        pixels = read_picture(path)
        if not first:
            first.append((path, pixels.shape))
        if pixels.shape != first[0][1]:
            sizes = [f"{where} is {shape[1]} x {shape[0]}" for where, shape in (first[0], (path, pixels.shape))]
            raise BenchError(f"images must all be of one size: {', '.join(sizes)}; resize them first")
        images.append(pixels)
    return torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2).contiguous()
