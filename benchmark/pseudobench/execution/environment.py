"""Preparing a process for runs, and describing it: versions, source revision, device, threads."""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pseudobench.base.machine import cores, processor, source_revision, version_of
from pseudobench.errors import BenchError

if TYPE_CHECKING:
    import torch

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # glibc's malloc.h
_PACKAGES = (
    "pseudobench",
    "torch",
    "torchvision",
    "timm",
    "safetensors",
    "numpy",
    "scikit-learn",
    "scipy",
    "pandas",
    "pluggy",
)


def pick_device(name: str) -> torch.device:
    """The torch device of that name; ``auto`` is the GPU if there is one, else the CPU."""
    import torch

    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()  # a device without memory, such as meta, gives nothing back
    except Exception as error:
        raise BenchError(f"--device {name}: {(str(error).splitlines() or ['not there'])[0]}") from None
    return device


def set_up(device: torch.device, threads: int | None) -> None:
    """Choose threads (None: all cores that this process may use) and deterministic algorithms for this process."""
    import torch

    torch.set_num_threads(threads or cores())
    _keep_memory()
    if device.type == "cuda":
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.backends.cudnn.benchmark = False
    torch.use_deterministic_algorithms(True)
    # Deterministic mode also fills new memory with NaN, which takes a tenth of a small network's time.
    deterministic: Any = torch.utils.deterministic
    deterministic.fill_uninitialized_memory = False


@contextmanager
def restored() -> Iterator[None]:
    """Restore torch's threads and choice of algorithms at the end: a notebook goes on unchanged."""
    import torch

    deterministic: Any = torch.utils.deterministic
    threads, filled, benchmark = (
        torch.get_num_threads(),
        deterministic.fill_uninitialized_memory,
        torch.backends.cudnn.benchmark,
    )
    enabled = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(enabled, warn_only=warn_only)
        deterministic.fill_uninitialized_memory = filled
        torch.backends.cudnn.benchmark = benchmark


def _keep_memory() -> None:
    """Tell glibc to keep freed memory, instead of returning large blocks and fetching them anew for every batch.

    Returning them took 40 % of the time of EfficientNet-Lite0 on the CPU, and 10 to 30 % of a small network's.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not glibc
        return
    for option, value in ((_MMAP_THRESHOLD, 1 << 30), (_TRIM_THRESHOLD, (1 << 31) - 1), (_TOP_PAD, 1 << 26)):
        mallopt(option, value)


def describe_environment(device: torch.device) -> dict[str, Any]:
    """The environment as a record keeps it. No host names, no paths."""
    import torch

    return {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "versions": {name: version_of(name) for name in _PACKAGES},
        "source": source_revision(),
        "device": device.type,
        "device_name": torch.cuda.get_device_name(device) if device.type == "cuda" else processor(),
        "cores": cores(),
        "threads": torch.get_num_threads(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
    }
