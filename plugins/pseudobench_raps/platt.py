"""Fitting a temperature, solved to convergence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import Tensor

#: Temperatures are sought between these. A fit that ends at one of them says that the data set no limit.
LOWEST, HIGHEST = 0.05, 20.0


@dataclass(frozen=True)
class Temperature:
    """Divides logits by a temperature."""

    temperature: float

    @property
    def numbers(self) -> Mapping[str, float]:
        """What the record keeps."""
        return {"temperature": self.temperature}

    def __call__(self, logits: Tensor) -> Tensor:
        """Scaled logits, for logits of any shape."""
        return logits / self.temperature


def fit_temperature(logits: Tensor, labels: Tensor, *, smoothing: bool) -> Temperature:
    """The temperature with the least negative log-likelihood of ``labels [n]`` under ``logits [n, C]``.

    In the inverse temperature b the loss ``logsumexp(b z) - b z_target`` is convex, so its slope has one root,
    found by bisection. With ``smoothing`` the targets are Platt's (1999): with n points the true class counts
    (n+1)/(n+2) and the others share the rest. Without it a separable sample has no finite optimum.
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

    Platt's targets are then his own: (p+1)/(p+2) for the p labels that are there, 1/(q+2) for the q that are not.
    """
    present = int(labels.sum())
    there = (present + 1) / (present + 2) if smoothing else 1.0
    absent = 1 / (labels.numel() - present + 2) if smoothing else 0.0
    target = float((z * (labels * (there - absent) + absent)).mean())
    return _root(lambda inverse: float(((z * inverse).sigmoid() * z).mean()) - target)


def _root(slope: Callable[[float], float]) -> Temperature:
    """The temperature at whose inverse the rising ``slope`` is zero, or the nearest there is."""
    low, high = math.log(1 / HIGHEST), math.log(1 / LOWEST)
    if slope(math.exp(low)) >= 0:
        return Temperature(HIGHEST)
    if slope(math.exp(high)) <= 0:
        return Temperature(LOWEST)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(math.exp(middle)) < 0 else (low, middle)
    return Temperature(math.exp(-(low + high) / 2))
