"""Files of the cache: each holds one entry, under a checksum of all of it.

The checksum covers an entry's kind and key, the names of its tensors, their contents, and the note beside them: a
flipped bit or a renamed file is noticed.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import safe_open

from pseudobench.base.hashing import digest
from pseudobench.base.paths import instead_of_file, is_remote, local_copy

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Kept:
    """An entry: its tensors by name, and its note."""

    tensors: Mapping[str, Tensor]
    note: Mapping[str, Any]


def read_entry(path: Path, identity: tuple[str, str]) -> Kept:
    """An entry from its file; raises unless it is whole and was stored as the entry of this kind and key."""
    odd = instead_of_file(path)
    if odd is not None:
        raise ValueError(f"it is {odd}")
    with local_copy(path) as here, safe_open(here, "pt") as file:
        about = file.metadata() or {}
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    note = about.get("note", "")
    if about.get("checksum") != _checksum(identity, tensors, note):
        raise ValueError("it is not what was stored there")
    return Kept(tensors, json.loads(note))


def write_entry(path: Path, identity: tuple[str, str], tensors: Mapping[str, Tensor], note: Mapping[str, Any]) -> None:
    """Write an entry whole or not at all."""
    from safetensors.torch import save, save_file

    # Copies: two names may be one tensor, which the format does not allow.
    whole = {name: tensors[name].contiguous().cpu().clone() for name in sorted(tensors)}
    text = json.dumps(note)
    about = {"note": text, "checksum": _checksum(identity, whole, text)}
    if is_remote(path):
        path.write_bytes(save(whole, about))
        return
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        save_file(whole, unfinished, about)
        unfinished.replace(path)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise


def _checksum(identity: tuple[str, str], tensors: Mapping[str, Tensor], note: str) -> str:
    names = sorted(tensors)
    said = json.dumps([*identity, names, digest(*(tensors[name] for name in names)), note])
    return hashlib.sha256(said.encode()).hexdigest()


def set_aside(path: Path) -> None:
    """Remove the file at a path; anything that can't be removed, such as a folder, is renamed and not read again."""
    try:
        path.unlink()
    except FileNotFoundError:
        return
    except OSError:
        with suppress(OSError):
            path.rename(path.with_name(f"{path.name}.broken-{time.time_ns()}"))
