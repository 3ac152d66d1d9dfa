"""Run records: one versioned JSON file per run, written atomically."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from filelock import FileLock, Timeout

from pseudobench.base.paths import is_remote, write_atomically
from pseudobench.errors import BenchError

FORMAT = 1
KIND = "pseudobench.run"
_KEYS = {"run_id", "status", "spec", "split", "environment", "rounds", "error", "seconds"}


@dataclass(frozen=True)
class Store:
    """A folder of run records."""

    folder: Path

    def prepare(self) -> None:
        """Make the folder if need be; raise unless records can be written there."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if is_remote(self.folder):
                (self.folder / ".try").write_text("")
            else:
                tempfile.TemporaryFile(dir=self.folder).close()
        except OSError as error:
            raise BenchError(f"can't write to the results folder {self.folder}: {error.strerror or error}") from None

    @contextmanager
    def claim(self, run_id: str, *, wait: bool) -> Iterator[bool]:
        """Whether this process is the one at work on a run; the system frees the claim of one that died.

        Far away nothing can be claimed: two commands may do the same run, and the records are the same.
        """
        if is_remote(self.folder):
            yield True
            return
        folder = self.folder / ".claims"
        folder.mkdir(exist_ok=True)
        claim = FileLock(folder / f"{run_id}.lock")
        try:
            claim.acquire(timeout=-1 if wait else 0)
        except Timeout:
            yield False
            return
        try:
            yield True
        finally:
            claim.release()

    def is_claimed(self, run_id: str) -> bool:
        """Whether a process is at work on a run; far away, whether one has begun it."""
        if is_remote(self.folder):
            return self.path(run_id).exists()
        if not (self.folder / ".claims" / f"{run_id}.lock").exists():
            return False
        with self.claim(run_id, wait=False) as free:
            return not free

    def run_ids(self) -> list[str]:
        """The ids of the records directly in the folder."""
        return sorted(path.stem for path in self.folder.glob("*.json"))

    def path(self, run_id: str) -> Path:
        """Where a run's record is."""
        return self.folder / f"{run_id}.json"

    def load(self, run_id: str) -> dict[str, Any] | None:
        """A run's record, or None if there is none."""
        path = self.path(run_id)
        return read_record(path) if path.exists() else None

    def save(self, record: Mapping[str, Any]) -> None:
        """Write a record whole or not at all."""
        text = json.dumps(record, indent=1, allow_nan=False) + "\n"
        path = self.path(record["run_id"])
        try:
            write_atomically(path, text.encode())
        except OSError as error:
            raise BenchError(f"can't write {path}: {error.strerror}") from None

    def records(self) -> Iterator[dict[str, Any]]:
        """Every record below the folder, by path. Other JSON files (a figure's, say) may lie beside them."""
        return records_of([self])

    def find(self, text: str) -> dict[str, Any]:
        """The one record whose run id is ``text``, starts with it, or contains it."""
        paths = self._paths()
        for fits in (str.__eq__, str.startswith, str.__contains__):
            matches = [path for path in paths if fits(path.stem, text)]
            if len(matches) == 1:
                return read_record(matches[0])
            if matches:
                some = ", ".join(path.stem for path in matches[:3])
                raise BenchError(f"{len(matches)} runs fit {text!r} (such as {some}); give more of the name")
        raise BenchError(f"there is no run {text!r} in {self.folder}; `bench table --runs` lists them")

    def _paths(self) -> list[Path]:
        if not self.folder.is_dir():
            raise BenchError(f"there is no results folder {self.folder}; `bench run` makes one")
        if is_remote(self.folder):
            return sorted(self.folder.rglob("*.json"))
        # As rglob does it, in a third of the time: there may be tens of thousands.
        found = (os.path.join(at, name) for at, _, names in os.walk(self.folder) for name in names)
        return [Path(name) for name in sorted(found) if name.endswith(".json")]


def records_of(stores: Iterable[Store]) -> Iterator[dict[str, Any]]:
    """Every record of several folders."""
    return (record for _, record in record_files(stores))


def record_files(stores: Iterable[Store]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Every record of several folders with its file. A file below two of them counts once."""
    read: set[str] = set()
    seen: dict[str, Path] = {}
    for store in stores:
        for path in store._paths():
            name = str(path) if is_remote(path) else os.path.abspath(path)
            record = None if name in read else _read(path)
            read.add(name)
            if record is None:
                continue
            first = seen.setdefault(record["run_id"], path)
            if first is not path:
                raise BenchError(f"{first} and {path} are the same run; move one of them away")
            yield path, record


def read_record(path: Path) -> dict[str, Any]:
    """A record from its file; raises on anything else."""
    record = _read(path)
    if record is None:
        raise BenchError(f"{path} is not a run record of pseudobench; move it away")
    return record


def _read(path: Path) -> dict[str, Any] | None:
    """A record from its file, None for another kind of JSON; raises on a format that this version does not know."""
    try:
        record = orjson.loads(path.read_bytes())
    except OSError as error:
        raise BenchError(f"can't read {path}: {error.strerror}") from None
    except ValueError:
        raise BenchError(f"{path} is not a run record (broken JSON); move it away") from None
    if not isinstance(record, dict) or record.get("kind") != KIND:
        return None
    if record.get("format") != FORMAT:
        raise BenchError(
            f"{path} has record format {record.get('format')}, this pseudobench reads {FORMAT}; "
            "take the version of pseudobench that wrote it"
        )
    if not record.keys() >= _KEYS:
        raise BenchError(f"{path} is not a whole run record; move it away")
    return record


def without_times(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record without what differs from one execution to the next: clock times, durations, what was reused."""
    rounds = [
        {key: value for key, value in each.items() if key not in ("seconds", "work")} for each in record["rounds"]
    ]
    times = ("started", "finished", "seconds", "resumed_after")
    kept = {key: value for key, value in record.items() if key not in times}
    return {**kept, "rounds": rounds}
