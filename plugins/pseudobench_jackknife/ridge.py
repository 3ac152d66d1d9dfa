"""Ridge regression on features without each of its points in turn, in closed form.

n labeled points with F features and C classes. With ``A = X X' + 1 + penalty I`` the head's output for x is
``g Y``, ``g = (x X' + 1) A^-1``. Without point i it is ``g Y - g_i r_i``, where ``r_i = (A^-1 Y)_i / (A^-1)_ii`` is the
error at point i of the head that was fitted without it. The 1 is a constant feature: the intercept, penalized too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class RidgeHeads:
    """The n heads, each without one point: ``inputs [n, F]``, ``inverse [n, n]``, ``targets`` and ``errors [n, C]``."""

    inputs: Tensor
    inverse: Tensor
    targets: Tensor
    errors: Tensor

    @property
    def own(self) -> Tensor:
        """The output for each point's own class by the head that was fitted without it, ``[n]``."""
        return ((self.targets - self.errors) * self.targets).sum(1)

    def weights(self, features: Tensor) -> Tensor:
        """The weight of each point's target in the outputs for ``features [B, F]``, ``[B, n]``."""
        return (features.to(self.inputs) @ self.inputs.T + 1) @ self.inverse

    def without(self, weights: Tensor, class_: int) -> Tensor:
        """The outputs of all heads for one class, ``[B, n]``, for samples with these ``weights [B, n]``."""
        whole = weights @ self.targets[:, class_]
        return torch.addcmul(whole[:, None], weights, self.errors[:, class_], value=-1)


def fit_heads(features: Tensor, labels: Tensor, classes: int, penalty: float) -> RidgeHeads:
    """Heads for ``features [n, F]`` and ``labels int64 [n]``, solved in double and kept in single precision."""
    inputs = features.double()
    targets = torch.nn.functional.one_hot(labels, classes).double()
    inverse = torch.linalg.inv(inputs @ inputs.T + 1 + penalty * torch.eye(len(inputs), dtype=torch.float64))
    errors = inverse @ targets / inverse.diagonal()[:, None]
    return RidgeHeads(*(part.to(features.dtype) for part in (inputs, inverse, targets, errors)))
