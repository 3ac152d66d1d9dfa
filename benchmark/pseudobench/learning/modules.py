"""Networks of our own: a backbone behind an upsampling of its images, and a head on features."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


class Resized(nn.Module):
    """A backbone that sees images ``before`` pixels large upsampled to ``size``; it has the methods of a timm model.

    Bicubic, as two products of matrices: the same as `torch.nn.functional.interpolate`, whose own loop took a sixth of
    the time of a small backbone on the CPU, and which is not deterministic on a GPU.
    """

    def __init__(self, network: Any, before: tuple[int, int], size: tuple[int, int]) -> None:
        super().__init__()
        self.network = network
        for name, old, new in zip(("rows", "columns"), before, size, strict=True):
            self.register_buffer(name, _bicubic(old, new), persistent=False)

    def forward_features(self, x: Tensor) -> Tensor:
        """``[B, channels, H, W]`` to the backbone's feature maps."""
        larger = torch.einsum("ih, bchw, jw -> bcij", self.rows, x, self.columns)
        maps: Tensor = self.network.forward_features(larger.contiguous(memory_format=torch.channels_last))
        return maps

    def forward_head(self, x: Tensor, pre_logits: bool = False) -> Tensor:
        """Feature maps to logits ``[B, C]``, or with ``pre_logits`` to what the last layer is given."""
        outputs: Tensor = self.network.forward_head(x, pre_logits=pre_logits)
        return outputs

    def forward(self, x: Tensor) -> Tensor:
        """Images to logits."""
        return self.forward_head(self.forward_features(x))


def _bicubic(old: int, new: int) -> Tensor:
    """The matrix ``[new, old]`` that resizes a line of pixels."""
    lines = functional.interpolate(torch.eye(old)[None, None], (new, old), mode="bicubic", align_corners=False)
    return lines[0, 0]


class Head(nn.Module):
    """What is trained of a frozen backbone: dropout and a linear layer on its features ``[B, F]``."""

    def __init__(self, features: int, classes: int, dropout: float) -> None:
        super().__init__()
        self.drop, self.fc = nn.Dropout(dropout), nn.Linear(features, classes)

    def forward_features(self, x: Tensor) -> Tensor:
        """The features as they come: all of the dropout is behind them."""
        return x

    def forward_head(self, x: Tensor, pre_logits: bool = False) -> Tensor:
        """Features to logits ``[B, C]``, or with ``pre_logits`` to what the last layer is given."""
        given = self.drop(x)
        outputs: Tensor = given if pre_logits else self.fc(given)
        return outputs

    def forward(self, x: Tensor) -> Tensor:
        """Features to logits ``[B, C]``."""
        return self.forward_head(x)
