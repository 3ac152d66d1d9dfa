"""Random class probabilities, and labels drawn from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    import numpy as np


def softmax(rng: np.random.Generator, n: int, classes: int, sharpness: float = 2.0) -> torch.Tensor:
    return torch.from_numpy(rng.normal(size=(n, classes)) * sharpness).softmax(1)


def sample_labels(rng: np.random.Generator, probs: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy((probs.cumsum(1).numpy() < rng.random((len(probs), 1))).sum(1)).clamp(
        max=probs.shape[1] - 1
    )
