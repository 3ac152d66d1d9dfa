"""What was computed once and need not be again: trained networks, features, where a run stood.

Tensors, and nothing that could execute. Everything here can be computed again: an entry that is lost or broken costs
time, never a result.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock
from safetensors import SafetensorError, safe_open

from pseudobench.base.hashing import digest
from pseudobench.base.paths import is_remote, local_copy
from pseudobench.errors import BenchWarning

if TYPE_CHECKING:
    from torch import Tensor

#: What is kept, and what for.
KINDS = {
    "features": "of frozen backbones",
    "networks": "trained",
    "checkpoints": "of trainings that have not ended",
    "runs": "that have not ended: where they stood",
}


def _shapes(tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    return {name: tensor.shape for name, tensor in tensors.items()}


@dataclass(frozen=True)
class Kept:
    """An entry: its tensors by name, and what was noted with them."""

    tensors: Mapping[str, Tensor]
    note: Mapping[str, Any]


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

    def load(self, kind: str, key: str, like: Mapping[str, Tensor] | None = None) -> Kept | None:
        """An entry, or None if it is not there, is no longer whole, or does not hold tensors ``like`` these."""
        path = self.path(kind, key)
        try:
            with local_copy(path) as here, safe_open(here, "pt") as file:
                about = file.metadata() or {}
                found = Kept({name: file.get_tensor(name) for name in file.keys()}, json.loads(about["note"]))  # noqa: SIM118
            if about["sha256"] != digest(*(found.tensors[name] for name in sorted(found.tensors))):
                raise ValueError("its content has changed")
            if like is not None and _shapes(found.tensors) != _shapes(like):
                raise ValueError("it is of something else")
        except FileNotFoundError:
            return None
        except (SafetensorError, OSError, KeyError, ValueError) as error:
            warnings.warn(
                f"{path.name} in the cache can't be read ({error}); computed again", BenchWarning, stacklevel=2
            )
            return None
        with suppress(OSError, TypeError):  # far away there is no such time to set
            os.utime(path)  # used now: the last to be pruned
        return found

    def store(self, kind: str, key: str, tensors: Mapping[str, Tensor], note: Mapping[str, Any]) -> None:
        """Keep an entry, whole or not at all. What can't be kept is used all the same."""
        from safetensors.torch import save, save_file

        path = self.path(kind, key)
        unfinished = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            whole = {name: tensors[name].contiguous().cpu() for name in sorted(tensors)}
            about = {"note": json.dumps(note), "sha256": digest(*whole.values())}
            if is_remote(path):
                path.write_bytes(save(whole, about))
            else:
                save_file(whole, unfinished, about)
                unfinished.replace(path)
        except (OSError, SafetensorError) as error:
            with suppress(OSError):
                unfinished.unlink()
            _warn_once(self.folder, str(error))

    def discard(self, kind: str, key: str) -> None:
        """Forget an entry."""
        with suppress(OSError):
            self.path(kind, key).unlink()

    def saved(self, kind: str, seconds: float) -> None:
        """Note that an entry was used instead of so many seconds of work."""
        with (
            suppress(OSError, ValueError, NotImplementedError),
            (self.folder / "saved.txt").open("a", encoding="utf-8") as file,
        ):
            file.write(f"{kind} {seconds:.3f}\n")

    def savings(self) -> dict[str, list[float]]:
        """By kind, the seconds that each use of an entry saved."""
        found: dict[str, list[float]] = {}
        with suppress(OSError, ValueError):
            for line in (self.folder / "saved.txt").read_text(encoding="utf-8").splitlines():
                kind, seconds = line.split()
                found.setdefault(kind, []).append(float(seconds))
        return found

    def entries(self) -> list[Entry]:
        """Everything that is kept, what was used last at the end."""
        found = []
        for kind in KINDS:
            for path in (self.folder / kind).glob("*.safetensors"):
                with suppress(OSError):  # another process may remove it meanwhile
                    found.append(Entry(kind, path, path.stat().st_size, path.stat().st_mtime))
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

    def load(self, now: Mapping[str, Tensor]) -> Kept | None:
        """The state it was left in, if it was, and if that is a state of a training which is in state ``now``."""
        left = self._cache.load("checkpoints", self._key)
        names = {name for name in now if not name.startswith("momentum/")}
        return left if left is not None and names <= left.tensors.keys() else None

    def offer(self, epoch: int, state: Callable[[], Mapping[str, Tensor]]) -> None:
        """Keep the state after ``epoch`` epochs, if the last one kept is old enough."""
        if time.monotonic() - self._last >= self._cache.every:
            self._cache.store("checkpoints", self._key, state(), {"epoch": epoch})
            self._last = time.monotonic()

    def discard(self) -> None:
        """The training has ended."""
        self._cache.discard("checkpoints", self._key)
