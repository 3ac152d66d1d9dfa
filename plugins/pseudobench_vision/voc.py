"""Pascal VOC 2007 in torchvision's layout."""

from __future__ import annotations

import tempfile
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import torch
from PIL import Image, UnidentifiedImageError
from torch import Tensor
from torchvision.datasets.voc import DATASET_YEAR_DICT

from pseudobench import BenchError, Dataset
from pseudobench.files.fetching import download, staged, unpack

CLASSES = (
    *("aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "diningtable", "dog"),
    *("horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor"),
)
FOLDER = Path("VOCdevkit") / "VOC2007"
#: The list of images for each part.
PARTS = {"train": "trainval", "test": "test"}
#: The archive of each list, and its md5.
ARCHIVES = {
    part: (DATASET_YEAR_DICT[year]["url"], DATASET_YEAR_DICT[year]["md5"])
    for part, year in (("trainval", "2007"), ("test", "2007-test"))
}
#: Pixels of a side after resizing: photographs differ in size and shape, and a batch needs one.
SIDE = 128


def is_present(data_dir: Path) -> bool:
    """Whether the lists of both parts are there."""
    return all(_list(data_dir, part).is_file() for part in PARTS.values())


def load_voc(name: str, data_dir: Path) -> Dataset:
    """The dataset from ``data_dir``, downloaded first if it is not there."""
    try:
        for part, (url, md5) in ARCHIVES.items():
            if not _list(data_dir, part).is_file():
                _fetch(url, md5, data_dir)
    except OSError as error:
        reason = " ".join(str(error).split())
        raise BenchError(
            f"{name} can't be downloaded ({reason}); put the folders Annotations, ImageSets and JPEGImages of its "
            f"trainval and test archives into {data_dir / FOLDER}"
        ) from None
    train, test = (_read(data_dir, part) for part in PARTS.values())
    return Dataset(name, len(CLASSES), *train, *test, flip=True)


def _fetch(url: str, md5: str, data_dir: Path) -> None:
    with staged(data_dir) as folder, tempfile.TemporaryDirectory() as temporary:
        archive = Path(temporary) / url.rpartition("/")[2]
        download(url, archive, f"md5:{md5}")
        unpack(archive, folder)


def _list(data_dir: Path, part: str) -> Path:
    return data_dir / FOLDER / "ImageSets" / "Main" / f"{part}.txt"


def _read(data_dir: Path, part: str) -> tuple[Tensor, Tensor]:
    """Images ``uint8 [N, 3, SIDE, SIDE]`` and labels ``bool [N, 20]`` of a part."""
    names = _list(data_dir, part).read_text().split()
    images = np.empty((len(names), SIDE, SIDE, 3), dtype=np.uint8)
    labels = torch.zeros(len(names), len(CLASSES), dtype=torch.bool)
    for place, name in enumerate(names):
        try:
            with Image.open(data_dir / FOLDER / "JPEGImages" / f"{name}.jpg") as image:
                images[place] = np.asarray(image.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BICUBIC))
            labels[place, _classes(data_dir / FOLDER / "Annotations" / f"{name}.xml")] = True
        except (OSError, UnidentifiedImageError, SyntaxError, ValueError) as error:
            raise BenchError(f"image {name} of {data_dir / FOLDER} can't be read: {error}") from None
    return torch.from_numpy(images).permute(0, 3, 1, 2).contiguous(), labels


def _classes(annotation: Path) -> list[int]:
    """The classes of the objects in an image, without those marked as difficult, which the challenge does not count."""
    objects = ElementTree.parse(annotation).getroot().iter("object")
    return [CLASSES.index(each.findtext("name", "")) for each in objects if each.findtext("difficult") != "1"]
