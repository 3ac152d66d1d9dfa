"""Run records: one versioned JSON file per run, written atomically, or a line of a pack that holds finished ones.

`record_schema` says what is in one. A packed record is read as if it were a file of its own; where there is such a
file, the file counts.
"""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pseudobench.base.paths import instead_of_file, is_remote, write_atomically
from pseudobench.base.text import in_texts, without_surrogates
from pseudobench.errors import BenchError, BenchWarning
from pseudobench.storage.claims import claim, is_claimed
from pseudobench.storage.packs import FOLDER, SUFFIX, pack_with, packs_of
from pseudobench.storage.record_schema import FORMAT, KIND, UnknownFormatError, decode

__all__ = ["FORMAT", "KIND", "Store", "StoredRecord", "read_record", "record_files", "records_of", "without_times"]

#: Bytes of the largest file that is read: a thousand times an ordinary record.
_LARGEST = 64_000_000


class StoredRecord(dict[str, Any]):
    """A record and the folder that it lies in, with its predictions beside it."""

    def __init__(self, record: Mapping[str, Any], folder: Path) -> None:
        super().__init__(record)
        self.folder = folder


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

    def claim(self, run_id: str, *, wait: bool) -> AbstractContextManager[bool]:
        """Claim a run for this process; the context is False if another process has claimed it."""
        return claim(self.folder, run_id, wait=wait)

    def is_claimed(self, run_id: str) -> bool:
        """Whether a process is at work on a run; in a remote folder, whether the run has begun."""
        return self.path(run_id).exists() if is_remote(self.folder) else is_claimed(self.folder, run_id)

    def run_ids(self) -> list[str]:
        """The ids of the records directly in the folder."""
        packed = (run_id for pack in packs_of(self.folder) for run_id in pack.records)
        return sorted({*packed, *(path.stem for path in self.folder.glob("*.json"))})

    def path(self, run_id: str) -> Path:
        """Where a run's record is."""
        return self.folder / f"{run_id}.json"

    def load(self, run_id: str) -> dict[str, Any] | None:
        """A run's record, or None if there is neither a file for it nor a pack; raises if the file is anything else."""
        path = self.path(run_id)
        there = path.exists() if is_remote(path) else os.path.lexists(path)
        if not there and pack_with(self.folder, run_id) is None:
            return None
        record = read_record(path)
        if record["run_id"] != run_id:
            raise BenchError(f"{path} is the record of another run, {record['run_id']}; move it away")
        return record

    def save(self, record: Mapping[str, Any]) -> None:
        """Write a record whole or not at all; raises if it could not be read again."""
        path = self.path(record["run_id"])
        try:
            content = _encode(record)
            if decode(content) is None:
                raise ValueError("not of the kind of a record")
        except (TypeError, ValueError, RecursionError) as error:
            raise BenchError(f"the record of {record['run_id']} can't be kept: {error}") from None
        try:
            write_atomically(path, content)
        except OSError as error:
            raise BenchError(f"can't write {path}: {error.strerror or error}") from None

    def records(self) -> Iterator[dict[str, Any]]:
        """Every record below the folder, by path. Other JSON files (a figure's, say) may lie beside them."""
        return records_of([self])

    def find(self, text: str) -> dict[str, Any]:
        """The one record whose run id is ``text``, starts with it, or contains it."""
        paths = self._paths()
        for fits in (str.__eq__, str.startswith, str.__contains__):
            # Of two files of one run the first is taken.
            matches = list({path.stem: path for path in reversed(paths) if fits(path.stem, text)}.values())[::-1]
            if len(matches) == 1:
                return _as_it_is(matches[0], read_record(matches[0]))
            if matches:
                some = ", ".join(path.stem for path in matches[:3])
                raise BenchError(f"{len(matches)} runs fit {text!r} (such as {some}); give more of the name")
        raise BenchError(f"there is no run {text!r} in {self.folder}; `bench table --runs` lists them")

    def _paths(self) -> list[Path]:
        if not self.folder.is_dir():
            raise BenchError(f"there is no results folder {self.folder}; `bench run` makes one")
        if is_remote(self.folder):
            packs = [path.parent.parent for path in self.folder.rglob(f"*{SUFFIX}")]
            return sorted({*self.folder.rglob("*.json"), *_packed(packs)})
        # Like rglob, in a third of the time: there may be tens of thousands. A folder x.json is listed to be warned of.
        walked = os.walk(self.folder, onerror=lambda error: _warn(f"can't read {error.filename}: {error.strerror}"))
        found: set[str] = set()
        packs = []
        for at, folders, names in walked:
            found.update(os.path.join(at, name) for name in (*folders, *names) if name.endswith(".json"))
            packs += [Path(at)] if FOLDER in folders else []
        return [Path(name) for name in sorted(found | {str(path) for path in _packed(packs)})]


