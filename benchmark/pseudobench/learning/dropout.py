"""Dropout on the CPU in a fraction of torch's time.

Torch draws one number of 32 bits after another, one for each element: most of the cost of ten passes through a head.
Here 64 random bits decide on four elements, 16 bits each, and come from a faster generator (SFC64), which torch's own
seeds anew for every mask. The drop rate is rounded to a multiple of 1/65536, and kept elements are divided by the
rounded keep rate, so that the expected value of each element stays exact.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

STEPS = 1 << 16


class FastDropout:
    """A context that replaces ``torch.nn.functional.dropout`` by `dropout`; only CPU tensors are affected.

    The function itself is exchanged, in this process: a torch function mode would be asked about every operation of
    the network, and takes longer than the dropout it replaces.
    """

    def __init__(self, *, shared: bool = False) -> None:
        self._replacement = partial(dropout, shared=shared)

    def __enter__(self) -> None:
        self._replaced: Callable[..., Tensor] = functional.dropout
        functional.dropout = self._replacement

    def __exit__(self, *_error: object) -> None:
        functional.dropout = self._replaced


def dropout(x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False, *, shared: bool = False) -> Tensor:
    """``x [B, ...]`` with each element zeroed with probability ``p`` and the rest scaled up, by torch's generator.

    ``shared``: all samples of the batch lose the same elements. Each then sees a thinned network of the same
    distribution as if the mask were its own.
    """
    dropped = round(p * STEPS)
    if not training or not dropped:
        return x
    if dropped >= STEPS:
        return torch.zeros_like(x)
    first = x[:1] if shared else x
    if x.device.type != "cpu":
        return x * torch.dropout(torch.ones_like(first), p, True) if shared else torch.dropout(x, p, True)
    return x * keep_mask(first, dropped)


def keep_mask(x: Tensor, dropped: int) -> Tensor:
    """Factors of the shape of ``x``: 0 with probability ``dropped / 65536``, else the inverse of the keep rate."""
    seed = int(torch.empty((), dtype=torch.int64).random_())
    words = np.random.SFC64(seed).random_raw(-(-x.numel() // 4))
    bits = torch.from_numpy(words.view(np.int16))[: x.numel()]
    mask = torch.empty_like(x)  # the memory order of x, so that the product with it is fast
    # Comparing straight into floats: through a tensor of bools it would take four times as long.
    torch.ge(bits.as_strided(mask.shape, mask.stride()), dropped - STEPS // 2, out=mask)
    return mask.mul_(STEPS / (STEPS - dropped))
