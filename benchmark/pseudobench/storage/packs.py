"""Packs: many finished runs in one file, some three kilobytes for each where record and predictions take thirty.

A pack is a zip file, compressed by LZMA, in the folder ``packs`` of a results folder. Its member ``records.jsonl`` has
a record on each line. Predictions of runs with equally many test samples lie side by side, sample by sample:
``predicted-K.npy [N, R, ...]`` and ``correct-K.npy [N, R]``. ``index.json`` names the runs of the lines, and the R runs
of each K. Networks agree on most samples, so that this compresses to a tenth. Probabilities, most of what is left, are
not kept.
"""

from __future__ import annotations

import io
import json
import lzma
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from pseudobench.errors import BenchError

if TYPE_CHECKING:
    import numpy as np

FOLDER = "packs"
SUFFIX = ".pack"

#: What reading a file that is no pack, or not as it was written, may raise; a zip file has a checksum of each member.
_DAMAGE = (zipfile.BadZipFile, lzma.LZMAError, ValueError, KeyError, TypeError, EOFError, NotImplementedError)


@dataclass(frozen=True)
class Pack:
    """A pack as it was read. ``records``: lines of JSON by run id. ``columns``: group and place of its predictions."""

    path: Path
    content: bytes
    records: Mapping[str, bytes]
    columns: Mapping[str, tuple[int, int]]

    def predicted(self, run_id: str) -> np.ndarray | None:
        """The classes that a run predicted, a small integer ``[N]`` or ``bool [N, C]``; None where it kept none."""
        return self._column(run_id, "predicted")

    def correct(self, run_id: str) -> np.ndarray | None:
        """Whether each test sample was classified correctly, ``bool [N]``; None where the run kept no predictions."""
        return self._column(run_id, "correct")

    def _column(self, run_id: str, kind: str) -> np.ndarray | None:
        if run_id not in self.columns:
            return None
        group, place = self.columns[run_id]
        name = f"{kind}-{group}.npy"
        if name not in self._arrays:
            self._arrays[name] = _array(self.path, self.content, name)
        return self._arrays[name][:, place]

    @cached_property
    def _arrays(self) -> dict[str, np.ndarray]:
        """The arrays that were asked for, by the names of their members."""
        return {}


def packs_of(folder: Path) -> list[Pack]:
    """The packs of a results folder, each read once as long as its file stays the same."""
    files = sorted((folder / FOLDER).glob(f"*{SUFFIX}")) if (folder / FOLDER).is_dir() else []
    return [_open(path, (found.st_size, found.st_mtime)) for path in files for found in [path.stat()]]


def pack_with(folder: Path, run_id: str) -> Pack | None:
    """The pack of a results folder that holds a run."""
    return next((pack for pack in packs_of(folder) if run_id in pack.records), None)


@lru_cache(maxsize=64)
def _open(path: Path, _stamp: tuple[float, ...]) -> Pack:
    try:
        content = path.read_bytes()
        with zipfile.ZipFile(io.BytesIO(content)) as members:
            index = json.loads(members.read("index.json"))
            lines = members.read("records.jsonl").splitlines()
        groups = enumerate(index["predictions"])
        columns = {run_id: (at, place) for at, runs in groups for place, run_id in enumerate(runs)}
        return Pack(path, content, dict(zip(index["runs"], lines, strict=True)), columns)
    except OSError as error:
        raise BenchError(f"can't read {path}: {error.strerror or error}") from None
    except _DAMAGE:
        raise BenchError(f"{path} is no pack of runs, or damaged; restore it, or move it away") from None


def _array(path: Path, content: bytes, name: str) -> np.ndarray:
    import numpy as np

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as members:
            found: np.ndarray = np.load(io.BytesIO(members.read(name)), allow_pickle=False)
            return found
    except _DAMAGE:
        raise BenchError(f"{path} is no pack of runs, or damaged; restore it, or move it away") from None
