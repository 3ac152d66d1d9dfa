"""RAPS calibration and sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from mapie.classification import SplitConformalClassifier
from mapie.conformity_scores import RAPSConformityScore
from measuring import Row, cifar, inverse, network, normalizer, ratio
from sklearn.base import BaseEstimator, ClassifierMixin

from pseudobench import conformal
from pseudobench.pool import NetworkPool

LAM, K_REG, ALPHA = 0.05, 2, 0.1


def rows(data_dir: Path) -> list[Row]:
    """Against ``torch.sort`` of the same matrix, and against MAPIE."""
    data = cifar("cifar100", data_dir)
    found = []
    for count, classes in ((50_000, 100), (20_000, 1000)):
        made = network("cifar_cnn", data, classes)
        logits = NetworkPool(made, data.train_images[:count], normalizer(data)).logits()
        probs = (logits / logits.std() * 2).softmax(1)  # as sharp as a trained network's
        labels = torch.arange(count) % classes  # MAPIE asks for each class more than once; no time depends on them
        name = f"RAPS calibration and sets of {count:,} x {classes:,}"
        _, text = ratio(lambda p=probs, y=labels: ours(p, y), lambda p=probs: p.sort(dim=1, descending=True))
        found.append(Row(f"{name} against `torch.sort`", text, "at most 0.5"))
        measured = ratio(lambda p=probs, y=labels: ours(p, y), lambda p=probs, y=labels: theirs(p, y), times=2)
        found.append(Row(f"{name} against MAPIE", inverse(measured), "at least 10 times"))
    return found


def ours(probs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Calibrate on half, and the sets of all."""
    u = torch.rand(len(probs), generator=torch.Generator().manual_seed(0))
    half = len(probs) // 2
    scores = conformal.label_scores(probs[:half], labels[:half], u[:half], LAM, K_REG)
    return conformal.set_mask(probs, u, conformal.conformal_threshold(scores, ALPHA), LAM, K_REG)


class Given(ClassifierMixin, BaseEstimator):
    """A classifier whose inputs are its probabilities."""

    def fit(self, x: np.ndarray, y: np.ndarray) -> Given:
        """Nothing to learn."""
        self.classes_ = np.arange(x.shape[1])
        self.fitted_ = True
        return self

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        """What it is given."""
        return x

    def predict(self, x: np.ndarray) -> np.ndarray:
        """The most probable class."""
        return x.argmax(1)


def theirs(probs: torch.Tensor, labels: torch.Tensor) -> np.ndarray:
    """The same with MAPIE, which keeps a part of the calibration points for choosing its penalty."""
    given, known = probs.double().numpy(), labels.numpy()
    half = len(probs) // 2
    mapie = SplitConformalClassifier(
        Given().fit(given, known),
        confidence_level=1 - ALPHA,
        conformity_score=RAPSConformityScore(),
        prefit=True,
        random_state=0,
    )
    mapie.conformalize(given[:half], known[:half])
    return mapie.predict_set(given)[1]
