"""The interfaces of components. A component is a frozen dataclass that has the methods of its kind's interface.

Its class variables give its name and its needs; its fields, declared with `param`, are its parameters. N is the number
of samples in the pool, C of classes, n of calibration points, B of samples in a batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from pseudobench.contracts.parameters import Value
from pseudobench.contracts.pools import Fold, Pool

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

    from pseudobench.contracts.datasets import Dataset
    from pseudobench.contracts.executing import Batch, Ended
    from pseudobench.contracts.values import Context, Estimate, PredictionSets, PseudoLabels, Selection


class Component(Protocol):
    """The part common to all components: a name.

    A component of a stage is taken to be for the single-label task. If it also works where samples have any number of
    classes, it declares ``tasks = ("single-label", "multi-label")``; otherwise it is refused on such data before
    training.
    """

    name: ClassVar[str]


class FittedScaling(Protocol):
    """A scaling after fitting. The record keeps its ``numbers``."""

    @property
    def numbers(self) -> Mapping[str, float]:
        """Names and values of the fitted quantities."""
        ...

    def __call__(self, logits: Tensor) -> Tensor:
        """Scaled logits of the same shape, for logits of any shape ``[..., C]``."""
        ...


class Scaling(Protocol):
    """Turns logits into better calibrated logits (Algorithm 1, line 2)."""

    name: ClassVar[str]

    def fit(self, logits: Tensor, labels: Tensor) -> FittedScaling:
        """Learn from calibration ``logits [n, C]`` and ``labels int64 [n]``, or ``bool [n, C]``."""
        ...


class CalibratedSets(Protocol):
    """A set predictor after calibration. The record keeps its ``numbers``."""

    @property
    def numbers(self) -> Mapping[str, float]:
        """Names and values of the fitted quantities."""
        ...

    def predict(self, pools: Sequence[Pool], context: Context) -> PredictionSets:
        """Sets of N samples; ``pools[k]`` are these samples as seen by the network of fold k."""
        ...


class SetPredictor(Protocol):
    """Conformal prediction sets (Eq. 1 and Eq. 2, or another score).

    ``scaling`` names the scaling of compositions that name none themselves.
    """

    name: ClassVar[str]
    scaling: ClassVar[str]

    def calibrate(self, folds: Sequence[Fold[Pool]], context: Context) -> CalibratedSets:
        """Compute thresholds or scores from the calibration points."""
        ...


class Estimator(Protocol):
    """Estimates probabilities of the pool and their uncertainty. ``needs_sets`` asks for a set predictor.

    Further needs are class variables, properties or parameters; a run that can't meet them is refused before training:
    ``needs_calibration = True`` for calibration points (in ``context.calibration``), ``needs_dropout = True`` for
    `Pool.samples`, ``needs_images = True`` for `Pool.views`, and ``networks = 5`` to train five networks from different
    seeds each round, for `Pool.members` (the first of them is evaluated).
    """

    name: ClassVar[str]

    @property
    def needs_sets(self) -> bool:
        """Whether it reads prediction sets, given its parameters; a class variable suffices."""
        ...

    def estimate(self, pool: Pool, sets: PredictionSets | None, context: Context) -> Estimate:
        """Estimate every sample of the pool."""
        ...


class Labeler(Protocol):
    """Gives samples pseudo-labels.

    ``needs_sets`` asks for a set predictor, ``needs_calibration`` for calibration points.
    """

    name: ClassVar[str]

    @property
    def needs_sets(self) -> bool:
        """Whether it reads prediction sets, given its parameters; a class variable suffices."""
        ...

    def label(self, estimate: Estimate, sets: PredictionSets | None, context: Context) -> PseudoLabels:
        """Give every sample of the pool its pseudo-label: any number of classes, also none."""
        ...


class Selector(Protocol):
    """Chooses the pseudo-labels to train on.

    ``needs_sets`` asks for a set predictor, ``needs_calibration`` for calibration points. A method
    ``score(estimate, labels, sets, context) -> float [N]``, if it has one, is the order in which it trusts labels, for
    the record; without, that order is the probability of the label.
    """

    name: ClassVar[str]

    @property
    def needs_sets(self) -> bool:
        """Whether it reads prediction sets, given its parameters; a class variable suffices."""
        ...

    def select(
        self, estimate: Estimate, labels: PseudoLabels, sets: PredictionSets | None, context: Context
    ) -> Selection:
        """Choose positives and negatives."""
        ...


def needs_calibration(component: object) -> bool:
    """Whether an estimator, labeler or selector asks for calibration points, with these parameters."""
    return bool(getattr(component, "needs_calibration", False))


class DatasetSource(Protocol):
    """A source of a dataset: it loads the dataset, and knows its sizes before.

    In a dataset's name such as ``folder:PATH`` the part after the colon is the source's first parameter; sizes may be
    properties that depend on it. ``task = "multi-label"`` declares samples with any number of classes.

    ``samples = "vectors"`` declares samples that are vectors ``float32 [N, F]`` instead of images. A source of files
    that can change may have a method ``fingerprint() -> str``: a hash of their content, which is part of run ids.

    ``default_labels`` and ``backbone`` are the defaults of `bench run` for this dataset. ``presets`` maps a preset to
    settings for this dataset (``{"cpu": {"recipe.epochs": 30}}``).
    """

    name: ClassVar[str]
    backbone: ClassVar[str]
    presets: ClassVar[Mapping[str, Mapping[str, Value]]]

    @property
    def classes(self) -> int:
        """Number of classes."""
        ...

    @property
    def train_size(self) -> int:
        """Number of training samples."""
        ...

    @property
    def test_size(self) -> int:
        """Number of test samples."""
        ...

    @property
    def default_labels(self) -> int:
        """Label budget if the user names none."""
        ...

    def is_present(self, data_dir: Path) -> bool:
        """Whether it can be loaded without fetching anything."""
        ...

    def load(self, data_dir: Path) -> Dataset:
        """Load it into memory; fetch it first if it is not in ``data_dir``."""
        ...


@dataclass(frozen=True)
class Backbone:
    """A network named ``name``, which importing ``module`` registers with timm.

    ``takes`` is ``images``, or ``vectors`` for a network on vectors ``[B, F]``, which is made with ``in_chans=F``.
    """

    name: str
    module: str
    description: str = ""
    takes: str = "images"


class Executor(Component, Protocol):
    """Executes runs. Its parameters are options of ``bench run``: ``address`` of ``ray`` is ``--ray-address``."""

    def execute(self, batch: Batch) -> Iterator[Ended]:
        """Execute every run of ``batch`` with a runner made by ``batch.setup``; yield each run as it ends."""
        ...
