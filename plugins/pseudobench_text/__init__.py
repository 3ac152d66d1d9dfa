"""Texts, as vectors of a sentence encoder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pseudobench import MULTI, SINGLE, VECTORS, BenchError, Value, hookimpl, param
from pseudobench.files.own_files import canonical_path, fingerprint

if TYPE_CHECKING:
    from pathlib import Path

    from pseudobench import Dataset
    from pseudobench_text.texts import Texts as Read

Presets = Mapping[str, Mapping[str, Value]]


@dataclass(frozen=True)
class Text:
    """Your own texts, as vectors of a sentence encoder: text:PATH.csv, with the columns text and label (or labels)."""

    name: ClassVar[str] = "text"
    samples: ClassVar[str] = VECTORS
    backbone: ClassVar[str] = "linear"
    presets: ClassVar[Presets] = {}
    path: str = param("", "the table: columns text, label (or labels, split by ;) and, if you like, part (train, test)")

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", canonical_path(self.path))

    def _file(self) -> Path:
        from pathlib import Path

        if not self.path:
            raise BenchError("say which table: text:PATH")
        return Path(self.path).absolute()

    def _read(self) -> Read:
        from pseudobench_text.texts import read_texts

        return read_texts(self._file())

    @property
    def task(self) -> str:
        """Whether each text has one class, or any number of them."""
        return SINGLE if not self.path or self._read().single else MULTI

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return self._read().classes

    @property
    def train_size(self) -> int:
        """How many training texts there are."""
        return len(self._read().train)

    @property
    def test_size(self) -> int:
        """How many test texts there are."""
        return len(self._read().test)

    @property
    def default_labels(self) -> int:
        """Ten of each class, or fewer where classes are small; a tenth where a text can have several classes."""
        read = self._read()
        if not read.single:
            return max(len(read.train) // 10, 2)
        rarest = min(sum(own == (number,) for own in read.train_labels) for number in range(read.classes))
        return read.classes * max(min(10, rarest // 2), 1)

    def is_present(self, data_dir: Path) -> bool:
        """Whether the texts can be read, and encoded."""
        from pseudobench_text.encoder import check_installed

        return self.train_size > 0 and check_installed().is_dir()

    def load(self, data_dir: Path) -> Dataset:
        """Encode every text, once."""
        return self._read().dataset(f"text:{self.path}", data_dir)

    def fingerprint(self) -> str:
        """A hash of the table."""
        return fingerprint(self._file(), [self._file()])


@dataclass(frozen=True)
class Disaster:
    """26,248 messages sent after disasters, with any of 35 labels, as vectors of a sentence encoder."""

    name: ClassVar[str] = "disaster"
    task: ClassVar[str] = MULTI
    samples: ClassVar[str] = VECTORS
    classes: ClassVar[int] = 35
    train_size: ClassVar[int] = 23_619
    test_size: ClassVar[int] = 2_629
    default_labels: ClassVar[int] = 1000
    backbone: ClassVar[str] = "linear"
    presets: ClassVar[Presets] = {}

    def is_present(self, data_dir: Path) -> bool:
        """Whether its archive is in the data folder, and can be encoded."""
        from pseudobench_text.encoder import check_installed
        from pseudobench_text.texts import read_disaster

        return check_installed().is_dir() and bool(read_disaster(data_dir).train)

    def load(self, data_dir: Path) -> Dataset:
        """Encode every message, once."""
        from pseudobench_text.texts import read_disaster

        return read_disaster(data_dir).dataset(self.name, data_dir)


@dataclass(frozen=True)
class Newsgroups:
    """20 newsgroups: 18,846 posts without headers, footers and quotes, as vectors of a sentence encoder (Lang 1995)."""

    name: ClassVar[str] = "20newsgroups"
    samples: ClassVar[str] = VECTORS
    classes: ClassVar[int] = 20
    train_size: ClassVar[int] = 11_314
    test_size: ClassVar[int] = 7_532
    default_labels: ClassVar[int] = 400
    backbone: ClassVar[str] = "linear"
    presets: ClassVar[Presets] = {}

    def is_present(self, data_dir: Path) -> bool:
        """Whether scikit-learn's file is in the data folder, and can be encoded."""
        from pseudobench_text.encoder import check_installed

        return check_installed().is_dir() and any((data_dir / "20newsgroups").glob("20news-bydate*"))

    def load(self, data_dir: Path) -> Dataset:
        """Encode every post, once."""
        from pseudobench_text.texts import read_newsgroups

        return read_newsgroups(data_dir).dataset(self.name, data_dir)


@hookimpl
def bench_datasets() -> list[type]:
    """Offer the datasets of texts."""
    return [Text, Disaster, Newsgroups]
