"""Tensor maths of labelers and selectors, for plugins."""

from pseudobench.maths.selection import (
    argmax_mask,
    balance,
    confident_negatives,
    confident_positives,
    either,
    outside,
)

__all__ = ["argmax_mask", "balance", "confident_negatives", "confident_positives", "either", "outside"]
