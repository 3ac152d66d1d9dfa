"""Folders that may be far away: a path, or a URL that fsspec knows (``s3://bucket/runs``)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from pseudobench.errors import BenchError, one_line


def place(given: str | os.PathLike[str]) -> Path:
    """A path; for a URL something that works like one (a ``UPath``)."""
    text = os.fspath(given)
    if "://" not in text:
        return Path(text)
    try:
        from upath import UPath
    except ImportError:
        raise BenchError(f"{text}: URLs need universal_pathlib: pip install 'pseudobench[remote]'") from None
    try:
        found = UPath(text)
        found.exists()  # some need a package of their own, some a server that answers
    except Exception as error:
        raise BenchError(f"{text} can't be reached: {one_line(error)}") from None
    return cast("Path", found)


def is_far(path: Path) -> bool:
    """Whether a place is a URL. What is written there appears whole at once, but nothing can be locked."""
    return not isinstance(path, Path)


@contextmanager
def near(path: Path) -> Iterator[Path]:
    """A file's path on this machine: its own, or that of a copy."""
    if not is_far(path):
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        copy.write_bytes(path.read_bytes())
        yield copy


def write_whole(path: Path, content: bytes) -> None:
    """Write a file whole or not at all: beside its place first, then moved there in one step."""
    if is_far(path):
        path.write_bytes(content)
        return
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def write_output(path: Path, content: bytes) -> None:
    """What a command was asked to write; makes the folder, and says in one line what can't be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
    except OSError as error:
        raise BenchError(f"can't write {path}: {error.strerror or error}") from None
