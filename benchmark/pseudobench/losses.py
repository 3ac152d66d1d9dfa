"""Losses of labels and pseudo-labels, for objectives of plugins."""

from pseudobench.maths.losses import (
    binary_cross_entropy,
    loss_of,
    negative_cross_entropy,
    positive_cross_entropy,
    single_label_loss,
)

__all__ = [
    "binary_cross_entropy",
    "loss_of",
    "negative_cross_entropy",
    "positive_cross_entropy",
    "single_label_loss",
]
