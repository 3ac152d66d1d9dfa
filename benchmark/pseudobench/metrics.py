"""What is measured of predictions: pure functions of tensors, giving plain numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn import functional

if TYPE_CHECKING:
    from torch import Tensor

BINS = 15


def accuracy(logits: Tensor, labels: Tensor) -> float:
    """Share of samples whose largest logit is at their label."""
    return float((logits.argmax(1) == labels).double().mean())


def negative_log_likelihood(logits: Tensor, labels: Tensor) -> float:
    """Mean negative log-likelihood of the labels."""
    return float(functional.cross_entropy(logits.double(), labels))


def reliability(logits: Tensor, labels: Tensor) -> dict[str, list[float]]:
    """Per confidence bin ((0, 1/15], (1/15, 2/15], ...): how many samples, their mean confidence, accuracy."""
    confidence, predicted = logits.double().softmax(1).max(1)
    bins = ((confidence * BINS).ceil().long() - 1).clamp(0, BINS - 1)
    count = torch.bincount(bins, minlength=BINS).double()
    right = torch.bincount(bins, weights=(predicted == labels).double(), minlength=BINS)
    total = torch.bincount(bins, weights=confidence, minlength=BINS)
    filled = count.clamp(min=1)
    return {
        "count": count.tolist(),
        "confidence": (total / filled).tolist(),
        "accuracy": (right / filled).tolist(),
    }


def expected_calibration_error(bins: dict[str, list[float]]) -> float:
    """ECE: the gap between confidence and accuracy, averaged over the bins by how many samples they hold."""
    gaps = zip(bins["count"], bins["confidence"], bins["accuracy"], strict=True)
    return sum(n * abs(c - a) for n, c, a in gaps) / max(sum(bins["count"]), 1)


def share(hits: Tensor, among: Tensor) -> float | None:
    """Share of the places marked in ``among`` that are also marked in ``hits``; None where none is marked."""
    total = int(among.sum())
    return int((hits & among).sum()) / total if total else None
