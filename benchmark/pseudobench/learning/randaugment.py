"""RandAugment (Cubuk et al. 2020) with the operations and ranges of the UPS code, on batches.

Each image draws its own operations; images with the same operation are transformed together by torchvision's kernels.
The ranges are those of the published runs, oddities included: at magnitude 4 posterize keeps no bit at all (a black
image), and brightness falls to a third.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torchvision.transforms.v2 import functional as vision

if TYPE_CHECKING:
    from torch import Generator, Tensor

#: The magnitude at which an operation reaches the end of its range.
LARGEST = 30


def _affine(images: Tensor, *, x: float = 0.0, y: float = 0.0, shear: tuple[float, float]) -> Tensor:
    """Shift by ``x`` and ``y`` pixels and shear, around the upper left corner as PIL does, not around the centre."""
    shears = [_degrees(part) for part in shear]
    return vision.affine(images, 0.0, [round(x), round(y)], 1.0, shears, center=[0.0, 0.0])  # type: ignore[no-any-return]


def _degrees(slope: float) -> float:
    return float(torch.rad2deg(torch.atan(torch.tensor(slope))))


def _solarize_add(images: Tensor, amount: float) -> Tensor:
    brighter = (images.int() + int(amount)).clamp(0, 255).to(images.dtype)
    return vision.solarize(brighter, 128)  # type: ignore[no-any-return]


def _hole(images: Tensor, side: float, generator: Generator) -> Tensor:
    """A grey square of this side around a random point of each image."""
    batch, channels, height, width = images.shape
    corners = [torch.rand(batch, 1, generator=generator) * size for size in (height, width)]
    inside = []
    for corner, size in zip(corners, (height, width), strict=True):
        start = (corner - side / 2).clamp(min=0).int()
        position = torch.arange(size)
        inside.append((position >= start) & (position <= start + side))
    hole = (inside[0][:, :, None] & inside[1][:, None, :])[:, None].to(images.device)
    colour = torch.tensor([125, 123, 114] if channels == 3 else [121] * channels, dtype=images.dtype)
    return torch.where(hole, colour.view(1, -1, 1, 1).to(images.device), images)


#: Operation to the ends of its range, whether the value's sign is random, and the function of images and value.
Operation = Callable[["Tensor", float, "Generator"], "Tensor"]
OPERATIONS: dict[str, tuple[float, float, bool, Operation]] = {
    "autocontrast": (0, 1, False, lambda x, v, g: vision.autocontrast(x)),
    "equalize": (0, 1, False, lambda x, v, g: vision.equalize(x)),
    "invert": (0, 1, False, lambda x, v, g: vision.invert(x)),
    "rotate": (0, 30, True, lambda x, v, g: vision.rotate(x, v)),
    "posterize": (0, 4, False, lambda x, v, g: vision.posterize(x, int(v))),
    "solarize": (0, 256, False, lambda x, v, g: vision.solarize(x, v)),
    "solarize-add": (0, 110, False, lambda x, v, g: _solarize_add(x, v)),
    "colour": (0.1, 1.9, False, lambda x, v, g: vision.adjust_saturation(x, v)),
    "contrast": (0.1, 1.9, False, lambda x, v, g: vision.adjust_contrast(x, v)),
    "brightness": (0.1, 1.9, False, lambda x, v, g: vision.adjust_brightness(x, v)),
    "sharpness": (0.1, 1.9, False, lambda x, v, g: vision.adjust_sharpness(x, v)),
    "shear-x": (0, 0.3, True, lambda x, v, g: _affine(x, shear=(v, 0.0))),
    "shear-y": (0, 0.3, True, lambda x, v, g: _affine(x, shear=(0.0, v))),
    "hole": (0, 40, False, _hole),
    "translate-x": (0, 100, True, lambda x, v, g: _affine(x, x=v, shear=(0.0, 0.0))),
    "translate-y": (0, 100, True, lambda x, v, g: _affine(x, y=v, shear=(0.0, 0.0))),
}

#: FixMatch's operations with the ranges that their strengths are drawn from. Translations are shares of the side.
DRAWN: dict[str, tuple[float, float, bool, Operation]] = {
    "identity": (0, 1, False, lambda x, v, g: x),
    **{name: OPERATIONS[name] for name in ("autocontrast", "equalize", "rotate", "shear-x", "shear-y")},
    "posterize": (4, 8, False, lambda x, v, g: vision.posterize(x, int(v))),
    "solarize": (0, 255, False, lambda x, v, g: vision.solarize(x, v)),
    **{name: (0.05, 0.95, *OPERATIONS[name][2:]) for name in ("colour", "contrast", "brightness", "sharpness")},
    "translate-x": (0, 0.3, True, lambda x, v, g: _affine(x, x=v * x.shape[-1], shear=(0.0, 0.0))),
    "translate-y": (0, 0.3, True, lambda x, v, g: _affine(x, y=v * x.shape[-2], shear=(0.0, 0.0))),
}


def rand_augment(images: Tensor, operations: int, magnitude: int | None, generator: Generator) -> Tensor:
    """``operations`` random operations on each of ``images uint8 [B, channels, H, W]``, one after another.

    Without a ``magnitude`` it is FixMatch's: the strength is drawn too, one for all images of the batch that draw the
    same operation, because these are transformed together.
    """
    out = images.clone()
    table = DRAWN if magnitude is None else OPERATIONS
    for _ in range(operations):
        drawn = torch.randint(len(table), (len(images),), generator=generator)
        signs = torch.rand(len(images), generator=generator) < 0.5
        for index, (low, high, both_ways, apply) in enumerate(table.values()):
            share = float(torch.rand((), generator=generator)) if magnitude is None else magnitude / LARGEST
            value = low + share * (high - low)
            for negative in (False, True) if both_ways else (False,):
                chosen = (drawn == index) & (signs == negative) if both_ways else drawn == index
                rows = chosen.nonzero()[:, 0].to(images.device)
                if len(rows):
                    out[rows] = apply(out[rows], -value if negative else value, generator)
    return out
