"""Tensor maths of estimators, for plugins."""

from pseudobench.maths.estimation import estimate_from_samples, moments

__all__ = ["estimate_from_samples", "moments"]
