"""Fitting the temperature of Platt scaling, to convergence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import Tensor

#: Bounds of the temperature. A fit that ends at a bound has no optimum between them.
LOWEST, HIGHEST = 0.05, 20.0


@dataclass(frozen=True)
class Temperature:
    """Divides logits by a temperature."""

    temperature: float

    @property
    def numbers(self) -> Mapping[str, float]:
        """For the record: the temperature."""
        return {"temperature": self.temperature}

    def __call__(self, logits: Tensor) -> Tensor:
        """Scaled logits, for logits of any shape."""
        return logits / self.temperature


def fit_temperature(logits: Tensor, labels: Tensor, *, smoothing: bool) -> Temperature:
    """The temperature with the least negative log-likelihood of ``labels [n]`` under ``logits [n, C]``.

    The loss ``logsumexp(b z) - b z_target`` is convex in the inverse temperature b, so its slope has one root, found by
    bisection. With ``smoothing`` the targets are Platt's (1999): with n points the true class weighs (n+1)/(n+2), and
    the other classes share the rest. Without it there is no finite optimum if every point is predicted right.
    """
    z = logits.double()
    if labels.ndim == 2:
        return _fit_each(z, labels, smoothing=smoothing)
    z = z - z.mean(1, keepdim=True)
    own = z.gather(1, labels[:, None])[:, 0]
    weight = (len(z) + 1) / (len(z) + 2) if smoothing else 1.0
    others = (z.sum(1) - own) / (z.shape[1] - 1)
    target = float((weight * own + (1 - weight) * others).mean())

    return _root(lambda inverse: float(((z * inverse).softmax(1) * z).sum(1).mean()) - target)


def _fit_each(z: Tensor, labels: Tensor, *, smoothing: bool) -> Temperature:
    """The same for labels ``bool [n, C]``: one temperature for the logistic losses of all classes.

    Smoothed targets are exactly Platt's: (p+1)/(p+2) for the p present labels, 1/(q+2) for the q absent ones.
    """
    present = int(labels.sum())
    there = (present + 1) / (present + 2) if smoothing else 1.0
    absent = 1 / (labels.numel() - present + 2) if smoothing else 0.0
    target = float((z * (labels * (there - absent) + absent)).mean())
    return _root(lambda inverse: float(((z * inverse).sigmoid() * z).mean()) - target)


def _root(slope: Callable[[float], float]) -> Temperature:
    """The temperature at whose inverse the increasing ``slope`` is zero, or the bound nearest to it."""
    low, high = math.log(1 / HIGHEST), math.log(1 / LOWEST)
    if slope(math.exp(low)) >= 0:
        return Temperature(HIGHEST)
    if slope(math.exp(high)) <= 0:
        return Temperature(LOWEST)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(math.exp(middle)) < 0 else (low, middle)
    return Temperature(math.exp(-(low + high) / 2))
