"""Fashion-MNIST in torchvision's layout."""

from __future__ import annotations

from pathlib import Path

import torch
from torchvision.datasets import FashionMNIST

from pseudobench import BenchError, Dataset


def load_fashion(name: str, data_dir: Path) -> Dataset:
    """The dataset from ``data_dir``, downloaded through torchvision if it is not there."""
    try:
        parts = [FashionMNIST(str(data_dir), train=train, download=True) for train in (True, False)]
    except (OSError, RuntimeError, ValueError, AssertionError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        folder = data_dir / "FashionMNIST" / "raw"
        wanted = ", ".join(file.removesuffix(".gz") for file, _ in FashionMNIST.resources)
        raise BenchError(
            f"{name} can't be read or downloaded ({reason}); put its files into {folder}: {wanted}"
        ) from None
    train, test = ((part.data[:, None].contiguous(), part.targets.to(torch.int64)) for part in parts)
    return Dataset(name, 10, *train, *test, flip=True)
