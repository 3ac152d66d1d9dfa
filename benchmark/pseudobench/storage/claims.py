"""Claims: locks of the file system, so that several commands on one results folder execute each run once."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from pseudobench.base.paths import is_remote
from pseudobench.errors import BenchWarning

_FOLDER = ".claims"


@contextmanager
def claim(folder: Path, run_id: str, *, wait: bool) -> Iterator[bool]:
    """Claim a run for this process; yields False if another process has claimed it.

    The system frees the claims of a process that dies. Nothing can be claimed in remote folders, nor where
    `.claims` is not a writable folder: two commands may do the same run there, and write the same record.
    """
    if is_remote(folder):
        yield True
        return
    claims = folder / _FOLDER
    lock = FileLock(claims / f"{run_id}.lock")
    try:
        claims.mkdir(exist_ok=True)
        lock.acquire(timeout=-1 if wait else 0)
    except Timeout:
        yield False
        return
    except OSError as error:
        message = f"{claims} can't be used ({error.strerror or error}): two commands may do the same run"
        warnings.warn(message, BenchWarning, stacklevel=3)
        yield True
        return
    try:
        yield True
    finally:
        lock.release()


def is_claimed(folder: Path, run_id: str) -> bool:
    """Whether a process has claimed a run of a local folder."""
    if not (folder / _FOLDER / f"{run_id}.lock").exists():
        return False
    with claim(folder, run_id, wait=False) as free:
        return not free
