"""Datasets whose samples have any number of classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pseudobench import MULTI, BenchError, param
from pseudobench.files.own_files import canonical_path
from pseudobench_vision.presets import CIFAR10_GRID, PHOTOGRAPHS, Presets
from pseudobench_vision.single_label import Cifar10, Digits, Listed

if TYPE_CHECKING:
    from pathlib import Path

    from pseudobench import Dataset
    from pseudobench_vision.listing import Listing


@dataclass(frozen=True)
class DigitsGrid(Digits):
    """Grids of 2 x 2 handwritten digits, of which each image is used once; a sample has the classes it shows."""

    name: ClassVar[str] = "digits-grid"
    task: ClassVar[str] = MULTI
    train_size: ClassVar[int] = 300
    test_size: ClassVar[int] = 149
    default_labels: ClassVar[int] = 100

    def load(self, data_dir: Path) -> Dataset:
        """Put digits together, in an order that is always the same."""
        from pseudobench_vision.grids import load_grid

        return load_grid(self.name, super().load(data_dir))


@dataclass(frozen=True)
class Cifar10Grid(Cifar10):
    """Grids of 2 x 2 images of CIFAR-10, of which each is used once; a sample has the classes it shows."""

    name: ClassVar[str] = "cifar10-grid"
    task: ClassVar[str] = MULTI
    train_size: ClassVar[int] = 12_500
    test_size: ClassVar[int] = 2_500
    default_labels: ClassVar[int] = 2000
    backbone: ClassVar[str] = "cifar_cnn"
    presets: ClassVar[Presets] = CIFAR10_GRID

    def is_present(self, data_dir: Path) -> bool:
        """Whether the files of CIFAR-10 are in the data folder."""
        return Cifar10().is_present(data_dir)

    def load(self, data_dir: Path) -> Dataset:
        """Put images of CIFAR-10 together, in an order that is always the same."""
        from pseudobench_vision.grids import load_grid

        return load_grid(self.name, Cifar10().load(data_dir))


@dataclass(frozen=True)
class Voc2007:
    """Pascal VOC 2007: photographs with any of 20 classes, made 128 x 128 pixels large (Everingham et al. 2010)."""

    name: ClassVar[str] = "voc2007"
    task: ClassVar[str] = MULTI
    classes: ClassVar[int] = 20
    train_size: ClassVar[int] = 5011
    test_size: ClassVar[int] = 4952
    default_labels: ClassVar[int] = 500
    backbone: ClassVar[str] = "resnet18"
    presets: ClassVar[Presets] = PHOTOGRAPHS

    def is_present(self, data_dir: Path) -> bool:
        """Whether its files are in the data folder."""
        from pseudobench_vision.voc import is_present

        return is_present(data_dir)

    def load(self, data_dir: Path) -> Dataset:
        """Read it from the data folder, downloaded first if it is not there."""
        from pseudobench_vision.voc import load_voc

        return load_voc(self.name, data_dir)


@dataclass(frozen=True)
class Csv(Listed):
    """Your own images with any number of classes: csv:PATH, a table of files and their labels."""

    name: ClassVar[str] = "csv"
    task: ClassVar[str] = MULTI
    backbone: ClassVar[str] = "cifar_cnn"
    presets: ClassVar[Presets] = {}
    path: str = param("", "the table: columns file, labels (split by ;) and, if you like, part (train or test)")

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", canonical_path(self.path))

    @property
    def _listing(self) -> Listing[tuple[int, ...]]:
        from pathlib import Path

        from pseudobench_vision.listing import list_table

        if not self.path:
            raise BenchError("say which table: csv:PATH")
        return list_table(Path(self.path).absolute())

    @property
    def default_labels(self) -> int:
        """A tenth of the training images."""
        return max(self.train_size // 10, 2)

    def load(self, data_dir: Path) -> Dataset:
        """Read every image."""
        from pseudobench_vision.folder import load_folder

        return load_folder(f"csv:{self.path}", self._listing)

    def fingerprint(self) -> str:
        """A hash of the table and of the images that it names."""
        from pathlib import Path

        table = Path(self.path).absolute()
        return self._fingerprint(table.parent, table)
