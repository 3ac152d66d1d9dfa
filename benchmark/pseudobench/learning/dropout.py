"""Dropout on the CPU in a fraction of torch's time.

Torch draws one number of 32 bits after another, one for each element: most of the cost of ten passes through a head.
Here 64 random bits decide on four elements, 16 bits each. The drop rate is rounded to a multiple of 1/65536, and kept
elements are divided by the rounded keep rate, so that the expected value of each element stays exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

STEPS = 1 << 16
_LEAST = -(1 << 63)


class FastDropout(TorchFunctionMode):
    """A context that replaces ``torch.nn.functional.dropout`` by `dropout`; only CPU tensors are affected."""

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Torch calls this in place of every torch function used inside the context."""
        if function is functional.dropout:
            return dropout(*args, **(kwargs or {}))
        return function(*args, **(kwargs or {}))


def dropout(x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """``x`` with each element zeroed with probability ``p`` and the rest scaled up, by torch's global generator."""
    dropped = round(p * STEPS)
    if not training or not dropped:
        return x
    if x.device.type != "cpu" or dropped >= STEPS:
        return torch.dropout(x, p, training)
    return x * keep_mask(x, dropped)


def keep_mask(x: Tensor, dropped: int) -> Tensor:
    """Factors of the shape of ``x``: 0 with probability ``dropped / 65536``, else the inverse of the keep rate."""
    bits = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(_LEAST, None).view(torch.int16)
    layout = torch.empty_like(x, dtype=torch.int16)  # the memory order of x, so that the product below is fast
    kept = bits[: x.numel()].as_strided(layout.shape, layout.stride()) >= dropped - STEPS // 2
    return kept.to(x.dtype).mul_(STEPS / (STEPS - dropped))
