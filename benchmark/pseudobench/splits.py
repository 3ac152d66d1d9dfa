"""Who is labeled, held out for calibration, and unlabeled.

A split is a pure function of the dataset's name and labels, the label count, the seed and how many labels are
held out. Images are ordered by a hash of their index, so no library's random stream can ever change a split.
The labeled images of a seed are the same for every method, and the held-out ones are among them.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

from pseudobench.errors import BenchError
from pseudobench.types import Dataset, Split

#: One training image in this many is for validation, where that is asked for.
VALIDATION_SHARE = 5


def with_validation(data: Dataset) -> Dataset:
    """The dataset with part of its training images in place of the test images, for choices that must not see those."""
    order = shuffled(range(len(data.train_labels)), data.name, "validation")
    count = len(order) // VALIDATION_SHARE
    held, kept = sorted(order[:count]), sorted(order[count:])
    return replace(
        data,
        train_images=data.train_images[kept],
        train_labels=data.train_labels[kept],
        test_images=data.train_images[held],
        test_labels=data.train_labels[held],
    )


def shuffled(indices: Sequence[int], *names: str | int) -> list[int]:
    """``indices`` in an order that depends on ``names`` and on nothing else."""
    prefix = "/".join(str(name) for name in names)
    return sorted(indices, key=lambda index: hashlib.sha256(f"{prefix}/{index}".encode()).digest())


def make_split(name: str, labels: Sequence[int], *, budget: int, seed: int, held_out: int = 0) -> Split:
    """Label ``budget`` images, equally many of each class, and hold out ``held_out`` of them.

    ``labels`` are those of the training images, classes counted from 0. The held-out ones are spread over the
    classes as evenly as their number allows; which classes give one more is drawn like everything else.
    """
    by_class: dict[int, list[int]] = {}
    for index, label in enumerate(labels):
        by_class.setdefault(label, []).append(index)
    if budget == len(labels):
        chosen = by_class
    else:
        each = budget // len(by_class)
        chosen = {label: shuffled(members, name, seed, "labeled")[:each] for label, members in sorted(by_class.items())}
    calibration = set(_deal(chosen, held_out, name, seed))
    labeled = [index for members in chosen.values() for index in members if index not in calibration]
    known = calibration.union(labeled)
    parts = (
        tuple(sorted(labeled)),
        tuple(sorted(calibration)),
        tuple(index for index in range(len(labels)) if index not in known),
    )
    return Split(*parts, digest=hashlib.sha256(repr(parts).encode()).hexdigest())


def check_budget(name: str, labels: Sequence[int], budget: int) -> None:
    """Raise unless every class has enough images to give its share of ``budget`` (or all are labeled)."""
    rarest, classes = min(Counter(labels).values()), len(set(labels))
    if budget != len(labels) and budget // classes > rarest:
        most = rarest * classes
        raise BenchError(f"--labels {budget}: the rarest class of {name} has {rarest} images; take at most {most}")


def make_folds(split: Split, labels: Sequence[int], *, folds: int, name: str, seed: int) -> list[tuple[int, ...]]:
    """The labeled images of a split in ``folds`` parts, each class spread evenly over them."""
    by_class: dict[int, list[int]] = {}
    for index in shuffled(split.labeled, name, seed, "folds"):
        by_class.setdefault(labels[index], []).append(index)
    order = [index for label in sorted(by_class) for index in by_class[label]]
    return [tuple(sorted(order[fold::folds])) for fold in range(folds)]


def _deal(chosen: dict[int, list[int]], count: int, name: str, seed: int) -> list[int]:
    """``count`` of the chosen images, class after class in a drawn order, like cards."""
    order = shuffled(sorted(chosen), name, seed, "calibration-classes")
    decks = {label: shuffled(chosen[label], name, seed, "calibration") for label in order}
    rounds = zip_longest(*(reversed(decks[label]) for label in order))
    return [index for cards in rounds for index in cards if index is not None][:count]
