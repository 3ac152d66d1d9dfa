"""Networks for small images, registered with timm's own registry when this module is imported."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from timm.models import register_model
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.parametrizations import weight_norm


class Network(nn.Module):
    """Feature maps, global pooling and a linear head with dropout, with the methods of a timm model.

    Pooling takes the mean of each map, or with ``peak`` its largest value.
    """

    def __init__(self, features: nn.Sequential, head: nn.Module, head_dropout: float, *, peak: bool = False) -> None:
        super().__init__()
        self.features, self.fc, self.drop_rate, self.peak = features, head, head_dropout, peak
        drops = [place for place, layer in enumerate(features) if isinstance(layer, nn.Dropout)]
        self._before_dropout = drops[0] if drops else len(features)

    def forward_before_dropout(self, x: Tensor) -> Tensor:
        """The layers before dropout: several passes with dropout share their output."""
        maps: Tensor = self.features[: self._before_dropout](x)
        return maps

    def forward_after_dropout(self, x: Tensor) -> Tensor:
        """The rest of the network."""
        return self.forward_head(self.features[self._before_dropout :](x))

    def forward_features(self, x: Tensor) -> Tensor:
        """``[B, channels, H, W]`` to the last feature maps."""
        maps: Tensor = self.features(x)
        return maps

    def forward_head(self, x: Tensor, pre_logits: bool = False) -> Tensor:
        """Feature maps to logits ``[B, C]``, or with ``pre_logits`` to the inputs of the last layer."""
        pooled = x.amax((2, 3)) if self.peak else x.mean((2, 3))
        given = functional.dropout(pooled, self.drop_rate, self.training)
        outputs: Tensor = given if pre_logits else self.fc(given)
        return outputs

    def forward(self, x: Tensor) -> Tensor:
        """Images to logits."""
        return self.forward_head(self.forward_features(x))


def _plain(widths: tuple[int, ...], strides: tuple[int, ...], in_chans: int) -> nn.Sequential:
    """Convolutions with batch norm and ReLU."""
    layers: list[nn.Module] = []
    for (before, width), stride in zip(pairwise((in_chans, *widths)), strides, strict=True):
        layers += [
            nn.Conv2d(before, width, 3, stride, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
        ]
    return nn.Sequential(*layers)


@register_model
def digits_cnn(
    pretrained: bool = False, num_classes: int = 10, in_chans: int = 1, drop_rate: float = 0.0, **_: Any
) -> nn.Module:
    """Three convolutions for 8 x 8 images."""
    return Network(_plain((16, 32, 64), (1, 2, 2), in_chans), nn.Linear(64, num_classes), drop_rate)


@register_model
def cifar_cnn(
    pretrained: bool = False, num_classes: int = 10, in_chans: int = 3, drop_rate: float = 0.0, **_: Any
) -> nn.Module:
    """Six convolutions for 32 x 32 images, small enough for two cores: the first halves the image at once."""
    features = _plain((32, 32, 64, 64, 128, 128), (2, 1, 2, 1, 2, 1), in_chans)
    return Network(features, nn.Linear(128, num_classes), drop_rate)


@register_model
def cifar_fast(
    pretrained: bool = False, num_classes: int = 10, in_chans: int = 3, drop_rate: float = 0.0, **_: Any
) -> nn.Module:
    """Seven convolutions for 32 x 32 images, made for accuracy per minute of one core.

    After airbench (Jordan 2024): a first convolution of 2 x 2 pixels at full resolution, then three blocks that halve
    the image right after their first convolution, before its batch norm; the largest value of each map goes to the
    head. A quarter to a half of airbench's widths, ReLU in place of GELU, and no whitening, which needs the data.
    """
    widths = (24, 32, 64, 128)
    layers: list[nn.Module] = [nn.Conv2d(in_chans, widths[0], 2), nn.ReLU(inplace=True)]
    for before, width in pairwise(widths):
        layers += [
            nn.Conv2d(before, width, 3, padding=1, bias=False),
            nn.MaxPool2d(2),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
        ]
    return Network(nn.Sequential(*layers), nn.Linear(widths[-1], num_classes), drop_rate, peak=True)


def _leaky(before: int, width: int, kernel: int = 3, padding: int = 1) -> nn.Sequential:
    """A weight-normalized convolution with batch norm and a leaky ReLU."""
    return nn.Sequential(
        weight_norm(nn.Conv2d(before, width, kernel, padding=padding)), nn.BatchNorm2d(width), nn.LeakyReLU(0.1)
    )


@register_model
def cnn13(
    pretrained: bool = False, num_classes: int = 10, in_chans: int = 3, drop_rate: float = 0.0, **_: Any
) -> nn.Module:
    """CNN-13 (Laine and Aila 2017), as UPS uses it: dropout after the first and the second block, none in the head."""
    blocks = (
        (_leaky(in_chans, 128), _leaky(128, 128), _leaky(128, 128), nn.MaxPool2d(2), nn.Dropout(drop_rate)),
        (_leaky(128, 256), _leaky(256, 256), _leaky(256, 256), nn.MaxPool2d(2), nn.Dropout(drop_rate)),
        (_leaky(256, 512, padding=0), _leaky(512, 256, 1, 0), _leaky(256, 128, 1, 0)),
    )
    features = nn.Sequential(*(layer for block in blocks for layer in block))
    return Network(features, weight_norm(nn.Linear(128, num_classes)), head_dropout=0.0)


class WideBlock(nn.Module):
    """Two convolutions, each after its batch norm and activation, beside a shortcut."""

    def __init__(self, before: int, width: int, stride: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.BatchNorm2d(before), nn.BatchNorm2d(width)
        self.conv1 = nn.Conv2d(before, width, 3, stride, padding=1, bias=False)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.shortcut = None if before == width else nn.Conv2d(before, width, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Feature maps to feature maps."""
        active = functional.leaky_relu(self.norm1(x), 0.1)
        added: Tensor = self.conv2(functional.leaky_relu(self.norm2(self.conv1(active)), 0.1))
        return added + (x if self.shortcut is None else self.shortcut(active))


@register_model
def wrn_28_2(
    pretrained: bool = False, num_classes: int = 10, in_chans: int = 3, drop_rate: float = 0.0, **_: Any
) -> nn.Module:
    """Wide ResNet 28-2 (Zagoruyko and Komodakis 2016) with leaky ReLU and dropout in the head, as in USB.

    UPS's own has another activation (mish), an offset in its batch norm, and dropout inside its blocks.
    """
    layers: list[nn.Module] = [nn.Conv2d(in_chans, 16, 3, padding=1, bias=False)]
    for stage, (before, width) in enumerate(pairwise((16, 32, 64, 128))):
        layers.append(WideBlock(before, width, stride=2 if stage else 1))
        layers += [WideBlock(width, width, stride=1) for _ in range(3)]
    features = nn.Sequential(*layers, nn.BatchNorm2d(128), nn.LeakyReLU(0.1))
    return Network(features, nn.Linear(128, num_classes), drop_rate)
