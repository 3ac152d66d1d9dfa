"""RAPS calibration and sets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from mapie.classification import SplitConformalClassifier
from mapie.conformity_scores import RAPSConformityScore
from measuring import Row, cifar, inverse, network, normalizer, ratio
from sklearn.base import BaseEstimator, ClassifierMixin

from pseudobench import conformal
from pseudobench.contracts.settings import Recipe
from pseudobench.learning.augmentation import augmentation
from pseudobench.learning.pool import NetworkPool, slices
from pseudobench.learning.training_loop import fit
from pseudobench.learning.training_set import TrainingSet
from pseudobench.rounds.round_networks import one_hot

LAM, K_REG, ALPHA = 0.05, 2, 0.1


def rows(data_dir: Path) -> Iterator[Row]:
    """Against ``torch.sort`` of the same matrix, and against MAPIE."""
    for whose, probs, labels in predictions(data_dir):
        count, classes = probs.shape
        name = f"RAPS calibration and sets of {count:,} x {classes:,}, {whose}"
        _, text = ratio(lambda p=probs, y=labels: ours(p, y), lambda p=probs: p.sort(dim=1, descending=True))
        yield Row(f"{name}, against `torch.sort`", text, "at most 0.5")
        if whose == TRAINED:
            measured = ratio(lambda p=probs, y=labels: ours(p, y), lambda p=probs, y=labels: theirs(p, y), times=2)
            yield Row(f"{name}, against MAPIE", inverse(measured), "at least 10 times")


TRAINED, UNTRAINED, RANDOM = "trained network", "untrained network", "random"


def predictions(data_dir: Path) -> Iterator[tuple[str, torch.Tensor, torch.Tensor]]:
    """Whose they are, probabilities, and labels.

    What a trained network says of CIFAR-100, 50,000 x 100, and a head with 1,000 random classes on its features. An
    untrained one ranks the classes of all images alike, and sorting the same order again is easy for `torch.sort`.
    """
    data = cifar("cifar100", data_dir)
    made, normalize = network("cifar_cnn", data), normalizer(data)
    generator = torch.Generator().manual_seed(0)
    yield UNTRAINED, NetworkPool(made, data.train_images, normalize).logits().softmax(1), data.train_labels
    for count, classes in ((50_000, 100), (20_000, 1000)):
        drawn = (2 * torch.randn(count, classes, generator=generator)).softmax(1)
        yield RANDOM, drawn, torch.randint(classes, (count,), generator=generator)
    known = TrainingSet(
        data.train_images, torch.arange(50_000), one_hot(data.train_labels, 100), torch.zeros(50_000, 100).bool()
    )
    fit(
        made,
        known,
        Recipe(epochs=2, steps=150, batch_size=128),
        normalize,
        augment=augmentation("none", flip=True),
        seed=0,
    )
    pool = NetworkPool(made, data.train_images, normalize)
    yield TRAINED, pool.logits().softmax(1), data.train_labels
    with torch.no_grad():
        features = torch.cat(
            [
                made.forward_features(batch).mean((2, 3))
                for batch in map(normalize, slices(made, data.train_images[:20_000]))
            ]
        )
    logits = (features - features.mean(0)) @ torch.randn(features.shape[1], 1000, generator=generator)
    probs = (logits / logits.std() * 4).softmax(1)
    # Each class is someone's label, as MAPIE asks for.
    labels = torch.cat([torch.arange(2000) % 1000, torch.multinomial(probs[2000:], 1, generator=generator)[:, 0]])
    yield TRAINED, probs, labels


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
