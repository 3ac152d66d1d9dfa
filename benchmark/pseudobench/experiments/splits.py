"""Splits: which training samples are labeled, held out for calibration, and unlabeled.

A split is a pure function of the dataset's name and labels, the label count, the seed and how many labels are held
out. The labeled samples of a seed are the same for every method, and the held-out ones are among them.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

from pseudobench.base.seeds import shuffled
from pseudobench.contracts.datasets import Dataset, Split
from pseudobench.contracts.run_spec import RunSpec
from pseudobench.contracts.settings import Calibration
from pseudobench.errors import BenchError

#: One training sample in this many is for validation, where that is asked for.
VALIDATION_SHARE = 5


def split_for(spec: RunSpec, data: Dataset) -> Split:
    """The split of a run: its label budget, with the share that held-out calibration takes. ``data``: `evaluated`."""
    budget = label_budget(spec, data)
    held = round(budget * spec.group(Calibration).fraction) if spec.policy == "held-out" else 0
    return make_split(data.name, data.strata, budget=budget, seed=spec.seed, held_out=held)


def evaluated(spec: RunSpec, data: Dataset) -> Dataset:
    """The dataset as a run sees it: with validation samples in place of test samples where the spec says so."""
    return with_validation(data) if spec.evaluates_on == "validation" else data


def label_budget(spec: RunSpec, data: Dataset) -> int:
    """How many labels a run may use; a ceiling takes all of them."""
    return len(data.train_labels) if spec.trains_on == "all" else spec.labels


def with_validation(data: Dataset) -> Dataset:
    """The dataset with a part of its training samples as test samples, for choices that must not see the test set."""
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


def make_split(name: str, strata: Sequence[int], *, budget: int, seed: int, held_out: int = 0) -> Split:
    """Label ``budget`` samples, equally many of each class, and hold out ``held_out`` of them.

    ``strata`` are the classes of the training samples, counted from 0. The held-out samples are spread over the
    classes as evenly as their number allows; which classes give one more is drawn like everything else.
    """
    by_class: dict[int, list[int]] = {}
    for index, label in enumerate(strata):
        by_class.setdefault(label, []).append(index)
    if budget == len(strata):
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
        tuple(index for index in range(len(strata)) if index not in known),
    )
    return Split(*parts, digest=hashlib.sha256(repr(parts).encode()).hexdigest())


def check_budget(name: str, strata: Sequence[int], budget: int) -> None:
    """Raise unless every class has enough samples to give its share of ``budget`` (or all are labeled)."""
    rarest, classes = min(Counter(strata).values()), len(set(strata))
    if budget != len(strata) and budget // classes > rarest:
        most = rarest * classes
        raise BenchError(f"--labels {budget}: the rarest class of {name} has {rarest} images; take at most {most}")


def make_folds(
    indices: Sequence[int], strata: Sequence[int], *, folds: int, name: str, seed: int
) -> list[tuple[int, ...]]:
    """Labeled samples in ``folds`` parts, each class spread evenly over them; ``strata`` are those of ``indices``."""
    group = dict(zip(indices, strata, strict=True))
    by_class: dict[int, list[int]] = {}
    for index in shuffled(indices, name, seed, "folds"):
        by_class.setdefault(group[index], []).append(index)
    order = [index for label in sorted(by_class) for index in by_class[label]]
    return [tuple(sorted(order[fold::folds])) for fold in range(folds)]


def _deal(chosen: dict[int, list[int]], count: int, name: str, seed: int) -> list[int]:
    """``count`` of the chosen samples, dealt class by class in a drawn order, like cards."""
    order = shuffled(sorted(chosen), name, seed, "calibration-classes")
    decks = {label: shuffled(chosen[label], name, seed, "calibration") for label in order}
    rounds = zip_longest(*(reversed(decks[label]) for label in order))
    return [index for cards in rounds for index in cards if index is not None][:count]
