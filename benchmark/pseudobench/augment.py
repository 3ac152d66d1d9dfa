"""Batched augmentation on tensors: every sample of ``images uint8 [B, channels, H, W]`` draws its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn import functional

if TYPE_CHECKING:
    from torch import Generator, Tensor


def reflect_crop(images: Tensor, pad: int, generator: Generator) -> Tensor:
    """Pad by reflection and cut a window of the old size out at a random place."""
    batch, _, height, width = images.shape
    padded = functional.pad(images.float(), (pad, pad, pad, pad), mode="reflect").to(images.dtype)
    shift = torch.randint(0, 2 * pad + 1, (2, batch), generator=generator).to(images.device)
    rows = shift[0][:, None] + torch.arange(height, device=images.device)
    columns = shift[1][:, None] + torch.arange(width, device=images.device)
    sample = torch.arange(batch, device=images.device)[:, None, None]
    return padded.movedim(1, -1)[sample, rows[:, :, None], columns[:, None, :]].movedim(-1, 1)


def weak(images: Tensor, generator: Generator) -> Tensor:
    """Shift by up to an eighth of the image."""
    return reflect_crop(images, max(1, images.shape[-1] // 8), generator)
