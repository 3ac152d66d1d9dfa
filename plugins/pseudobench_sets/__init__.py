"""Conformal set predictors other than RAPS: LAC, APS, SAPS, top-k, class-conditional, scaled scores, SemiCP."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from pseudobench import MULTI, SINGLE, Method, hookimpl, param

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from pseudobench import Context, Fold, Pool
    from pseudobench_sets.calibrated import ScoreSets


@dataclass(frozen=True)
class _ScorePredictor:
    """Sets of the classes whose score is at most a threshold; subclasses define the score."""

    name: ClassVar[str]
    scaling: ClassVar[str] = "platt"
    by_class: ClassVar[bool] = False
    alpha: float = param(0.1, "share of sets that may miss the true class", low=0, high=1, exclusive=True)

    def scores(self, probs: Tensor, u: Tensor) -> Tensor:
        """The score of every class, ``[n, C]``, from ``probs [n, C]`` and draws ``u [n]``; likely classes score low."""
        raise NotImplementedError

    def scores_of(self, pool: Pool, probs: Tensor, u: Tensor, context: Context, use: str) -> Tensor:
        """`scores` of a pool, for subclasses that need more of it than ``probs``; ``use`` names their random draws."""
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
        """One minus the probability of the class."""
        return 1 - probs


@dataclass(frozen=True)
class Aps(_ScorePredictor):
    """APS: the most probable classes up to a total probability (Romano, Sesia and Candes, NeurIPS 2020)."""

    name: ClassVar[str] = "aps"
    tasks: ClassVar[tuple[str, ...]] = (SINGLE, MULTI)

    def scores(self, probs: Tensor, u: Tensor) -> Tensor:
        """The total probability of the classes ranked before, plus a random share of the class's own."""
        from pseudobench.conformal import class_scores

        return class_scores(probs, u, 0.0, 0)


@dataclass(frozen=True)
class Saps(_ScorePredictor):
    """SAPS: as APS, but each rank after the first adds a constant, not a probability (Huang et al., ICML 2024)."""

    name: ClassVar[str] = "saps"
    lam: float = param(0.2, "constant that each rank adds (lambda)", low=0, exclusive=True)

    def scores(self, probs: Tensor, u: Tensor) -> Tensor:
        """At rank 0 ``u`` times the largest probability, at rank r all of it plus ``(r - 1 + u) lam``."""
        from pseudobench.conformal import class_ranks

        rank, top, u = class_ranks(probs), probs.amax(1, keepdim=True), u[:, None]
        return (u * top).where(rank == 0, top + (rank - 1 + u) * self.lam)


@dataclass(frozen=True)
class TopK(_ScorePredictor):
    """The k most probable classes of every sample, with the smallest k that covers: the plainest sets."""

    name: ClassVar[str] = "top-k"
    tasks: ClassVar[tuple[str, ...]] = (SINGLE, MULTI)

    def scores(self, probs: Tensor, u: Tensor) -> Tensor:
        """The rank of the class."""
        from pseudobench.conformal import class_ranks

        return class_ranks(probs).to(probs.dtype)


@dataclass(frozen=True)
class ClassConditional(_ScorePredictor):
    """Mondrian sets: a threshold per class, so that each class is covered (Vovk 2012; Ding et al., NeurIPS 2023)."""

    name: ClassVar[str] = "class-conditional"
    by_class: ClassVar[bool] = True
    score: str = param("lac", "the score: that of lac or of aps", choices=("lac", "aps"))

    def scores(self, probs: Tensor, u: Tensor) -> Tensor:
        """The score of ``lac`` or ``aps``."""
        predictor: _ScorePredictor = Lac() if self.score == "lac" else Aps()
        return predictor.scores(probs, u)


@dataclass(frozen=True)
class Scaled(_ScorePredictor):
    """LAC's score divided by the sample's uncertainty: unsure samples get larger sets.

    The UPS-RAPS paper names it as future work; see section 2.3 of Angelopoulos and Bates, A Gentle Introduction to
    Conformal Prediction. The uncertainty depends on the sample alone and not on its label, so coverage holds as for
    any score.
    """

    name: ClassVar[str] = "scaled"
    tasks: ClassVar[tuple[str, ...]] = (SINGLE, MULTI)
    by: str = param(
        "mc-dropout",
        "uncertainty; mc-dropout: deviation over passes, averaged over classes; entropy: of one pass without dropout",
        choices=("mc-dropout", "entropy"),
    )
    passes: int = param(10, "stochastic passes of mc-dropout", low=2)
    floor: float = param(
        0.01, "constant added to the uncertainty, so that scores of certain samples stay finite", low=0, exclusive=True
    )

    @property
    def needs_dropout(self) -> bool:
        """Only MC-dropout draws."""
        return self.by == "mc-dropout"

    def scores_of(self, pool: Pool, probs: Tensor, u: Tensor, context: Context, use: str) -> Tensor:
        """One minus the probability of the class, divided by the sample's uncertainty plus ``floor``."""
        from pseudobench_sets.calibrated import deviation, entropy

        if self.by == "entropy":
            scale = entropy(probs, context.task)
        else:
            scale = deviation(pool.samples(self.passes, context.seed_for(f"scaled-{use}")), context.activate)
        return (1 - probs) / (scale + self.floor)[:, None]


@dataclass(frozen=True)
class Semi(Lac):
    """SemiCP with the score of LAC: the pool's samples calibrate too (Zhou et al., CVPR 2026).

    The score of a pool sample is that of its most probable class, plus the difference between the scores of the true
    and the most probable class at the calibration point whose most probable class scores nearest.
    """

    name: ClassVar[str] = "semi"
    tasks: ClassVar[tuple[str, ...]] = (SINGLE,)

    def calibrate(self, folds: Sequence[Fold[Pool]], context: Context) -> ScoreSets:
        """Score the calibration points and the pool."""
        from pseudobench_sets.calibrated import calibrate_with_pool

        return calibrate_with_pool(self, folds, context)


@hookimpl
def bench_set_predictors() -> list[type[_ScorePredictor]]:
    """Offer the set predictors of this plugin."""
    return [Lac, Aps, Saps, TopK, ClassConditional, Scaled, Semi]


@hookimpl
def bench_methods() -> list[Method]:
    """Offer UPS with LAC sets, and labels from one-element sets, all calibrated without spending labels."""
    ups = Method(
        "ups-lac",
        "ups-raps with LAC sets, which can be small with many classes, and cross-fitted calibration",
        scaling="platt",
        sets="lac",
        estimator="mc-dropout",
        labeler="set-argmax",
        selector="ups",
        calibration="cross",
        rank=34,
        reference="Sadinle, Lei and Wasserman, Least Ambiguous Set-Valued Classifiers, JASA 2019; Moezzi",
    )
    singleton = replace(
        ups,
        name="lac-singleton",
        description="exactly the one-element LAC sets, with cross-fitted calibration, in one round",
        settings={"loop.rounds": 1},  # in further rounds cross-fitted sets no longer cover, see METHOD.md
        estimator="softmax",
        labeler="set",
        selector="singleton",
        rank=35,
    )
    semi = replace(
        singleton,
        name="semi-singleton",
        description="exactly the one-element SemiCP sets: the pool calibrates too",
        settings={},
        sets="semi",
        calibration="held-out",
        rank=36,
        reference="Zhou et al., Semi-Supervised Conformal Prediction With Unlabeled Nonconformity Score, CVPR 2026",
    )
    return [ups, singleton, semi]
