"""The interfaces of the stages: one method each. A component is a frozen dataclass that has it.

Its class variables say what it is called and what it needs; its fields (`param`) are its parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, TypeVar

from pseudobench.contracts.parameters import Value

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

    from pseudobench.contracts.datasets import Dataset
    from pseudobench.contracts.executing import Batch, Ended
    from pseudobench.contracts.values import Context, Estimate, PredictionSets, PseudoLabels, Selection


class Component(Protocol):
    """What every component has.

    One of a stage that also works where samples have any number of classes says so with a class variable
    ``tasks = ("single-label", "multi-label")``; others are refused on such data before anything is trained.
    """

    name: ClassVar[str]


class Pool(Protocol):
    """Images that a trained network can be asked about. The one place that runs the network."""

    def __len__(self) -> int: ...

    def logits(self) -> Tensor:
        """The network's outputs without dropout, ``[N, C]``."""
        ...

    def samples(self, passes: int, seed: int) -> Iterator[Tensor]:
        """Outputs with dropout switched on, batch by batch in order: ``[passes, B, C]`` each."""
        ...

    def views(self, count: int, seed: int) -> Iterator[Tensor]:
        """Outputs for randomly shifted (and mirrored, where that is harmless) images: ``[count, B, C]`` each."""
        ...

    def members(self) -> Sequence[Pool]:
        """The same samples as each network of an ensemble sees them; as many as the estimator's ``networks`` says."""
        ...

    def features(self) -> Tensor:
        """The inputs of the network's last layer without dropout, ``float32 [N, F]``."""
        ...


P_co = TypeVar("P_co", bound=Pool, covariant=True)


@dataclass(frozen=True)
class Fold(Generic[P_co]):
    """Calibration points ``pool`` with their ``labels int64 [n]``, and the network that predicts them.

    Where a sample can have several classes, ``labels`` are ``bool [n, C]``. ``rest`` is the unlabeled pool as the
    same network sees it. Held-out calibration has one fold, cross-conformal calibration several. With the policy
    ``train`` the points are the training data, selected pseudo-labels included.
    """

    pool: P_co
    labels: Tensor
    rest: P_co


class FittedScaling(Protocol):
    """A scaling after it was fitted; ``numbers`` is what the record keeps of it."""

    @property
    def numbers(self) -> Mapping[str, float]:
        """Names and values of what was learned."""
        ...

    def __call__(self, logits: Tensor) -> Tensor:
        """Scaled logits, for logits of any shape ``[..., C]``."""
        ...


class Scaling(Protocol):
    """Turns logits into better calibrated logits (Algorithm 1, line 2)."""

    name: ClassVar[str]

    def fit(self, logits: Tensor, labels: Tensor) -> FittedScaling:
        """Learn from calibration ``logits [n, C]`` and ``labels int64 [n]``, or ``bool [n, C]``."""
        ...


class CalibratedSets(Protocol):
    """A set predictor after calibration; ``numbers`` is what the record keeps of it."""

    @property
    def numbers(self) -> Mapping[str, float]:
        """Names and values of what was learned."""
        ...

    def predict(self, pools: Sequence[Pool], context: Context) -> PredictionSets:
        """Sets for the images that ``pools[k]`` shows through fold k's network."""
        ...


class SetPredictor(Protocol):
    """Conformal prediction sets (Eq. 1 and Eq. 2, or another score).

    ``scaling`` is the scaling that a composition takes with it unless it names another.
    """

    name: ClassVar[str]
    scaling: ClassVar[str]

    def calibrate(self, folds: Sequence[Fold[Pool]], context: Context) -> CalibratedSets:
        """Find the threshold on calibration data."""
        ...


class Estimator(Protocol):
    """Probabilities of the pool, and how uncertain they are. ``needs_sets`` asks for a set predictor.

    What else it needs it says with class variables or properties, and what can't be is refused before anything is
    trained: ``needs_calibration = True`` for calibration points (in ``context.calibration``), ``needs_dropout = True``
    if it draws with dropout, ``needs_images = True`` if it asks for views, and ``networks = 5`` if each round is to
    train so many networks from different seeds for it (the first of them is the one that is evaluated).
    """

    name: ClassVar[str]

    @property
    def needs_sets(self) -> bool:
        """Whether it reads prediction sets, with these parameters; a class variable will do."""
        ...

    def estimate(self, pool: Pool, sets: PredictionSets | None, context: Context) -> Estimate:
        """Estimate every sample of the pool."""
        ...


class Labeler(Protocol):
    """Makes pseudo-labels. ``needs_sets`` asks for a set predictor, ``needs_calibration`` for calibration points."""

    name: ClassVar[str]

    @property
    def needs_sets(self) -> bool:
        """Whether it reads prediction sets, with these parameters; a class variable will do."""
        ...

    def label(self, estimate: Estimate, sets: PredictionSets | None, context: Context) -> PseudoLabels:
        """Give every sample of the pool its pseudo-label."""
        ...


class Selector(Protocol):
    """Chooses which pseudo-labels to train on.

    ``needs_sets`` asks for a set predictor, ``needs_calibration`` for calibration points.
    """

    name: ClassVar[str]

    @property
    def needs_sets(self) -> bool:
        """Whether it reads prediction sets, with these parameters; a class variable will do."""
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
    """Where a dataset comes from, and what is known of it before it is loaded.

    In a name such as ``folder:PATH`` what stands behind the colon is the source's first parameter, and the numbers
    may be properties that depend on it.

    A class variable ``task = "multi-label"`` says that a sample has any number of classes.

    ``default_labels`` and ``backbone`` are what `bench run` takes if nothing is said. ``presets`` maps a
    preset to settings for this dataset (``{"cpu": {"recipe.epochs": 30}}``).
    """

    name: ClassVar[str]
    backbone: ClassVar[str]
    presets: ClassVar[Mapping[str, Mapping[str, Value]]]

    @property
    def classes(self) -> int:
        """How many classes it has."""
        ...

    @property
    def train_size(self) -> int:
        """How many training images it has."""
        ...

    @property
    def test_size(self) -> int:
        """How many test images it has."""
        ...

    @property
    def default_labels(self) -> int:
        """The label budget if none is said."""
        ...

    def is_present(self, data_dir: Path) -> bool:
        """Whether it can be read without fetching anything."""
        ...

    def load(self, data_dir: Path) -> Dataset:
        """Read it into memory, fetched first if it is not there."""
        ...


@dataclass(frozen=True)
class Backbone:
    """A network that importing ``module`` registers with timm under ``name``."""

    name: str
    module: str
    description: str = ""


class Executor(Component, Protocol):
    """Where runs execute. Its parameters are options of ``bench run``: ``address`` of ``ray`` is ``--ray-address``."""

    def execute(self, batch: Batch) -> Iterator[Ended]:
        """Do every run of ``batch`` somewhere, with a runner made by ``batch.setup``; yield each as it ends."""
        ...
