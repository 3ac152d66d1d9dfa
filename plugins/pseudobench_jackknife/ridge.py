"""Ridge regression on features without each of its points in turn, in closed form.

n labeled points with F features and C classes. With ``Z = [X 1]`` and ``M = (Z'Z + penalty I)^-1`` the head's output
for ``z = [x 1]`` is ``g Y``, ``g = z M Z'``. Without point i it is ``g Y - g_i r_i``, where
``r_i = (Y - ZMZ'Y)_i / (1 - (ZMZ')_ii)`` is the error at point i of the head that was fitted without it. The 1 is a
constant feature: the intercept, penalized too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class RidgeHeads:
    """The n heads, each without one point: ``inputs [n, F + 1]``, ``inverse [F + 1, F + 1]`` (M), ``targets`` and
    ``errors [n, C]``.
    """

    inputs: Tensor
    inverse: Tensor
    targets: Tensor
    errors: Tensor

    @cached_property
    def own(self) -> Tensor:
        """The output for each point's own class by the head that was fitted without it, ``[n]``."""
        return ((self.targets - self.errors) * self.targets).sum(1)

    @cached_property
    def _errors_by_class(self) -> Tensor:
        """``errors``, with those of a class side by side in memory."""
        return self.errors.T.contiguous()

    def weights(self, features: Tensor) -> Tensor:
        """The weight of each point's target in the outputs for ``features [B, F]``, ``[B, n]``."""
        return _with_one(features.to(self.inputs)) @ self.inverse @ self.inputs.T

    def outputs(self, weights: Tensor) -> Tensor:
        """The outputs ``[B, C]`` of the head with all points, for samples with these ``weights [B, n]``."""
        return weights @ self.targets

    def reach(self, weights: Tensor) -> Tensor:
        """How far at most the output of any of the heads is from that of the head with all points, ``[B, C]``."""
        return weights.abs().amax(1, keepdim=True) * self.errors.abs().amax(0)

    def without(self, weights: Tensor, outputs: Tensor, classes: Tensor) -> Tensor:
        """The outputs of all heads, ``[K, n]``, for K samples and one class ``int64 [K]`` of each.

        ``weights [K, n]`` are the samples', ``outputs [K]`` those of the head with all points for the classes.
        """
        return torch.addcmul(outputs[:, None], weights, self._errors_by_class[classes], value=-1)


def fit_heads(features: Tensor, labels: Tensor, classes: int, penalty: float) -> RidgeHeads:
    """Heads for ``features [n, F]`` and ``labels int64 [n]``, solved in double and kept in single precision."""
    inputs = _with_one(features.double())
    targets = torch.nn.functional.one_hot(labels, classes).double()
    inverse = torch.linalg.inv(inputs.T @ inputs + penalty * torch.eye(inputs.shape[1], dtype=torch.float64))
    projected = inputs @ inverse
    leverage = (projected * inputs).sum(1, keepdim=True)
    errors = (targets - projected @ (inputs.T @ targets)) / (1 - leverage)
    return RidgeHeads(*(part.to(features.dtype) for part in (inputs, inverse, targets, errors)))


def _with_one(features: Tensor) -> Tensor:
    """``[n, F]`` to ``[n, F + 1]``: the constant feature."""
    return torch.cat([features, features.new_ones(len(features), 1)], 1)
