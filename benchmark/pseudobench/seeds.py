"""Seeds derived from names, so that no two uses of randomness in a run can share or shift a stream."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch


def derive_seed(seed: int, *names: str | int) -> int:
    """A 63-bit seed for the use called ``names`` in the run with this ``seed``."""
    text = "/".join(str(name) for name in (seed, *names))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Torch's global generators (dropout draws from them) start at ``seed`` inside, and are restored after."""
    import torch

    cuda = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=cuda):
        torch.manual_seed(seed)
        yield
