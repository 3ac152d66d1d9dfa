"""Work on the rows of large matrices on all cores, one thread for each chunk of rows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

#: Numbers to work on at a time: few enough to stay in a core's cache, enough that Python is rarely waited for.
_CHUNK = 1 << 19


def by_rows(function: Callable[..., Tensor], first: Tensor, *others: Tensor) -> Tensor:
    """Apply ``function`` to chunks of rows of each tensor, and join the answers.

    A row's answer must not depend on other rows. On the CPU one thread for each core takes whole chunks: torch's own
    threads would wait for each other after each small operation, and for NumPy's.
    """
    rows = max(1, _CHUNK // first.shape[1])
    chunks = [torch.split(tensor, rows) for tensor in (first, *others)]
    threads = torch.get_num_threads()
    if first.device.type != "cpu" or threads == 1 or len(chunks[0]) == 1:
        return torch.cat(list(map(function, *chunks)))
    try:
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as workers:
            return torch.cat(list(workers.map(function, *chunks)))
    finally:
        torch.set_num_threads(threads)  # the call above is also what some libraries and later threads begin with
