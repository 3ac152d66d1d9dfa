"""What was computed once and need not be again: trained networks, features, where a run stood.

Tensors, and nothing that could execute. Everything here can be computed again: an entry that is lost or broken costs
time, never a result.
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
from pseudobench.storage.cache_files import Kept as Kept  # noqa: PLC0414 - an entry, for whoever reads one
from pseudobench.storage.cache_files import read_entry, set_aside, write_entry

if TYPE_CHECKING:
    from torch import Tensor

Content = TypeVar("Content")

#: What is kept, and what for.
KINDS = {
    "features": "of frozen backbones",
    "networks": "trained",
    "checkpoints": "of trainings that have not ended",
    "runs": "that have not ended: where they stood",
}


@dataclass(frozen=True)
class Entry:
    """An entry as ``bench cache`` sees it: how large it is, and when it was used last."""

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
        """Held by one process at a time: what two need is computed by one. The system frees it if that one dies.

        Far away there are no locks: what two need at the same time is computed by both.
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
        """What ``read`` makes of an entry; None if there is none.

        An entry that does not verify, or that ``read`` raises for, is set aside, warned of, and as good as absent.
        """
        path = self.path(kind, key)
        try:
            found = read(read_entry(path, (kind, key)))
        except FileNotFoundError:
            return None
        except Exception as error:  # whatever a damaged file makes safetensors, json or `read` raise
            set_aside(path)
            message = f"{path.name} in the cache can't be read ({one_line(error)}); computed again"
            warnings.warn(message, BenchWarning, stacklevel=2)
            return None
        with suppress(OSError, TypeError):  # far away there is no such time to set
            os.utime(path)  # used now: the last to be pruned
        return found

    def store(self, kind: str, key: str, tensors: Mapping[str, Tensor], note: Mapping[str, Any]) -> None:
        """Keep an entry, whole or not at all. What can't be kept is used all the same."""
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
        """Note that an entry was used instead of so many seconds of work."""
        path = self.folder / "saved.txt"
        with suppress(OSError, ValueError, NotImplementedError):
            if instead_of_file(path) is None:
                with path.open("a", encoding="utf-8") as file:
                    file.write(f"{kind} {seconds:.3f}\n")

    def savings(self) -> dict[str, list[float]]:
        """By kind, the seconds that each use of an entry saved. Lines that say something else are passed over."""
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
        """Everything that is kept, what was used last at the end."""
        found = []
        for kind in KINDS:
            for path in (self.folder / kind).glob("*.safetensors"):
                with suppress(OSError):  # another process may remove it meanwhile
                    about = path.stat()
                    found.append(Entry(kind, path, about.st_size, about.st_mtime))
        return sorted(found, key=lambda entry: entry.used)

    def prune(self, limit: int) -> list[Entry]:
        """Remove what was not used for longest until ``limit`` bytes are left; what was removed."""
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
        """Where a training with this key leaves its state."""
        return Checkpoint(self, key)


_warned: set[Path] = set()


def _warn_once(folder: Path, reason: str) -> None:
    """Say once for each folder that it is of no use."""
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
        """The state a training was left in, and the epochs behind it; None if none was left by a training like ``now``.

        A training that has just begun has no momentum, and another number of samples may be waiting.
        """

        def read(left: Kept) -> tuple[Mapping[str, Tensor], int]:
            fixed = {name: tensor.shape for name, tensor in now.items() if "stream" not in name}
            if {name: left.tensors[name].shape for name in fixed if name in left.tensors} != fixed:
                raise ValueError("it is of something else")
            return left.tensors, int(left.note["epoch"])

        return self._cache.load("checkpoints", self._key, read)

    def offer(self, epoch: int, state: Callable[[], Mapping[str, Tensor]]) -> None:
        """Keep the state after ``epoch`` epochs, if the last one kept is old enough."""
        if time.monotonic() - self._last >= self._cache.every:
            self._cache.store("checkpoints", self._key, state(), {"epoch": epoch})
            self._last = time.monotonic()

    def discard(self) -> None:
        """The training has ended."""
        self._cache.discard("checkpoints", self._key)
