"""Conformal set predictors besides RAPS: what else people build prediction sets with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pseudobench import MULTI, SINGLE, hookimpl, param

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from pseudobench import Context, Fold, Pool
    from pseudobench_sets.calibrated import ScoreSets


@dataclass(frozen=True)
class _ScorePredictor:
    """Sets of the classes whose score is at most a threshold; a subclass says what the score is."""

    name: ClassVar[str]
    scaling: ClassVar[str] = "platt"
    by_class: ClassVar[bool] = False
    alpha: float = param(0.1, "share of sets that may miss the true class", low=0, high=1, exclusive=True)

    def scores(self, probs: Tensor, u: Tensor) -> Tensor:
        """The score of every class, ``[n, C]``, from ``probs [n, C]`` and draws ``u [n]``; low is likely."""
        raise NotImplementedError

    def scores_of(self, pool: Pool, probs: Tensor, u: Tensor, context: Context, use: str) -> Tensor:
        """The same for a pool with these ``probs``, of which a subclass may ask more; ``use`` names its draws."""
        return self.scores(probs, u)

    def calibrate(self, folds: Sequence[Fold[Pool]], context: Context) -> ScoreSets:
        """Score the calibration points."""
        from pseudobench_sets.calibrated import calibrate

        return calibrate(self, folds, context)


@dataclass(frozen=True)
class Lac(_ScorePredictor):
    """LAC: the classes of at least a certain probability, the smallest sets on average (Sadinle et al., JASA 2019)."""

    name: ClassVar[str] = "lac"
    tasks: ClassVar[tuple[str, ...]] = (SINGLE, MULTI)

    def scores(self, probs: Tensor, u: Tensor) -> Tensor:
        """What the class lacks of certainty."""
        return 1 - probs


@dataclass(frozen=True)
class Aps(_ScorePredictor):
    """APS: the most probable classes up to a total probability (Romano, Sesia and Candes, NeurIPS 2020)."""

    name: ClassVar[str] = "aps"
    tasks: ClassVar[tuple[str, ...]] = (SINGLE, MULTI)

    def scores(self, probs: Tensor, u: Tensor) -> Tensor:
        """The probability of all classes before it, and a random share of its own."""
        from pseudobench.conformal import class_scores

        return class_scores(probs, u, 0.0, 0)


@dataclass(frozen=True)
class Saps(_ScorePredictor):
    """SAPS: as APS, but ranks count instead of all probabilities below the largest (Huang et al., ICML 2024)."""

    name: ClassVar[str] = "saps"
    lam: float = param(0.2, "what a rank counts (lambda)", low=0, exclusive=True)

    def scores(self, probs: Tensor, u: Tensor) -> Tensor:
        """A random share of the largest probability, and ``lam`` for each rank behind it."""
        from pseudobench.conformal import class_ranks

        rank, top, u = class_ranks(probs), probs.amax(1, keepdim=True), u[:, None]
        return (u * top).where(rank == 0, top + (rank - 1 + u) * self.lam)


@dataclass(frozen=True)
class TopK(_ScorePredictor):
    """The k most probable classes of every sample, with the k that covers (the plainest sets there are)."""

    name: ClassVar[str] = "top-k"
    tasks: ClassVar[tuple[str, ...]] = (SINGLE, MULTI)

    def scores(self, probs: Tensor, u: Tensor) -> Tensor:
        """The rank of the class."""
        from pseudobench.conformal import class_ranks

        return class_ranks(probs).to(probs.dtype)


@dataclass(frozen=True)
class ClassConditional(_ScorePredictor):
    """Mondrian sets: a threshold for each class, so that each is covered (Vovk 2012; Ding et al., NeurIPS 2023)."""

    name: ClassVar[str] = "class-conditional"
    by_class: ClassVar[bool] = True
    score: str = param("lac", "the score: that of lac or of aps", choices=("lac", "aps"))

    def scores(self, probs: Tensor, u: Tensor) -> Tensor:
        """The score of ``lac`` or ``aps``."""
        predictor: _ScorePredictor = Lac() if self.score == "lac" else Aps()
        return predictor.scores(probs, u)


@dataclass(frozen=True)
class Scaled(_ScorePredictor):
    """LAC's score over an uncertainty: what a class lacks counts less where the network is unsure.

    The future work of the UPS-RAPS paper, after section 2.3 of Angelopoulos and Bates, A Gentle Introduction to
    Conformal Prediction. The threshold is in units of the uncertainty, which is a function of the sample alone, so
    coverage holds as for any score.
    """

    name: ClassVar[str] = "scaled"
    tasks: ClassVar[tuple[str, ...]] = (SINGLE, MULTI)
    by: str = param(
        "mc-dropout",
        "the uncertainty: mc-dropout: the deviation over passes, averaged over classes; entropy: that of one pass",
        choices=("mc-dropout", "entropy"),
    )
    passes: int = param(10, "stochastic passes of mc-dropout", low=2)
    floor: float = param(
        0.01, "added to the uncertainty, lest certain samples have infinite scores", low=0, exclusive=True
    )

    @property
    def needs_dropout(self) -> bool:
        """Only if it draws."""
        return self.by == "mc-dropout"

    def scores_of(self, pool: Pool, probs: Tensor, u: Tensor, context: Context, use: str) -> Tensor:
        """What a class lacks of certainty, in units of the sample's uncertainty."""
        from pseudobench_sets.calibrated import deviation, entropy

        if self.by == "entropy":
            scale = entropy(probs, context.task)
        else:
            scale = deviation(pool.samples(self.passes, context.seed_for(f"scaled-{use}")), context.activate)
        return (1 - probs) / (scale + self.floor)[:, None]


@hookimpl
def bench_set_predictors() -> list[type[_ScorePredictor]]:
    """Offer them all."""
    return [Lac, Aps, Saps, TopK, ClassConditional, Scaled]