def _packed(folders: Iterable[Path]) -> Iterator[Path]:
    """The paths that the packed records of folders would have as files; a pack that can't be read is warned of."""
    for folder in folders:
        try:
            yield from (Store(folder).path(run_id) for pack in packs_of(folder) for run_id in pack.records)
        except BenchError as error:
            _warn(f"left out: {error}")


def records_of(stores: Iterable[Store]) -> Iterator[dict[str, Any]]:
    """Every record of several folders; of a run that began and has neither ended nor a process, as interrupted."""
    for path, record in record_files(stores):
        yield _as_it_is(path, record)


def _as_it_is(path: Path, record: dict[str, Any]) -> dict[str, Any]:
    """A record that says ``running`` only if a process is at it."""
    if record["status"] == "running" and not Store(path.parent).is_claimed(record["run_id"]):
        record["status"] = "interrupted"
    return record


def record_files(stores: Iterable[Store]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Every record of several folders with its file. Files that are no valid record are warned of, and left out.

    A file below two of the folders counts once. Of two files of one run the first is taken, in the order of the
    folders and then of paths, whatever their times say: the same command always shows the same numbers.
    """
    read: set[str] = set()
    seen: dict[str, Path] = {}
    for store in stores:
        for path in store._paths():
            name = str(path) if is_remote(path) else os.path.abspath(path)
            if name in read:
                continue
            read.add(name)
            try:
                record = _read(path)
            except BenchError as error:
                _warn(f"left out: {error}")
                continue
            if record is None:
                continue
            first = seen.setdefault(record["run_id"], path)
            if first is path:
                yield path, record
            else:
                _warn(f"{first} and {path} are the same run; the first is taken: move one of them away")


def _warn(message: str) -> None:
    warnings.warn(message, BenchWarning, stacklevel=3)


def read_record(path: Path) -> dict[str, Any]:
    """A record from its file; raises on anything else."""
    record = _read(path)
    if record is None:
        raise BenchError(f"{path} is not a run record of pseudobench; move it away")
    return record


def _read(path: Path) -> dict[str, Any] | None:
    """A record from its file or its pack, None for another kind of JSON; raises for one that is not valid."""
    odd = instead_of_file(path)
    if odd is not None:
        raise BenchError(f"{path} is {odd}, not a run record; move it away")
    try:
        record = decode(_content(path))
        return None if record is None else StoredRecord(record, path.parent)
    except OSError as error:
        raise BenchError(f"can't read {path}: {error.strerror or error}") from None
    except UnknownFormatError as error:
        raise BenchError(f"{path} has {error}; take the version of pseudobench that wrote it") from None
    except ValueError as error:
        raise BenchError(f"{path} is not a valid run record ({error}); move it away") from None


def _content(path: Path) -> bytes:
    try:
        if path.stat().st_size > _LARGEST:
            raise BenchError(f"{path} is too large for a run record; move it away")
        return path.read_bytes()
    except FileNotFoundError:
        pack = pack_with(path.parent, path.stem)
        if pack is None:
            raise
        return pack.records[path.stem]


def _encode(record: Mapping[str, Any]) -> bytes:
    """A record as JSON. A lone surrogate, as in file names that are not UTF-8, is written as its escape."""
    text = json.dumps(record, indent=1, allow_nan=False)
    if "\\ud" in text:  # a lone surrogate, or one of a valid pair
        text = json.dumps(in_texts(without_surrogates, record), indent=1, allow_nan=False)
    return f"{text}\n".encode()


def without_times(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record without the parts that differ between executions: clock times, durations, counts of reused networks."""
    rounds = [
        {key: value for key, value in each.items() if key not in ("seconds", "work")} for each in record["rounds"]
    ]
    times = ("started", "finished", "seconds", "resumed_after")
    kept = {key: value for key, value in record.items() if key not in times}
    return {**kept, "rounds": rounds}
