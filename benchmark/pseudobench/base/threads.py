"""Work on all cores, one thread of Python for each piece of work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

Piece = TypeVar("Piece")

#: Numbers to work on at a time: few enough to stay in a core's cache, enough that Python is rarely waited for.
_CHUNK = 1 << 19


def side_by_side(function: Callable[..., Tensor], *pieces: Iterable[Piece]) -> Iterator[Tensor]:
    """Like `map`, with as many pieces at a time as torch has threads, each on one core.

    Torch's own threads would wait for each other after each small operation. A piece's answer does not depend on the
    number of threads.
    """
    threads = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as workers:
            yield from workers.map(function, *pieces)
    finally:
        torch.set_num_threads(threads)  # the call above is also what some libraries and later threads begin with


def by_rows(function: Callable[..., Tensor], first: Tensor, *others: Tensor) -> Tensor:
    """Apply ``function`` to chunks of rows of each tensor, and join the answers.

    A row's answer must not depend on other rows.
    """
    rows = max(1, _CHUNK // first.shape[1])
    chunks = [torch.split(tensor, rows) for tensor in (first, *others)]
    if first.device.type != "cpu" or torch.get_num_threads() == 1 or len(chunks[0]) == 1:
        return torch.cat(list(map(function, *chunks)))
    return torch.cat(list(side_by_side(function, *chunks)))
