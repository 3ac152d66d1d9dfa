"""Datasets whose samples have one class each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from pseudobench import BenchError, param
from pseudobench.files.own_files import canonical_path, fingerprint
from pseudobench_vision.presets import CIFAR10, CIFAR10_LABELS, CIFAR100, CIFAR100_LABELS, DIGITS, Presets

if TYPE_CHECKING:
    from pathlib import Path

    from pseudobench import Dataset
    from pseudobench_vision.listing import Listing


@dataclass(frozen=True)
class Digits:
    """1,797 real handwritten digits of 8 x 8 pixels, embedded in scikit-learn (UCI optdigits test set)."""

    name: ClassVar[str] = "digits"
    is_default: ClassVar[bool] = True
    classes: ClassVar[int] = 10
    train_size: ClassVar[int] = 1201
    test_size: ClassVar[int] = 596
    default_labels: ClassVar[int] = 40
    backbone: ClassVar[str] = "digits_cnn"
    presets: ClassVar[Presets] = DIGITS

    def is_present(self, data_dir: Path) -> bool:
        """Always: it is inside a package that is installed."""
        return True

    def load(self, data_dir: Path) -> Dataset:
        """Read it out of the scikit-learn package."""
        from pseudobench_vision.digits import load_digits

        return load_digits(self.name)


@dataclass(frozen=True)
class Cifar10:
    """CIFAR-10: 60,000 colour images of 32 x 32 pixels, 10 classes (Krizhevsky 2009)."""

    name: ClassVar[str] = "cifar10"
    classes: ClassVar[int] = 10
    train_size: ClassVar[int] = 50_000
    test_size: ClassVar[int] = 10_000
    default_labels: ClassVar[int] = CIFAR10_LABELS
    backbone: ClassVar[str] = "cifar_fast"
    presets: ClassVar[Presets] = CIFAR10

    def is_present(self, data_dir: Path) -> bool:
        """Whether its files are in the data folder."""
        from pseudobench_vision.cifar import is_present

        return is_present(self.name, data_dir)

    def load(self, data_dir: Path) -> Dataset:
        """Read it from the data folder, fetched first if it is not there."""
        from pseudobench_vision.cifar import load_cifar

        return load_cifar(self.name, data_dir)


@dataclass(frozen=True)
class Cifar100(Cifar10):
    """CIFAR-100: 60,000 colour images of 32 x 32 pixels, 100 classes (Krizhevsky 2009)."""

    name: ClassVar[str] = "cifar100"
    classes: ClassVar[int] = 100
    default_labels: ClassVar[int] = CIFAR100_LABELS
    presets: ClassVar[Presets] = CIFAR100


@dataclass(frozen=True)
class FashionMnist:
    """Fashion-MNIST: 70,000 grey images of clothes, 28 x 28 pixels, 10 classes (Xiao et al. 2017)."""

    name: ClassVar[str] = "fashion-mnist"
    classes: ClassVar[int] = 10
    train_size: ClassVar[int] = 60_000
    test_size: ClassVar[int] = 10_000
    flip: ClassVar[bool] = True
    default_labels: ClassVar[int] = 1000
    backbone: ClassVar[str] = "cifar_cnn"
    presets: ClassVar[Presets] = {}

    def is_present(self, data_dir: Path) -> bool:
        """Whether its files are in the data folder, or where Debian's package puts them."""
        from pseudobench_vision.idx_files import is_present

        return is_present(self.name, data_dir)

    def load(self, data_dir: Path) -> Dataset:
        """Read it from the data folder, downloaded first if it is not there."""
        from pseudobench_vision.idx_files import load_idx

        return load_idx(self.name, data_dir, flip=self.flip)


@dataclass(frozen=True)
class Mnist(FashionMnist):
    """MNIST: 70,000 grey images of handwritten digits, 28 x 28 pixels (LeCun et al. 1998)."""

    name: ClassVar[str] = "mnist"
    flip: ClassVar[bool] = False
    default_labels: ClassVar[int] = 100


class Listed:
    """A dataset whose sizes are known from the list of its files."""

    @property
    def _listing(self) -> Listing[Any]:
        raise NotImplementedError

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self._listing.classes)

    @property
    def train_size(self) -> int:
        """How many training images there are."""
        return len(self._listing.train)

    @property
    def test_size(self) -> int:
        """How many test images there are."""
        return len(self._listing.test)

    def is_present(self, data_dir: Path) -> bool:
        """Whether the files are there."""
        return self.train_size > 0

    def _fingerprint(self, folder: Path, *others: Path) -> str:
        """A hash of the listed files, and of others, by their names relative to ``folder``."""
        return fingerprint(folder, [*others, *(file for file, _ in (*self._listing.train, *self._listing.test))])


@dataclass(frozen=True)
class Folder(Listed):
    """Your own images: folder:PATH, with a folder for each class in it (or in train and test)."""

    name: ClassVar[str] = "folder"
    backbone: ClassVar[str] = "cifar_cnn"
    presets: ClassVar[Presets] = {}
    path: str = param("", "the folder")

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", canonical_path(self.path))

    @property
    def _listing(self) -> Listing[int]:
        from pathlib import Path

        from pseudobench_vision.listing import list_folder

        if not self.path:
            raise BenchError("say which folder: folder:PATH")
        return list_folder(Path(self.path).absolute())

    @property
    def default_labels(self) -> int:
        """Ten of each class."""
        return 10 * self.classes

    def load(self, data_dir: Path) -> Dataset:
        """Read every image."""
        from pseudobench_vision.folder import load_folder

        return load_folder(f"folder:{self.path}", self._listing)

    def fingerprint(self) -> str:
        """A hash of the images' names and content."""
        from pathlib import Path

        return self._fingerprint(Path(self.path).absolute())
