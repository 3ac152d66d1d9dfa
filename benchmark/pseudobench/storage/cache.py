"""Computations kept for reuse: trained networks, features, and the state of interrupted trainings and runs.

Entries hold tensors, and nothing that could execute. All of them can be computed again: an entry that is lost or
broken costs time, never a result.
"""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from filelock import FileLock
from safetensors import SafetensorError

from pseudobench.base.paths import instead_of_file, is_remote
from pseudobench.errors import BenchWarning, one_line
from pseudobench.storage.cache_files import Kept as Kept  # noqa: PLC0414 - part of this module's interface
from pseudobench.storage.cache_files import read_entry, set_aside, write_entry

if TYPE_CHECKING:
    from torch import Tensor

Content = TypeVar("Content")

#: Kinds of entries; name and text together describe a kind.
KINDS = {
    "features": "of frozen backbones",
    "networks": "trained",
    "checkpoints": "of trainings that have not ended",
    "runs": "that have not ended: where they stood",
}


@dataclass(frozen=True)
class Entry:
    """An entry as ``bench cache`` shows it: its size in bytes, and the time of its last use."""

    kind: str
    path: Path
    size: int
    used: float


@dataclass(frozen=True)
class Cache:
    """A folder of entries, each of a kind and with a key. Processes can share it."""

    folder: Path
    every: float = 60.0  # seconds between checkpoints of a training

    def path(self, kind: str, key: str) -> Path:
        """Where an entry is."""
        return self.folder / kind / f"{key}.safetensors"

    @contextmanager
    def lock(self, kind: str, key: str) -> Iterator[None]:
        """A lock for one process at a time: an entry that two processes need is computed once.

        The system frees the lock of a process that dies. Remote folders have no locks: there both processes compute
        the entry.
        """
        if is_remote(self.folder):
            yield
            return
        path = self.folder / "locks" / f"{kind}-{key}.lock"
        held = FileLock(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            held.acquire()
        except OSError:  # a cache that can't be written to: nothing is shared, and nothing is at risk
            yield
            return
        try:
            yield
        finally:
            held.release()

    def load(self, kind: str, key: str, read: Callable[[Kept], Content]) -> Content | None:
        """The result of ``read`` for an entry; None if there is no entry.

        An entry that does not verify, or for which ``read`` raises, is set aside with a warning and counts as absent.
        """
        path = self.path(kind, key)
        try:
            found = read(read_entry(path, (kind, key)))
        except FileNotFoundError:
            return None
        except Exception as error:  # a damaged file can make safetensors, json or `read` raise anything
            set_aside(path)
            message = f"{path.name} in the cache can't be read ({one_line(error)}); computed again"
            warnings.warn(message, BenchWarning, stacklevel=2)
            return None
        with suppress(OSError, TypeError):  # remote files have no such time to set
            os.utime(path)  # used now: the last to be pruned
        return found

    def store(self, kind: str, key: str, tensors: Mapping[str, Tensor], note: Mapping[str, Any]) -> None:
        """Write an entry, whole or not at all. A failure is a warning: the caller goes on without the entry."""
        path = self.path(kind, key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_entry(path, (kind, key), tensors, note)
        except (OSError, SafetensorError) as error:
            _warn_once(self.folder, str(error))

    def discard(self, kind: str, key: str) -> None:
        """Forget an entry."""
        set_aside(self.path(kind, key))

    def saved(self, kind: str, seconds: float) -> None:
        """Note that the use of an entry saved ``seconds`` of work."""
        path = self.folder / "saved.txt"
        with suppress(OSError, ValueError, NotImplementedError):
            if instead_of_file(path) is None:
                with path.open("a", encoding="utf-8") as file:
                    file.write(f"{kind} {seconds:.3f}\n")

    def savings(self) -> dict[str, list[float]]:
        """By kind, the seconds saved by each use of an entry. Malformed lines are skipped."""
        found: dict[str, list[float]] = {kind: [] for kind in KINDS}
        path = self.folder / "saved.txt"
        with suppress(OSError):
            content = path.read_bytes() if instead_of_file(path) is None else b""
            for line in content.decode(errors="replace").splitlines():
                kind, _, text = line.partition(" ")
                with suppress(ValueError, KeyError):
                    seconds = float(text)
                    found[kind] += [seconds] if 0 <= seconds < math.inf else []
        return found

    def entries(self) -> list[Entry]:
        """All entries, the least recently used first."""
        found = []
        for kind in KINDS:
            for path in (self.folder / kind).glob("*.safetensors"):
                with suppress(OSError):  # another process may remove it meanwhile
                    about = path.stat()
                    found.append(Entry(kind, path, about.st_size, about.st_mtime))
        return sorted(found, key=lambda entry: entry.used)

    def prune(self, limit: int) -> list[Entry]:
        """Remove the least recently used entries until ``limit`` bytes are left; returns the removed entries."""
        for unfinished in self.folder.glob("*/.*.safetensors.*"):  # of processes that died while writing
            with suppress(OSError):
                if time.time() - unfinished.stat().st_mtime > 3600:
                    unfinished.unlink()
        entries = self.entries()
        left, removed = sum(entry.size for entry in entries), []
        for entry in entries:
            if left <= limit:
                break
            with suppress(OSError):
                entry.path.unlink()
                left -= entry.size
                removed.append(entry)
        return removed

    def checkpoint(self, key: str) -> Checkpoint:
        """The checkpoint of the training with this key."""
        return Checkpoint(self, key)


_warned: set[Path] = set()


def _warn_once(folder: Path, reason: str) -> None:
    """Warn once for each folder that it can't be written to."""
    if folder not in _warned:
        _warned.add(folder)
        message = f"nothing can be kept in the cache {folder} ({reason}); see --cache-dir"
        warnings.warn(message, BenchWarning, stacklevel=3)


class Checkpoint:
    """The state of a training that may be interrupted."""

    def __init__(self, cache: Cache, key: str) -> None:
        self._cache, self._key = cache, key
        self._last = time.monotonic()

    def load(self, now: Mapping[str, Tensor]) -> tuple[Mapping[str, Tensor], int] | None:
        """The stored state of a training and its finished epochs; None unless it has the shapes of the state ``now``.

        Not compared: momentum, absent in a new training, and the queue of samples, whose length varies.
        """

        def read(left: Kept) -> tuple[Mapping[str, Tensor], int]:
            fixed = {name: tensor.shape for name, tensor in now.items() if "stream" not in name}
            if {name: left.tensors[name].shape for name in fixed if name in left.tensors} != fixed:
                raise ValueError("it is of something else")
            return left.tensors, int(left.note["epoch"])

        return self._cache.load("checkpoints", self._key, read)

    def offer(self, epoch: int, state: Callable[[], Mapping[str, Tensor]]) -> None:
        """Keep the state after ``epoch`` epochs, if the last kept state is old enough."""
        if time.monotonic() - self._last >= self._cache.every:
            self._cache.store("checkpoints", self._key, state(), {"epoch": epoch})
            self._last = time.monotonic()

    def discard(self) -> None:
        """The training has ended."""
        self._cache.discard("checkpoints", self._key)
