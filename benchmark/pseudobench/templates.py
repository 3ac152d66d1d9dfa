"""The texts of a new plugin, by kind of component."""

from __future__ import annotations

HEAD = '''"""$title: $summary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pseudobench import $imports

if TYPE_CHECKING:
$typing


@dataclass(frozen=True)
class $class_:
    """$title: say in this line what it does; `bench list` shows it."""
'''
TAIL = '''

@hookimpl
def $hook() -> list[type]:
    """Offer it."""
    return [$class_]
'''

#: Kind of component: what it imports at run time and for types, and its body.
KINDS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "selector": (
        "Selection, hookimpl, param",
        ("from pseudobench import Context, Estimate, PredictionSets, PseudoLabels",),
        '''
    name: ClassVar[str] = "$name"
    needs_sets: ClassVar[bool] = False
    share: float = param(0.5, "share of the pool that is selected", low=0, high=1)

    def select(
        self, estimate: Estimate, labels: PseudoLabels, sets: PredictionSets | None, context: Context
    ) -> Selection:
        """Choose the labels that are most probable; no negatives."""
        confidence = estimate.probs.amax(1)
        order = confidence.argsort(descending=True, stable=True)[: round(self.share * len(confidence))]
        keep = confidence.new_zeros(len(confidence)).bool().index_fill(0, order, True)
        positive = labels.target & keep[:, None]
        return Selection(positive, positive.new_zeros(positive.shape))
''',
    ),
    "labeler": (
        "PseudoLabels, hookimpl, param",
        ("from pseudobench import Context, Estimate, PredictionSets",),
        '''
    name: ClassVar[str] = "$name"
    needs_sets: ClassVar[bool] = False
    gamma: float = param(0.5, "a class of at least this probability is a label", low=0, high=1)

    def label(self, estimate: Estimate, sets: PredictionSets | None, context: Context) -> PseudoLabels:
        """Give every sample of the pool its pseudo-label."""
        return PseudoLabels(estimate.probs >= self.gamma)
''',
    ),
    "estimator": (
        "Estimate, hookimpl, param",
        ("from pseudobench import Context, Pool, PredictionSets",),
        '''
    name: ClassVar[str] = "$name"
    needs_sets: ClassVar[bool] = False
    needs_dropout: ClassVar[bool] = True  # it asks for samples
    passes: int = param(10, "passes with dropout", low=2)

    def estimate(self, pool: Pool, sets: PredictionSets | None, context: Context) -> Estimate:
        """Mean probabilities, and how far the passes are apart."""
        import torch

        drawn = [logits.softmax(-1) for logits in pool.samples(self.passes, context.seed_for(self.name))]
        spread = torch.cat([probs.amax(0) - probs.amin(0) for probs in drawn])
        return Estimate(torch.cat([probs.mean(0) for probs in drawn]), spread)
''',
    ),
    "scaling": (
        "hookimpl, param",
        ("from torch import Tensor",),
        '''
    name: ClassVar[str] = "$name"
    temperature: float = param(2.0, "what logits are divided by", low=0, exclusive=True)

    def fit(self, logits: Tensor, labels: Tensor) -> Fitted:
        """Learn from calibration points; this one has nothing to learn."""
        return Fitted(self.temperature)


@dataclass(frozen=True)
class Fitted:
    """A scaling after it was fitted."""

    temperature: float

    @property
    def numbers(self) -> dict[str, float]:
        """What the record keeps."""
        return {"temperature": self.temperature}

    def __call__(self, logits: Tensor) -> Tensor:
        """Scaled logits, for logits of any shape ``[..., C]``."""
        return logits / self.temperature
''',
    ),
    "set-predictor": (
        "Fold, Pool, PredictionSets, hookimpl, param",
        ("from collections.abc import Sequence", "", "from pseudobench import Context", "from torch import Tensor"),
        '''
    name: ClassVar[str] = "$name"
    scaling: ClassVar[str] = "platt"  # what a composition takes with it unless it names another
    alpha: float = param(0.1, "share of sets that may miss the true class", low=0, high=1, exclusive=True)

    def calibrate(self, folds: Sequence[Fold[Pool]], context: Context) -> Calibrated:
        """The scores of the calibration points: what their own class lacks of certainty."""
        probs = [fold.pool.logits().softmax(1) for fold in folds]
        return Calibrated(
            self.alpha,
            tuple(1 - each.gather(1, fold.labels[:, None])[:, 0] for each, fold in zip(probs, folds, strict=True)),
        )


@dataclass(frozen=True)
class Calibrated:
    """The predictor after calibration: the scores ``[n_k]`` of each fold's points."""

    alpha: float
    scores: tuple[Tensor, ...]

    @property
    def numbers(self) -> dict[str, float]:
        """What the record keeps."""
        return {"points": sum(len(scores) for scores in self.scores)}

    def predict(self, pools: Sequence[Pool], context: Context) -> PredictionSets:
        """Sets for the images that ``pools[k]`` shows through fold k's network; with one fold, split conformal."""
        from pseudobench import conformal

        probs = [pool.logits().softmax(1) for pool in pools]
        mask = conformal.cross_mask(self.scores, [1 - each for each in probs], self.alpha)
        return PredictionSets(mask, sum(probs[1:], probs[0]) / len(probs))
''',
    ),
    "dataset": (
        "Dataset, Value, hookimpl",
        ("from collections.abc import Mapping", "from pathlib import Path"),
        '''
    name: ClassVar[str] = "$name"
    classes: ClassVar[int] = 4
    train_size: ClassVar[int] = 400
    test_size: ClassVar[int] = 100
    default_labels: ClassVar[int] = 40
    backbone: ClassVar[str] = "digits_cnn"
    presets: ClassVar[Mapping[str, Mapping[str, Value]]] = {}

    def is_present(self, data_dir: Path) -> bool:
        """Whether it can be read without fetching anything."""
        return True

    def load(self, data_dir: Path) -> Dataset:
        """Made-up grey images, a shade for each class; read yours from ``data_dir``."""
        import torch

        parts = []
        for seed, count in enumerate((self.train_size, self.test_size)):
            labels = torch.arange(count) % self.classes
            noise = torch.randint(0, 100, (count, 1, 8, 8), generator=torch.Generator().manual_seed(seed))
            parts += [(noise + 40 * labels[:, None, None, None]).to(torch.uint8), labels]
        return Dataset(self.name, self.classes, *parts)
''',
    ),
    "executor": (
        "hookimpl",
        ("from collections.abc import Iterator", "", "from pseudobench.executors import Batch, Ended"),
        '''
    name: ClassVar[str] = "$name"

    def execute(self, batch: Batch) -> Iterator[Ended]:
        """One run after another, here; send yours wherever you like, and yield each as it ends."""
        from pseudobench.executors import attempt

        runner = batch.setup.runner(batch.hear)
        for spec in batch.specs:
            yield spec, attempt(runner, spec)
''',
    ),
}

