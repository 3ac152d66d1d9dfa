"""Image datasets, and small backbones registered with timm."""

from __future__ import annotations

from pseudobench import Backbone, hookimpl
from pseudobench_vision.multi_label import Cifar10Grid, Csv, DigitsGrid, Voc2007
from pseudobench_vision.single_label import Cifar10, Cifar100, Digits, FashionMnist, Folder, Mnist

__all__ = [
    "Cifar10",
    "Cifar10Grid",
    "Cifar100",
    "Csv",
    "Digits",
    "DigitsGrid",
    "FashionMnist",
    "Folder",
    "Mnist",
    "Voc2007",
]


@hookimpl
def bench_datasets() -> list[type]:
    """Offer the image datasets."""
    return [Digits, DigitsGrid, Cifar10, Cifar10Grid, Cifar100, Mnist, FashionMnist, Voc2007, Folder, Csv]


@hookimpl
def bench_backbones() -> list[Backbone]:
    """Offer the small backbones."""
    module = "pseudobench_vision.networks"
    return [
        Backbone("digits_cnn", module, "three convolutions for 8 x 8 images"),
        Backbone("cifar_fast", module, "seven convolutions after airbench, for accuracy per minute of one core"),
        Backbone("cifar_cnn", module, "six convolutions for 32 x 32 images, small enough for two cores"),
        Backbone("cnn13", module, "the 13-layer network of the UPS paper, with dropout inside"),
        Backbone("wrn_28_2", module, "Wide ResNet 28-2 for 32 x 32 images, with a dropout head"),
    ]
