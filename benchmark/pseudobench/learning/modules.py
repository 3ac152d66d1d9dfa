"""Wrappers around backbones: upsampled images, predictions that mirrored images share, a head on features."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


class Resized(nn.Module):
    """A backbone whose images are upsampled from ``before`` to ``size`` (height, width); called like a timm model.

    Bicubic upsampling as two matrix products, equal to `torch.nn.functional.interpolate`. The latter took a sixth of a
    small backbone's time on the CPU, and is not deterministic on a GPU.
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
        """Feature maps to logits ``[B, C]``, or with ``pre_logits`` to the last layer's input ``[B, F]``."""
        outputs: Tensor = self.network.forward_head(x, pre_logits=pre_logits)
        return outputs

    def forward(self, x: Tensor) -> Tensor:
        """Images ``[B, channels, H, W]`` to logits ``[B, C]``."""
        return self.forward_head(self.forward_features(x))


def _bicubic(old: int, new: int) -> Tensor:
    """The matrix ``[new, old]`` that resizes a line of ``old`` pixels to ``new``."""
    lines = functional.interpolate(torch.eye(old)[None, None], (new, old), mode="bicubic", align_corners=False)
    return lines[0, 0]


class Mirrored(nn.Module):
    """A network that predicts by the mean of the logits of an image and of its mirror image; called like a timm model.

    Features and feature maps of both stand one behind the other, ``[2 B, ...]``, until the head takes their mean.
    """

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def forward_features(self, x: Tensor) -> Tensor:
        """``[B, channels, H, W]`` to the backbone's feature maps ``[2 B, ...]``."""
        maps: Tensor = self.network.forward_features(torch.cat([x, x.flip(3)]))
        return maps

    def forward_head(self, x: Tensor, pre_logits: bool = False) -> Tensor:
        """Feature maps ``[2 B, ...]`` to logits ``[B, C]``, or with ``pre_logits`` to ``[B, F]``."""
        outputs: Tensor = self.network.forward_head(x, pre_logits=pre_logits)
        return _mean_of_halves(outputs)

    def forward(self, x: Tensor) -> Tensor:
        """Images ``[B, channels, H, W]`` to logits ``[B, C]``."""
        return _mean_of_halves(self.network(torch.cat([x, x.flip(3)])))


def _mean_of_halves(both: Tensor) -> Tensor:
    first, second = both.chunk(2)
    return (first + second) / 2


class Head(nn.Module):
    """Dropout and a linear layer on the features ``[B, F]`` of a frozen backbone: the part that is trained."""

    def __init__(self, features: int, classes: int, dropout: float) -> None:
        super().__init__()
        self.drop, self.fc = nn.Dropout(dropout), nn.Linear(features, classes)

    def forward_features(self, x: Tensor) -> Tensor:
        """The features unchanged: dropout is part of `forward_head`, so that passes differ in the head alone."""
        return x

    def forward_head(self, x: Tensor, pre_logits: bool = False) -> Tensor:
        """Features to logits ``[B, C]``, or with ``pre_logits`` to what the last layer is given."""
        given = self.drop(x)
        outputs: Tensor = given if pre_logits else self.fc(given)
        return outputs

    def forward(self, x: Tensor) -> Tensor:
        """Features to logits ``[B, C]``."""
        return self.forward_head(x)

    def forward_passes(self, x: Tensor, passes: int) -> Tensor:
        """Logits ``[passes, B, C]`` of several passes with dropout, each with one mask for all samples.

        The masks thin the weights instead of the features: one large product of matrices in place of many small ones.
        """
        masks = self.drop(torch.ones(1, passes, 1, x.shape[1], device=x.device))[0]
        thinned = (self.fc.weight * masks).flatten(0, 1)
        logits: Tensor = (x @ thinned.T).unflatten(1, (passes, -1)).transpose(0, 1) + self.fc.bias
        return logits
