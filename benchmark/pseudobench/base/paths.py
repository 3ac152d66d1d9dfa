"""Paths on this machine, or URLs that fsspec knows (``s3://bucket/runs``), and writing to them safely."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from pseudobench.base.text import is_path_text
from pseudobench.errors import BenchError, one_line

DEFAULT_RESULTS = "runs"


def to_path(given: str | os.PathLike[str]) -> Path:
    """A path; for a URL, an object that works like one (a ``UPath``)."""
    text = _checked(given)
    if "://" not in text:
        return Path(text)
    try:
        from upath import UPath
    except ImportError:
        raise BenchError(f"{text}: URLs need universal_pathlib: pip install 'pseudobench[remote]'") from None
    try:
        found = UPath(text)
        found.exists()  # some protocols need a package of their own, some a server that answers
    except Exception as error:
        raise BenchError(f"{text} can't be reached: {one_line(error)}") from None
    return cast("Path", found)


def _checked(given: str | os.PathLike[str]) -> str:
    text = os.fspath(given)
    if not is_path_text(text):
        raise BenchError(f"{text!r} is no path: it holds a NUL character, or half of one")
    return text


def is_remote(path: Path) -> bool:
    """Whether a path is a URL. Files written there appear whole at once, but nothing can be locked."""
    return not isinstance(path, Path)


def instead_of_file(path: Path) -> str | None:
    """What stands at a path in place of a file, in words: opening it could block, or harm. None: a file, or nothing."""
    if is_remote(path):
        return None
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return "a link to nowhere" if os.path.islink(path) else None
    except (OSError, ValueError):  # opening it says why
        return None
    return next((words for is_one, words in _ODD.items() if is_one(mode)), None)


_ODD = {
    stat.S_ISDIR: "a folder",
    stat.S_ISFIFO: "a pipe",
    stat.S_ISSOCK: "a socket",
    stat.S_ISCHR: "a device",
    stat.S_ISBLK: "a device",
}


@contextmanager
def local_copy(path: Path) -> Iterator[Path]:
    """A file's path on this machine: its own, or that of a temporary copy of a remote file."""
    if not is_remote(path):
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        copy.write_bytes(path.read_bytes())
        yield copy


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file whole or not at all: into a temporary file beside it first, then moved in one step."""
    if is_remote(path):
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


def check_output(path: Path) -> Path:
    """A path that a file can be written to; raises where something stands that must not be replaced."""
    odd = "a link" if not is_remote(path) and path.is_symlink() else instead_of_file(path)
    if odd is not None:
        raise BenchError(f"can't write {path}: it is {odd}")
    return path


def write_output(path: Path, content: bytes) -> None:
    """Write a file that the user asked for, its folder included; a failure is one clear line."""
    check_output(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content)
    except OSError as error:
        raise BenchError(f"can't write {path}: {error.strerror or error}") from None


def results_folder(given: str | os.PathLike[str] | None) -> Path:
    """The folder of run records: as given, or PSEUDOBENCH_RESULTS, or ``runs``."""
    return to_path(given or os.environ.get("PSEUDOBENCH_RESULTS") or DEFAULT_RESULTS)


def data_folder(given: str | os.PathLike[str] | None) -> Path:
    """The folder of datasets: as given, or PSEUDOBENCH_DATA, or ``data``."""
    folder = Path(_checked(given or os.environ.get("PSEUDOBENCH_DATA") or "data"))
    if os.path.lexists(folder) and not folder.is_dir():
        raise BenchError(f"the data folder {folder} is {instead_of_file(folder) or 'a file'}; name a folder")
    return folder


def cache_folder(given: str | os.PathLike[str] | None) -> Path:
    """The folder of cached computations: as given, or PSEUDOBENCH_CACHE, or in the user's cache folder."""
    user = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return to_path(given or os.environ.get("PSEUDOBENCH_CACHE") or Path(user) / "pseudobench")
