"""Hashes of values, tensors and source code: the names under which results are found again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor


def key_of(identity: Mapping[str, Any]) -> str:
    """A short name for whatever ``identity`` (plain values) determines."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:24]


def digest(*tensors: Tensor) -> str:
    """A hash of the contents, types and shapes of tensors on the CPU."""
    found = hashlib.sha256()
    for tensor in tensors:
        found.update(f"{tensor.dtype} {tuple(tensor.shape)}".encode())
        found.update(tensor.contiguous().numpy().data)
    return found.hexdigest()


def source_digest(paths: Iterable[Path]) -> str:
    """A hash of the Python source in files and folders (with all folders below), in the order given."""
    return _source_digest(tuple(paths))


@cache  # a process never sees its own source change
def _source_digest(paths: tuple[Path, ...]) -> str:
    found = hashlib.sha256()
    for path in paths:
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            name = file.relative_to(path.parent).as_posix()
            found.update(f"{name} {file.stat().st_size}\n".encode() + file.read_bytes())
    return found.hexdigest()
