"""Splits: which training samples are labeled, held out for calibration, and unlabeled.

A split is a pure function of the dataset's name and labels, the label count, the seed, how many labels are held out
and how long-tailed the classes are. The labeled samples of a seed are the same for every method, and the held-out ones
are among them.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush
from itertools import zip_longest

from pseudobench.base.seeds import shuffled
from pseudobench.contracts.datasets import Dataset, Split
from pseudobench.contracts.run_spec import RunSpec
from pseudobench.contracts.settings import Calibration, Data
from pseudobench.errors import BenchError

#: One training sample in this many is for validation, where that is asked for.
VALIDATION_SHARE = 5


def split_for(spec: RunSpec, data: Dataset) -> Split:
    """The split of a run: its label budget, with the share that held-out calibration takes. ``data``: `evaluated`."""
    budget = label_budget(spec, data)
    held = round(budget * spec.group(Calibration).fraction) if spec.policy == "held-out" else 0
    imbalance = spec.group(Data).imbalance
    return make_split(data.name, data.strata, budget=budget, seed=spec.seed, held_out=held, imbalance=imbalance)


def evaluated(spec: RunSpec, data: Dataset) -> Dataset:
    """The dataset as a run sees it: with validation samples for test samples, and long-tailed, as the spec says."""
    seen = with_validation(data) if spec.evaluates_on == "validation" else data
    imbalance = spec.group(Data).imbalance
    return seen if imbalance is None else with_imbalance(seen, imbalance)


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


def with_imbalance(data: Dataset, imbalance: float) -> Dataset:
    """The dataset with long-tailed training samples: class k keeps the share ``imbalance ** (k / (C - 1))`` of them.

    Every class keeps one at least. The order in which samples go is drawn by hash and the same for every ``imbalance``:
    a smaller one keeps a part of the samples that a larger one keeps.
    """
    members: dict[int, list[int]] = {}
    for index, label in enumerate(data.strata):
        members.setdefault(label, []).append(index)
    tail = _tail(data.classes, imbalance)
    kept = sorted(
        index
        for label, own in members.items()
        for index in shuffled(own, data.name, "imbalance")[: max(round(tail[label] * len(own)), 1)]
    )
    return replace(data, train_images=data.train_images[kept], train_labels=data.train_labels[kept])


def _tail(classes: int, imbalance: float) -> list[float]:
    """The share of each class's samples that stay."""
    return [imbalance ** (label / (classes - 1)) for label in range(classes)]


def make_split(
    name: str,
    strata: Sequence[int],
    *,
    budget: int,
    seed: int,
    held_out: int = 0,
    imbalance: float | None = None,
) -> Split:
    """Label ``budget`` samples, equally many of each class, and hold out ``held_out`` of them.

    ``strata`` are the classes of the training samples, counted from 0. The held-out samples are spread over the
    classes as evenly as their number allows; which classes give one more is drawn like everything else. With
    ``imbalance`` labels are spread over the classes as long-tailed as the samples are, and the held-out ones likewise.
    """
    by_class: dict[int, list[int]] = {}
    for index, label in enumerate(strata):
        by_class.setdefault(label, []).append(index)
    if budget == len(strata):
        chosen = by_class
    else:
        each = labels_per_class(sorted(by_class), budget, imbalance)
        chosen = {
            label: shuffled(members, name, seed, "labeled")[: each[label]]
            for label, members in sorted(by_class.items())
        }
    if imbalance is None:
        calibration = set(_deal(chosen, held_out, name, seed))
    else:
        sizes = {label: len(own) for label, own in chosen.items()}
        counts = apportion(held_out, sizes, at_most={label: size - 1 for label, size in sizes.items()})
        calibration = {index for label, own in chosen.items() for index in own[len(own) - counts[label] :]}
    labeled = [index for members in chosen.values() for index in members if index not in calibration]
    known = calibration.union(labeled)
    parts = (
        tuple(sorted(labeled)),
        tuple(sorted(calibration)),
        tuple(index for index in range(len(strata)) if index not in known),
    )
    return Split(*parts, digest=hashlib.sha256(repr(parts).encode()).hexdigest())


def labels_per_class(classes: Sequence[int], budget: int, imbalance: float | None = None) -> dict[int, int]:
    """How many labels each class gets: equally many, or as long-tailed as ``imbalance`` says, but at least one."""
    if imbalance is None:
        return dict.fromkeys(classes, budget // len(classes))
    return apportion(budget, dict(zip(classes, _tail(len(classes), imbalance), strict=True)), at_least=1)


def apportion(
    total: int, weights: Mapping[int, float], *, at_least: int = 0, at_most: Mapping[int, int] | None = None
) -> dict[int, int]:
    """``total`` seats for parties of these weights, by Sainte-Lague's method, after ``at_least`` seats for each."""
    seats = dict.fromkeys(weights, at_least)
    waiting = [(-weight / (2 * at_least + 1), party) for party, weight in weights.items()]
    heapify(waiting)
    while waiting and sum(seats.values()) < total:
        _, party = heappop(waiting)
        if at_most is None or seats[party] < at_most[party]:
            seats[party] += 1
            heappush(waiting, (-weights[party] / (2 * seats[party] + 1), party))
    return seats


def check_budget(name: str, strata: Sequence[int], budget: int, imbalance: float | None = None) -> None:
    """Raise unless every class has enough samples to give its share of ``budget`` (or all are labeled)."""
    counts = Counter(strata)
    wanted = labels_per_class(sorted(counts), budget, imbalance)
    short = next((label for label in sorted(counts) if wanted[label] > counts[label]), None)
    if short is None or budget == len(strata):
        return
    if imbalance is None:
        rarest, classes = min(counts.values()), len(counts)
        most = rarest * classes
        raise BenchError(f"--labels {budget}: the rarest class of {name} has {rarest} samples; take at most {most}")
    raise BenchError(
        f"--labels {budget}: with --imbalance {imbalance:g} class {short} of {name} keeps {counts[short]} samples and "
        f"would label {wanted[short]}; take fewer"
    )


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
