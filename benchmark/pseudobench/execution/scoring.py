"""Columns that are computed from stored predictions: when a run ends, and later for older runs."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pseudobench.contracts.predictions import Predictions
from pseudobench.contracts.run_spec import RunSpec
from pseudobench.errors import BenchError, BenchWarning, one_line
from pseudobench.execution.datasets import read_dataset
from pseudobench.experiments.splits import evaluated
from pseudobench.registry.components import Registry
from pseudobench.storage.predictions import load_predictions

if TYPE_CHECKING:
    import numpy as np


def score_columns(registry: Registry, found: Predictions, labels: np.ndarray) -> dict[str, float | None]:
    """The number of every column that has a score; one that fails is warned of, and has none."""
    scores: dict[str, float | None] = {}
    for entry in registry.of("columns"):
        if entry.component.score is None:
            continue
        try:
            value = entry.component.score(found, labels)
            scores[entry.name] = None if value is None or not math.isfinite(value) else float(value)
        except Exception as error:
            warnings.warn(
                f"column {entry.name!r} of {entry.owner} failed: {one_line(error)}", BenchWarning, stacklevel=2
            )
    return scores


class Rescorer:
    """Computes the columns of stored runs anew. Each dataset is loaded once."""

    def __init__(self, registry: Registry, data_dir: Path) -> None:
        self._registry, self._data_dir = registry, data_dir
        self._labels: dict[tuple[str, str], np.ndarray] = {}

    def rescore(self, record: Mapping[str, Any], folder: Path) -> dict[str, Any]:
        """A record with the scores of its stored predictions, which lie in ``folder``."""
        said = record.get("predictions")
        if not said:
            raise BenchError(f"{record['run_id']} kept no predictions; run it again with --force")
        found = load_predictions(folder, said)
        labels = self._labels_of(RunSpec.from_json(record["spec"]))
        if len(labels) != len(found.correct):
            raise BenchError(
                f"{record['run_id']} has {len(found.correct)} predictions, its dataset {len(labels)} samples"
            )
        scores = score_columns(self._registry, found, labels)
        if math.isnan(found.probability.sum()):  # packed without: columns that need probabilities keep their scores
            new = {name: value for name, value in scores.items() if value is not None}
            scores = {**record.get("scores", {}), **new}
        return {**record, "scores": scores}

    def _labels_of(self, spec: RunSpec) -> np.ndarray:
        """The true labels of the samples that a run was measured on."""
        key = spec.dataset, spec.evaluates_on
        if key not in self._labels:
            data = read_dataset(self._registry, spec.dataset, self._data_dir)
            self._labels[key] = evaluated(spec, data).test_labels.numpy()
        return self._labels[key]


def scored_columns(registry: Registry) -> Iterator[str]:
    """The names of the columns that are computed from predictions."""
    return (entry.name for entry in registry.of("columns") if entry.component.score is not None)
