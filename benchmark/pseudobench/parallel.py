"""Work on the rows of large matrices on all cores, by threads that take some rows each."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Barrier
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

#: Numbers to work on at a time: few enough to stay in a core's cache, enough that Python is rarely waited for.
_CHUNK = 1 << 19


def by_rows(function: Callable[..., Tensor], first: Tensor, *others: Tensor) -> Tensor:
    """``function`` of some rows of each tensor at a time, the answers one below the other.

    A row's answer must not depend on the other rows. On the CPU a thread for each core torch may use takes whole
    chunks: torch's own threads would wait for each other after each small operation, and for NumPy's.
    """
    rows = max(1, _CHUNK // first.shape[1])
    chunks = [torch.split(tensor, rows) for tensor in (first, *others)]
    threads = torch.get_num_threads()
    if first.device.type != "cpu" or threads == 1 or len(chunks[0]) == 1:
        return torch.cat(list(map(function, *chunks)))
    return torch.cat(list(_workers(threads).map(function, *chunks)))


@cache
def _workers(threads: int) -> ThreadPoolExecutor:
    """Threads whose torch operations take one core each."""
    ready = Barrier(threads + 1)

    def take_one_core() -> None:
        torch.set_num_threads(1)
        ready.wait()

    workers = ThreadPoolExecutor(threads, "rows", initializer=take_one_core)
    for _ in range(threads):
        workers.submit(int)  # starts a thread, as none is idle before all are ready
    ready.wait()
    torch.set_num_threads(threads)  # is also what later threads and some libraries begin with
    return workers
