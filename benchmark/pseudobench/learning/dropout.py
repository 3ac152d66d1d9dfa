"""Dropout on the CPU in a fraction of torch's time, for whatever calls ``torch.nn.functional.dropout`` inside.

Torch draws a number of 32 bits for each element, one after another, and that is most of what ten passes through a head
cost. Here 64 random bits decide on four elements, 16 each. The drop rate is rounded to a multiple of 1/65536, and what
is kept is scaled by exactly the share that is kept on average, so the mean stays what it was.
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
    """Inside, dropout on the CPU draws from torch's generator in this way; on other devices nothing changes."""

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Every call of a torch function inside comes here."""
        if function is functional.dropout:
            return dropout(*args, **(kwargs or {}))
        return function(*args, **(kwargs or {}))


def dropout(x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """``x`` with each element dropped with probability ``p``, the others scaled up."""
    dropped = round(p * STEPS)
    if not training or not dropped:
        return x
    if x.device.type != "cpu" or dropped >= STEPS:
        return torch.dropout(x, p, training)
    return x * keep_mask(x, dropped)


def keep_mask(x: Tensor, dropped: int) -> Tensor:
    """Zeros for a share ``dropped / 65536`` of the elements and the factor that makes up for them for the rest."""
    bits = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(_LEAST, None).view(torch.int16)
    places = torch.empty_like(x, dtype=torch.int16)  # x's own order of memory
    kept = bits[: x.numel()].as_strided(places.shape, places.stride()) >= dropped - STEPS // 2
    return kept.to(x.dtype).mul_(STEPS / (STEPS - dropped))
