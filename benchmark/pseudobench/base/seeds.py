"""Randomness by name: seeds and orders derived from names, so that no two uses can share or shift a stream."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def derive_seed(seed: int, *names: str | int) -> int:
    """A 63-bit seed for the use called ``names`` in the run with this ``seed``."""
    text = "/".join(str(name) for name in (seed, *names))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def shuffled(indices: Sequence[int], *names: str | int) -> list[int]:
    """``indices`` in an order that depends on ``names`` alone: no library's random stream can change it."""
    prefix = "/".join(str(name) for name in names)
    return sorted(indices, key=lambda index: hashlib.sha256(f"{prefix}/{index}".encode()).digest())


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Start torch's global generators (dropout draws from them) at ``seed`` inside, and restore them after."""
    import torch

    cuda = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=cuda):
        torch.manual_seed(seed)
        yield
