"""What is measured of predictions: pure functions of tensors, giving plain numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
    return _binned(confidence, predicted == labels)


def _binned(confidence: Tensor, right: Tensor) -> dict[str, list[float]]:
    """The bins of ``confidence`` and of whether it was ``right``, both of any one shape ``[n]``."""
    bins = ((confidence * BINS).ceil().long() - 1).clamp(0, BINS - 1)
    count = torch.bincount(bins, minlength=BINS).double()
    hits = torch.bincount(bins, weights=right.double(), minlength=BINS)
    total = torch.bincount(bins, weights=confidence, minlength=BINS)
    filled = count.clamp(min=1)
    return {
        "count": count.tolist(),
        "confidence": (total / filled).tolist(),
        "accuracy": (hits / filled).tolist(),
    }


def multi_label(logits: Tensor, labels: Tensor) -> dict[str, Any]:
    """What is measured of ``logits [N, C]`` against ``labels bool [N, C]``; a class counts as predicted from 0.5 on.

    Mean average precision is over the classes that some sample has. Reliability is of every class of every sample:
    how often what was predicted of it is so.
    """
    from sklearn.metrics import average_precision_score, f1_score

    probs, predicted = logits.double().sigmoid(), logits >= 0
    known = labels.any(0)
    precision = average_precision_score(labels[:, known].numpy(), probs[:, known].numpy(), average="macro")
    f1 = {
        f"f1_{kind}": float(f1_score(labels.numpy(), predicted.numpy(), average=kind, zero_division=0))
        for kind in ("micro", "macro")
    }
    bins = _binned(torch.maximum(probs, 1 - probs).flatten(), (predicted == labels).flatten())
    return {
        "map": float(precision),
        **f1,
        "exact_match": float((predicted == labels).all(1).double().mean()),
        "nll": float(functional.binary_cross_entropy_with_logits(logits.double(), labels.double())),
        "ece": expected_calibration_error(bins),
        "reliability": bins,
    }


def coverage(sets: Tensor, truth: Tensor) -> dict[str, Any]:
    """How often sets ``bool [N, C]`` hold all of the ``truth bool [N, C]``: over all, by class, and by size.

    By class it is the share of those who have a class whose set holds it. ``by_size`` has a pair for each size from 0
    to C: how many sets, and how many of them cover.
    """
    covered = (sets | ~truth).all(1)
    sizes, classes = sets.sum(1), sets.shape[1]
    counts = torch.bincount(sizes, minlength=classes + 1)
    hits = torch.bincount(sizes[covered], minlength=classes + 1)
    return {
        "coverage": float(covered.double().mean()),
        "class_coverage": [share(sets[:, place], truth[:, place]) for place in range(classes)],
        "by_size": torch.stack([counts, hits], 1).tolist(),
    }


def expected_calibration_error(bins: dict[str, list[float]]) -> float:
    """ECE: the gap between confidence and accuracy, averaged over the bins by how many samples they hold."""
    gaps = zip(bins["count"], bins["confidence"], bins["accuracy"], strict=True)
    return sum(n * abs(c - a) for n, c, a in gaps) / max(sum(bins["count"]), 1)


def share(hits: Tensor, among: Tensor) -> float | None:
    """Share of the places marked in ``among`` that are also marked in ``hits``; None where none is marked."""
    total = int(among.sum())
    return int((hits & among).sum()) / total if total else None
