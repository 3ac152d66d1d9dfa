"""Listing a folder or a table of images without opening any image (and without torch)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Generic, TypeVar

from pseudobench import BenchError
from pseudobench.files.own_files import TEST_SHARE, read_table

SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".ppm", ".pgm", ".tif", ".tiff"}

Label = TypeVar("Label", int, tuple[int, ...])


@dataclass(frozen=True)
class Listing(Generic[Label]):
    """Class names, and the files of both parts, each with the number of its class or the numbers of its classes."""

    classes: tuple[str, ...]
    train: list[tuple[Path, Label]]
    test: list[tuple[Path, Label]]


@cache
def list_folder(folder: Path) -> Listing[int]:
    """The images in ``train/CLASS`` and ``test/CLASS``, or in ``CLASS``, where every fifth image is for testing."""
    if not folder.is_dir():
        raise BenchError(f"there is no folder {folder}")
    if (folder / "train").is_dir() and (folder / "test").is_dir():
        train, test = _classes(folder / "train"), _classes(folder / "test")
        if train.keys() != test.keys():
            odd = ", ".join(sorted(train.keys() ^ test.keys()))
            raise BenchError(f"{folder}: train and test must have the same classes; not in both: {odd}")
    else:
        every = _classes(folder)
        test = {name: files[TEST_SHARE - 1 :: TEST_SHARE] for name, files in every.items()}
        train = {name: [file for file in files if file not in set(test[name])] for name, files in every.items()}
        for name, files in test.items():
            if not files:
                raise BenchError(f"{folder / name} has fewer than {TEST_SHARE} images, too few to test with one")
    names = tuple(sorted(train))
    parts = ([(file, names.index(name)) for name in names for file in part[name]] for part in (train, test))
    return Listing(names, *parts)


def _classes(folder: Path) -> dict[str, list[Path]]:
    """Class to its image files, sorted by name."""
    found = {}
    for child in sorted(folder.iterdir()):
        if child.is_dir() and not child.name.startswith("."):
            found[child.name] = sorted(file for file in child.iterdir() if file.suffix.lower() in SUFFIXES)
            if not found[child.name]:
                raise BenchError(f"the class folder {child} holds no image")
    if len(found) < 2:
        raise BenchError(f"{folder} must hold a folder of images for each class, at least two")
    return found


@cache
def list_table(table: Path) -> Listing[tuple[int, ...]]:
    """The images that a CSV file names, with their labels: none, one or several, split by ``;``.

    Files are beside the table. Without a column ``part`` every fifth image is for testing.
    """
    header, cells = read_table(table)
    rows = [dict(zip(header, row, strict=True)) for row in cells]
    missing = {"file", "labels"} - set(header if rows else ())
    if missing:
        raise BenchError(
            f"{table} must begin with a line that names its columns, file and labels; it has no {missing.pop()}"
        )
    found: dict[str, list[tuple[Path, tuple[str, ...]]]] = {"train": [], "test": []}
    for line, row in enumerate(rows, 2):
        path = table.parent / row["file"]
        if not path.is_file():
            raise BenchError(f"{table}, line {line}: there is no file {path}")
        part = row.get("part") or ("test" if (line - 1) % TEST_SHARE == 0 else "train")
        if part not in found:
            raise BenchError(f"{table}, line {line}: a part is train or test, not {part!r}")
        found[part].append((path, tuple(name.strip() for name in row["labels"].split(";") if name.strip())))
    names = tuple(sorted({name for files in found.values() for _, labels in files for name in labels}))
    if len(names) < 2 or not all(found.values()):
        raise BenchError(f"{table} must have at least two labels, and images both to train and to test with")
    train, test = ([(path, tuple(map(names.index, labels))) for path, labels in found[part]] for part in found)
    return Listing(names, train, test)
