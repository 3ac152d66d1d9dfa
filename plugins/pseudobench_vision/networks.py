"""Small networks, registered with timm's own registry when this module is imported."""

from __future__ import annotations

from typing import Any

from timm.models import register_model
from torch import Tensor, nn
from torch.nn import functional


class SmallCnn(nn.Module):
    """Convolutions with batch norm, global pooling and a dropout head, with the methods of a timm model."""

    def __init__(
        self,
        widths: tuple[int, ...],
        strides: tuple[int, ...],
        num_classes: int,
        in_chans: int,
        drop_rate: float,
    ) -> None:
        super().__init__()
        self.num_classes, self.drop_rate = num_classes, drop_rate
        self.num_features = widths[-1]
        layers: list[nn.Module] = []
        for before, width, stride in zip((in_chans, *widths), widths, strides, strict=False):
            layers += [
                nn.Conv2d(before, width, 3, stride, padding=1, bias=False),
                nn.BatchNorm2d(width),
                nn.ReLU(inplace=True),
            ]
        self.features = nn.Sequential(*layers)
        self.fc = nn.Linear(widths[-1], num_classes)

    def forward_features(self, x: Tensor) -> Tensor:
        """``[B, channels, H, W]`` to the last feature maps."""
        out: Tensor = self.features(x)
        return out

    def forward_head(self, x: Tensor) -> Tensor:
        """Feature maps to logits ``[B, C]``."""
        pooled = functional.dropout(x.mean((2, 3)), self.drop_rate, self.training)
        out: Tensor = self.fc(pooled)
        return out

    def forward(self, x: Tensor) -> Tensor:
        """Images to logits."""
        return self.forward_head(self.forward_features(x))


@register_model
def digits_cnn(
    pretrained: bool = False, num_classes: int = 10, in_chans: int = 1, drop_rate: float = 0.0, **_: Any
) -> nn.Module:
    """Three convolutions for 8 x 8 images."""
    return SmallCnn((16, 32, 64), (1, 2, 2), num_classes, in_chans, drop_rate)
