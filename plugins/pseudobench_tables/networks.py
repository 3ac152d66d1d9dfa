"""Networks for vectors, registered with timm's own registry when this module is imported."""

from __future__ import annotations

from typing import Any

from timm.models import register_model
from torch import Tensor, nn

HIDDEN = 256


class Perceptron(nn.Module):
    """Layers without dropout, then layers with it: several passes with dropout share the first."""

    def __init__(self, before: nn.Module, after: nn.Sequential) -> None:
        super().__init__()
        self.before, self.after = before, after

    def forward_features(self, x: Tensor) -> Tensor:
        """``[B, F]`` to the inputs of the first dropout."""
        outputs: Tensor = self.before(x)
        return outputs

    def forward_head(self, x: Tensor, pre_logits: bool = False) -> Tensor:
        """The inputs of the first dropout to logits ``[B, C]``, or with ``pre_logits`` to the last layer's inputs."""
        given = self.after[:-1](x)
        outputs: Tensor = given if pre_logits else self.after[-1](given)
        return outputs

    def forward(self, x: Tensor) -> Tensor:
        """Vectors ``[B, F]`` to logits ``[B, C]``."""
        return self.forward_head(self.forward_features(x))


@register_model
def mlp(
    pretrained: bool = False, num_classes: int = 10, in_chans: int = 64, drop_rate: float = 0.0, **_: Any
) -> nn.Module:
    """Two hidden layers with ReLU and dropout."""
    before = nn.Sequential(nn.Linear(in_chans, HIDDEN), nn.ReLU())
    after = nn.Sequential(
        nn.Dropout(drop_rate),
        nn.Linear(HIDDEN, HIDDEN),
        nn.ReLU(),
        nn.Dropout(drop_rate),
        nn.Linear(HIDDEN, num_classes),
    )
    return Perceptron(before, after)


@register_model
def linear(
    pretrained: bool = False, num_classes: int = 10, in_chans: int = 64, drop_rate: float = 0.0, **_: Any
) -> nn.Module:
    """Dropout and a linear layer: multinomial logistic regression."""
    return Perceptron(nn.Identity(), nn.Sequential(nn.Dropout(drop_rate), nn.Linear(in_chans, num_classes)))
