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


class Stream:
    """A stream of torch's global generators that starts at ``seed`` and goes on from one ``with`` to the next.

    Outside of ``with`` the global generators are as they were: streams that take turns do not disturb each other.
    """

    def __init__(self, seed: int, device: torch.device) -> None:
        self._seed: int | None = seed
        self._cuda = device if device.type == "cuda" else None

    def __enter__(self) -> None:
        import torch

        self._outside = self._states()
        if self._seed is None:
            self._set(self._inside)
        else:
            torch.manual_seed(self._seed)
            self._seed = None

    def __exit__(self, *_error: object) -> None:
        self._inside = self._states()
        self._set(self._outside)

    def _states(self) -> tuple[torch.Tensor, torch.Tensor | None]:
        import torch

        return torch.get_rng_state(), None if self._cuda is None else torch.cuda.get_rng_state(self._cuda)

    def _set(self, states: tuple[torch.Tensor, torch.Tensor | None]) -> None:
        import torch

        torch.set_rng_state(states[0])
        if self._cuda is not None and states[1] is not None:
            torch.cuda.set_rng_state(states[1], self._cuda)


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Start torch's global generators (dropout draws from them) at ``seed`` inside, and restore them after."""
    import torch

    cuda = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=cuda):
        torch.manual_seed(seed)
        yield
