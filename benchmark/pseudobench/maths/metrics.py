"""Measures of predictions, as plain numbers: accuracy, likelihood, calibration, coverage, multi-label scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

if TYPE_CHECKING:
    from torch import Tensor

BINS = 15


def accuracy(logits: Tensor, labels: Tensor) -> float:
    """Share of samples whose largest of ``logits [N, C]`` is that of their ``labels int64 [N]``."""
    return float((logits.argmax(1) == labels).double().mean())


def negative_log_likelihood(logits: Tensor, labels: Tensor) -> float:
    """Mean negative log-likelihood of ``labels int64 [N]`` under ``logits [N, C]``."""
    return float(functional.cross_entropy(logits.double(), labels))


def reliability(logits: Tensor, labels: Tensor) -> dict[str, list[float]]:
    """Number of samples, mean confidence and accuracy in each confidence bin: (0, 1/15], (1/15, 2/15], ..."""
    confidence, predicted = logits.double().softmax(1).max(1)
    return _binned(confidence, predicted == labels)


def _binned(confidence: Tensor, right: Tensor) -> dict[str, list[float]]:
    """The bins of predictions with ``confidence [n]``, of which ``right bool [n]`` were correct."""
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
    """All measures of ``logits [N, C]`` against ``labels bool [N, C]``; a class is predicted from probability 0.5 on.

    Mean average precision leaves out classes that no sample has. Reliability treats each class of each sample as one
    prediction, present or absent.
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
    """Share of ``sets bool [N, C]`` that hold all classes of ``truth bool [N, C]``: overall, by class, and by set size.

    ``class_coverage[c]`` is the share of samples of class c whose set holds c. ``by_size[s]`` is a pair for the set
    size s, 0 to C: the number of such sets, and the number of them that cover.
    """
    covered = (sets | ~truth).all(1)
    sizes, classes = sets.sum(1), sets.shape[1]
    counts = torch.bincount(sizes, minlength=classes + 1)
    hits = torch.bincount(sizes[covered], minlength=classes + 1)
    return {
        "coverage": float(covered.double().mean()),
        "class_coverage": [share(sets[:, index], truth[:, index]) for index in range(classes)],
        "by_size": torch.stack([counts, hits], 1).tolist(),
    }


def expected_calibration_error(bins: dict[str, list[float]]) -> float:
    """ECE: the gap between confidence and accuracy of a bin, averaged over bins weighted by their sample counts."""
    gaps = zip(bins["count"], bins["confidence"], bins["accuracy"], strict=True)
    return sum(n * abs(c - a) for n, c, a in gaps) / max(sum(bins["count"]), 1)


def share(hits: Tensor, among: Tensor) -> float | None:
    """Share of the true elements of ``among`` that are true in ``hits`` too (same shape); None if it has none."""
    total = int(among.sum())
    return int((hits & among).sum()) / total if total else None
