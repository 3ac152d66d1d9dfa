"""What is in a folder of images, without opening any (and without torch)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pseudobench import BenchError

SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".ppm", ".pgm", ".tif", ".tiff"}
#: Without folders `train` and `test`, one image of each class in this many is a test image.
TEST_SHARE = 5


@dataclass(frozen=True)
class Listing:
    """Class names, and the files of both parts with the number of their class."""

    classes: tuple[str, ...]
    train: list[tuple[Path, int]]
    test: list[tuple[Path, int]]


@cache
def list_folder(folder: Path) -> Listing:
    """The images below ``folder``: in ``train/CLASS`` and ``test/CLASS``, or in ``CLASS`` and parted by place."""
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
