"""What is recorded of a round. The only place that holds the true labels of the pool and of the test samples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from pseudobench.contracts.predictions import Predictions
from pseudobench.errors import RunError
from pseudobench.maths import metrics
from pseudobench.maths.selection import argmax_mask

if TYPE_CHECKING:
    from torch import Tensor

    from pseudobench.contracts.datasets import Dataset, Split
    from pseudobench.contracts.values import Estimate, PredictionSets, PseudoLabels, Selection


@dataclass(frozen=True)
class Recorder:
    """Compares predictions with the true labels, ``int64 [N]`` or ``bool [N, C]``, of the pool and the test samples."""

    classes: int
    pool_labels: Tensor
    test_labels: Tensor

    @classmethod
    def of(cls, data: Dataset, split: Split) -> Recorder:
        """The recorder of a run on ``data`` with this split."""
        return cls(data.classes, data.train_labels[list(split.unlabeled)], data.test_labels)

    def test(self, logits: Tensor) -> dict[str, Any]:
        """How good ``logits [N, C]`` of the test samples are."""
        if not bool(logits.isfinite().all()):
            raise RunError("the network's outputs are not finite numbers; try a smaller recipe.lr")
        if self.test_labels.ndim == 2:
            return metrics.multi_label(logits, self.test_labels)
        bins = metrics.reliability(logits, self.test_labels)
        return {
            "accuracy": metrics.accuracy(logits, self.test_labels),
            "nll": metrics.negative_log_likelihood(logits, self.test_labels),
            "ece": metrics.expected_calibration_error(bins),
            "reliability": bins,
        }

    def predictions(self, logits: Tensor) -> Predictions:
        """The answers that ``logits [N, C]`` of the test samples give, and which of them are right."""
        if self.test_labels.ndim == 2:
            probs = logits.sigmoid()
            chosen = probs >= 0.5
            correct = (chosen == self.test_labels).all(1)
            return Predictions(chosen.numpy(), probs.numpy(), correct.numpy())
        probability, predicted = logits.softmax(1).max(1)
        return Predictions(predicted.numpy(), probability.numpy(), (predicted == self.test_labels).numpy())

    def precision_at(self, labels: PseudoLabels, score: Tensor) -> list[float | None]:
        """Share of right labels among the first 10 %, 20 %, ..., 100 % of the pool by ``score [N]``, highest first.

        A label is right if it names a true class and nothing else. Samples without a label come last; None where a
        share reaches beyond the labeled samples.
        """
        truth, named = self._truth(self.pool_labels), labels.target.any(1)
        right = named & ~(labels.target & ~truth).any(1)
        order = score.masked_fill(~named, -torch.inf).argsort(descending=True, stable=True)
        hits = right[order].double().cumsum(0)
        counts = [round(tenth * len(order) / 10) for tenth in range(1, 11)]
        return [float(hits[n - 1] / n) if 0 < n <= int(named.sum()) else None for n in counts]

    def selection(self, estimate: Estimate, labels: PseudoLabels, selection: Selection) -> dict[str, Any]:
        """Counts of the selected pseudo-labels, and the shares of them that are right."""
        truth, single = self._truth(self.pool_labels), self.pool_labels.ndim == 1
        positive, negative = selection.positive, selection.negative
        with_positive, with_negative = int(positive.any(1).sum()), int(negative.any(1).sum())
        named = labels.target.any(1)
        return {
            "pool": len(truth),
            "positives": int(positive.sum()),
            "positive_samples": with_positive,
            "positive_share": with_positive / max(len(truth), 1),
            "positive_precision": metrics.share(truth, positive),
            "positives_per_class": positive.sum(0).tolist(),
            "negatives": int(negative.sum()),
            "negative_samples": with_negative,
            "negatives_per_sample": int(negative.sum()) / with_negative if with_negative else None,
            "negative_precision": metrics.share(~truth, negative),
            "unlabeled": int((~named).sum()),
            "not_argmax": int(((labels.target != argmax_mask(estimate.probs)).any(1) & named).sum())
            if single
            else None,
            "argmax_accuracy": metrics.accuracy(estimate.probs, self.pool_labels) if single and len(truth) else None,
        }

    def sets(self, pool: PredictionSets, test: PredictionSets, points: int) -> dict[str, Any]:
        """Coverage and size of the sets of pool and test samples; ``points`` calibration points gave the threshold."""
        sizes = pool.sizes
        of_test = metrics.coverage(test.mask, self._truth(self.test_labels))
        return {
            "calibration_points": points,
            "tau": pool.tau if math.isfinite(pool.tau) else None,
            "tau_is_infinite": math.isinf(pool.tau),
            "coverage": metrics.coverage(pool.mask, self._truth(self.pool_labels))["coverage"],
            **{f"test_{name}": value for name, value in of_test.items()},
            "set_size": float(sizes.double().mean()),
            "test_set_size": float(test.sizes.double().mean()),
            "empty_sets": float((sizes == 0).double().mean()),
            "sizes": torch.bincount(sizes, minlength=self.classes + 1).tolist(),
        }

    def _truth(self, labels: Tensor) -> Tensor:
        """Labels as ``bool [N, C]``."""
        return labels if labels.ndim == 2 else torch.nn.functional.one_hot(labels, self.classes).bool()