PYPROJECT = """[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "pseudobench-$name"
version = "0.1.0"
description = "$title: $article $kind for pseudobench."
requires-python = ">=3.11"
dependencies = ["pseudobench"]

[project.optional-dependencies]
test = ["pytest"]

[project.entry-points.pseudobench]
$name = "$module"

[tool.setuptools]
py-modules = ["$module"]
"""

TEST = '''"""$title keeps the contract, and does what it says."""

import pytest
from pseudobench.testing import contract

from $module import $class_


@pytest.mark.parametrize("check", contract($class_), ids=str)
def test_contract(check):
    check()
'''

README = """# pseudobench-$name

$Article $kind for pseudobench.

```bash
pip install -e '.[test]' && pytest
bench list $name
```

The code is in `$module.py`.$use
"""


USE = {
    "selector": " Use it in any composition, such as `bench run --methods supervised,softmax+hard+$name`.",
    "labeler": " Use it in any composition, such as `bench run --methods softmax+$name+confidence`.",
    "estimator": " Use it in any composition, such as `bench run --methods $name+hard+ups`.",
    "scaling": " Use it in any composition, such as `bench run --methods $name+raps+set-argmax+confidence`.",
    "set-predictor": " Use it in any composition, such as `bench run --methods $name+set-argmax+confidence`.",
    "dataset": " Use it as `bench run --dataset $name`.",
    "executor": " Use it as `bench run --executor $name`.",
}
