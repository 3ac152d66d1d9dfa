"""What is kept of a run's answers, so that new questions can be asked of old runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Predictions:
    """The last network's answers for the N test samples, as NumPy arrays.

    Single-label: ``predicted int64 [N]`` and ``probability float32 [N]``, the most probable class and its probability.
    Multi-label: ``predicted bool [N, C]`` and ``probability float32 [N, C]``. ``correct bool [N]``: every class right.
    Runs that were packed have lost their probabilities: these are NaN.
    """

    predicted: np.ndarray
    probability: np.ndarray
    correct: np.ndarray
