"""Files that users bring: their canonical names, a hash of their content, tables as rows, and which rows are tests."""

from __future__ import annotations

import codecs
import csv
import hashlib
import io
import os
from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path

from pseudobench.base.seeds import shuffled
from pseudobench.errors import BenchError

#: Without parts of its own, a dataset gives one sample of each class in this many for testing.
TEST_SHARE = 5
_BYTE_ORDER_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def canonical_path(text: str) -> str:
    """One text for all ways to write a path: relative if it is below the working folder, else absolute."""
    if not text:
        return text
    absolute = os.path.abspath(os.path.expanduser(text))
    relative = os.path.relpath(absolute)
    return absolute if relative.split(os.sep)[0] == os.pardir else relative


def fingerprint(folder: Path, files: Iterable[Path]) -> str:
    """A hash of files: their names relative to ``folder``, and their bytes, in the order of the names."""
    found = hashlib.sha256()
    for name, file in sorted({Path(os.path.relpath(file, folder)).as_posix(): file for file in files}.items()):
        with file.open("rb") as opened:
            content = hashlib.file_digest(opened, "sha256").hexdigest()
        found.update(f"{content} {name}\n".encode())
    return found.hexdigest()


def read_table(path: Path) -> tuple[list[str], list[list[str]]]:
    """The column names and the rows of a CSV file: UTF-8 (or any encoding with a byte-order mark), commas, quotes.

    Every row has as many fields as there are columns. Everything else is refused in one line that says where.
    """
    if not path.is_file():
        raise BenchError(f"there is no table {path}")
    text = _decode(path)
    if "\0" in text:
        raise BenchError(f"{path}, line {text[: text.index(chr(0))].count(chr(10)) + 1}: a NUL, which no table has")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows, start = [], 1
    try:
        for row in reader:
            if row:  # a blank line is none
                rows.append((start, row))
            start = reader.line_num + 1
    except csv.Error as error:
        unclosed = "unexpected end" in str(error)
        reason = "a quote that is never closed" if unclosed else str(error)
        raise BenchError(f"{path}, line {start}: {reason}") from None
    if not rows:
        raise BenchError(f"{path} is empty; its first line names the columns")
    header = [name.strip() for name in rows[0][1]]
    _check_header(path, header)
    for line, row in rows[1:]:
        if len(row) != len(header):
            raise BenchError(f"{path}, line {line}: {len(row)} fields, and the first line names {len(header)} columns")
    return header, [row for _, row in rows[1:]]


def _decode(path: Path) -> str:
    content = path.read_bytes()
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS.items() if content.startswith(mark)), "utf-8")
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise BenchError(
            f"{path}, line {line}: not {encoding.upper().removesuffix('-SIG')}; save it as UTF-8"
        ) from None


def _check_header(path: Path, header: list[str]) -> None:
    if len(header) == 1 and any(mark in header[0] for mark in ";\t|"):
        raise BenchError(f"{path}: its columns must be separated by commas; its first line is {header[0][:60]!r}")
    double = next((name for place, name in enumerate(header) if name in header[:place]), None)
    if double is not None:
        raise BenchError(f"{path}: two columns are called {double!r}")


def held_for_testing(labels: Sequence[Hashable]) -> list[bool]:
    """Which samples are for testing: of each class one in five, at least one, chosen by a hash of their places."""
    members: dict[Hashable, list[int]] = {}
    for place, label in enumerate(labels):
        members.setdefault(label, []).append(place)
    chosen = {place for own in members.values() for place in shuffled(own, "test")[: max(len(own) // TEST_SHARE, 1)]}
    return [place in chosen for place in range(len(labels))]
