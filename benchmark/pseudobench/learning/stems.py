"""Adapting the stems of timm's backbones, made for images of 224 pixels, to small images.

======================================  ===========================================================================
family (timm's module)                  change for the small stem
======================================  ===========================================================================
resnet (ResNet, ResNeXt, ResNet-D ...)  first convolution 3 x 3 with stride 1 in place of 7 x 7 with stride 2 (a
                                        deep stem keeps its three, with stride 1), no max pooling
efficientnet, mobilenetv3               first convolution with stride 1 in place of 2
convnext                                patches of 2 pixels in place of 4 (the first of two convolutions keeps its
                                        size, with stride 1)
vision_transformer, deit                patches of an eighth of the image in place of 16 pixels
======================================  ===========================================================================

Other families are not changed; ``--image-size`` upsamples their images instead.
"""

from __future__ import annotations

import warnings
from typing import Any

import timm
from torch import nn

from pseudobench.contracts.settings import Network
from pseudobench.errors import BenchWarning

#: Largest side of images that get the small stem by default.
SMALL = 64
_PATCHES = ("vision_transformer", "deit")
_STRIDES = ("efficientnet", "mobilenetv3")
ADAPTED = ("resnet", "convnext", *_STRIDES, *_PATCHES)


def family(backbone: str) -> str:
    """The family of a backbone: the name of the timm module that defines it."""
    return str(timm.models.model_entrypoint(_architecture(backbone)).__module__).rpartition(".")[2]


def _architecture(backbone: str) -> str:
    return str(timm.models.split_model_name_tag(backbone)[0])


def wants_small_stem(options: Network, size: tuple[int, int]) -> bool:
    """Whether to use the small stem. ``auto``: for small images without pretrained weights, which need their own."""
    if options.stem == "auto":
        return max(size) <= SMALL and options.weights is None
    return options.stem == "small"


def creation_options(backbone: str, size: tuple[int, int], *, small: bool) -> dict[str, Any]:
    """Keywords for timm's constructor: image and patch size, for families that take them."""
    if family(backbone) not in _PATCHES:
        return {}
    return {"img_size": size, **({"patch_size": max(min(size) // 8, 1)} if small else {})}


def adapt(network: Any, backbone: str) -> None:
    """Replace the stem of a new network in place, for families whose constructor has no option for it."""
    if family(backbone) in _STRIDES:
        network.conv_stem.stride = (1, 1)
    elif family(backbone) == "convnext":
        first = network.stem[0]
        if first.stride == (2, 2):  # a stem of two overlapping convolutions
            first.stride = (1, 1)
        else:
            network.stem[0] = nn.Conv2d(first.in_channels, first.out_channels, 2, 2, bias=first.bias is not None)
            nn.init.trunc_normal_(network.stem[0].weight, std=0.02)
    elif family(backbone) == "resnet":
        network.maxpool = nn.Identity()
        if isinstance(network.conv1, nn.Sequential):
            network.conv1[0].stride = (1, 1)  # type: ignore[assignment]
        else:
            first = network.conv1
            network.conv1 = nn.Conv2d(first.in_channels, first.out_channels, 3, padding=1, bias=False)
            nn.init.kaiming_normal_(network.conv1.weight, mode="fan_out", nonlinearity="relu")


def warn_of_large_stem(backbone: str, options: Network, size: tuple[int, int]) -> None:
    """Warn if a backbone made for large images is given small ones without an adapted stem."""
    config = timm.models.get_pretrained_cfg(backbone)
    if config is None or max(size) > SMALL or max(config.input_size[1:]) <= SMALL:
        return
    if not (wants_small_stem(options, size) and family(backbone) in ADAPTED):
        warnings.warn(
            f"{backbone} was made for images of {config.input_size[-1]} pixels and sees {size[0]} x {size[1]} through "
            "a stem for large ones; --image-size 128 upsamples them",
            BenchWarning,
            stacklevel=2,
        )
