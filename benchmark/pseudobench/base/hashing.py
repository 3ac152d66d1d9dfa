"""Hashes of values and tensors: the names under which results are found again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
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
