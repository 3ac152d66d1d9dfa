"""The columns that come with the harness."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from pseudobench.contracts.columns import Column, Record, headline, last_round
from pseudobench.contracts.hookspecs import hookimpl

if TYPE_CHECKING:
    import numpy as np

    from pseudobench.contracts.predictions import Predictions


def _of(part: str, key: str) -> Callable[[Record], float | None]:
    def read(record: Record) -> float | None:
        value: float | None = (last_round(record).get(part) or {}).get(key)
        return value

    return read


def _worst_class(found: Predictions, labels: np.ndarray) -> float | None:
    """Accuracy on the samples of the class that is recognised worst."""
    if labels.ndim == 2:
        return None
    return min(float(found.correct[labels == label].mean()) for label in set(labels.tolist()))


def _at(share: int) -> Callable[[Record], float | None]:
    """Precision at a share of the pool, in percent, in the order of the method's own score."""

    def read(record: Record) -> float | None:
        found = (last_round(record).get("selection") or {}).get("precision_at")
        value: float | None = found[share // 10 - 1] if found else None
        return value

    return read


def _after(count: int) -> Callable[[Record], float | None]:
    """The main measure after ``count`` rounds of pseudo-labels; the last one's, where fewer."""

    def read(record: Record) -> float | None:
        return headline(record["rounds"][: count + 1][-1])[1]

    return read


def _surest_half(found: Predictions, labels: np.ndarray) -> float | None:
    """Accuracy on the half of the test samples that the network is surest of."""
    unknown = math.isnan(found.probability.sum())  # packed without probabilities
    if found.probability.ndim == 2 or len(labels) < 2 or unknown:
        return None
    surest = (-found.probability).argsort(kind="stable")[: len(labels) // 2]
    return float(found.correct[surest].mean())


def _temperature(record: Record) -> float | None:
    selection = last_round(record).get("selection") or {}
    value: float | None = (selection.get("scaling") or {}).get("temperature")
    return value


def _other(record: Record) -> float | None:
    """Share of the pool whose label is not the estimate's most probable class; samples without a label do not count."""
    selection = last_round(record).get("selection") or {}
    count = selection.get("not_argmax")
    return None if count is None or not selection["pool"] else count / selection["pool"]


def _least_covered(record: Record) -> float | None:
    found = (last_round(record).get("selection") or {}).get("test_class_coverage") or []
    return min((share for share in found if share is not None), default=None)


#: The largest set size of each group that coverage is compared over, as in the RAPS paper.
_SIZES = (1, 3, 10, 100)


def _violation(record: Record) -> float | None:
    """Size-stratified coverage violation: how far coverage is from its level in the group where it is furthest."""
    pairs = (last_round(record).get("selection") or {}).get("test_by_size")
    if not pairs:
        return None
    spec = record["spec"]
    level = 1 - spec["settings"][spec["stages"]["sets"]]["alpha"]
    groups: dict[int, list[int]] = {}
    for size, (count, hits) in enumerate(pairs):
        total = groups.setdefault(sum(size > edge for edge in _SIZES), [0, 0])
        total[0] += count
        total[1] += hits
    return max(abs(hits / count - float(level)) for count, hits in groups.values() if count)


COLUMNS = (
    Column("accuracy", "test accuracy of the last network, %", _of("test", "accuracy"), True, 100),
    Column("mAP", "mean average precision on the test set, %", _of("test", "map"), True, 100),
    Column("f1-micro", "F1 over all classes of all test samples, %", _of("test", "f1_micro"), True, 100),
    Column("f1-macro", "F1 on the test set, averaged over classes, %", _of("test", "f1_macro"), True, 100),
    Column("exact-match", "test samples with every class right, %", _of("test", "exact_match"), True, 100),
    Column("accuracy-50", "test accuracy on the surest half, %", None, True, 100, score=_surest_half),
    Column("worst-class", "test accuracy on the worst class, %", None, True, 100, score=_worst_class),
    Column("nll", "negative log-likelihood on the test set", _of("test", "nll"), False, digits=3),
    Column("ece", "expected calibration error on the test set, 15 bins, %", _of("test", "ece"), False, 100),
    *(
        Column(f"round-{count}", f"test accuracy or mAP after round {count} at the latest, %", _after(count), True, 100)
        for count in (1, 3, 5)
    ),
    Column(
        "rounds", "rounds of pseudo-labels, 0 with labels alone", lambda record: len(record["rounds"]) - 1, digits=1
    ),
    Column(
        "selected",
        "samples of the pool with a positive label, %",
        _of("selection", "positive_share"),
        None,
        100,
        1,
    ),
    Column(
        "precision",
        "positive pseudo-labels that are right, %",
        _of("selection", "positive_precision"),
        None,  # few labels are cleaner than many, and not better
        100,
    ),
    *(
        Column(f"precision-{share}", f"right labels in the surest {share} % of the pool, %", _at(share), True, 100)
        for share in (10, 50, 90)
    ),
    Column("negatives", "negative labels per sample that has them", _of("selection", "negatives_per_sample")),
    Column(
        "neg-precision",
        "negative pseudo-labels that are right, %",
        _of("selection", "negative_precision"),
        None,
        100,
    ),
    Column(
        "coverage", "pool samples whose set holds every class of theirs, %", _of("selection", "coverage"), None, 100, 1
    ),
    Column(
        "test-coverage",
        "test samples whose set holds every class of theirs, %",
        _of("selection", "test_coverage"),
        None,
        100,
        1,
    ),
    Column(
        "class-coverage",
        "test samples of the least covered class whose set holds it, %",
        _least_covered,
        None,
        100,
        1,
    ),
    Column("sscv", "size-stratified violation of coverage on the test set, %", _violation, False, 100, 1),
    Column("set-size", "mean size of the pool's sets", _of("selection", "set_size")),
    Column(
        "empty-sets",
        "share of the pool's sets that are empty, %",
        _of("selection", "empty_sets"),
        None,
        100,
        1,
    ),
    Column("other-label", "pool samples labeled otherwise than by the estimated argmax, %", _other, None, 100, 1),
    Column("temperature", "temperature of Platt scaling", _temperature),
    Column("seconds", "wall-clock seconds of the run", lambda record: record.get("seconds"), False, digits=1),
)


@hookimpl
def bench_columns() -> list[Column]:
    """Offer the harness's own columns."""
    return list(COLUMNS)
