"""RAPS prediction sets (Angelopoulos et al., ICLR 2021), and UPS-RAPS, which takes labels from them (Moezzi)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from pseudobench import MULTI, SINGLE, Estimate, Method, PseudoLabels, Selection, hookimpl, param

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from pseudobench import Context, Fold, Pool, PredictionSets
    from pseudobench_raps.platt import Temperature
    from pseudobench_raps.sets import RapsSets


@dataclass(frozen=True)
class Platt:
    """Platt scaling with one parameter, the temperature (Algorithm 1, line 2)."""

    name: ClassVar[str] = "platt"
    tasks: ClassVar[tuple[str, ...]] = (SINGLE, MULTI)
    smoothing: bool = param(
        True,
        "Platt's smoothed targets, which keep the temperature finite when every point is predicted right",
    )

    def fit(self, logits: Tensor, labels: Tensor) -> Temperature:
        """Learn the temperature from calibration points."""
        from pseudobench_raps.platt import fit_temperature

        return fit_temperature(logits, labels, smoothing=self.smoothing)


@dataclass(frozen=True)
class Unscaled:
    """No scaling: the network's own probabilities."""

    name: ClassVar[str] = "unscaled"
    tasks: ClassVar[tuple[str, ...]] = (SINGLE, MULTI)

    def fit(self, logits: Tensor, labels: Tensor) -> Temperature:
        """A temperature of 1; the data are ignored."""
        from pseudobench_raps.platt import Temperature

        return Temperature(1.0)


@dataclass(frozen=True)
class Raps:
    """RAPS: regularized adaptive prediction sets (Eq. 1 and Eq. 2)."""

    name: ClassVar[str] = "raps"
    tasks: ClassVar[tuple[str, ...]] = (SINGLE, MULTI)
    scaling: ClassVar[str] = "platt"
    alpha: float = param(0.1, "share of sets that may miss the true class", low=0, high=1, exclusive=True)
    k_reg: int = param(2, "ranks beyond this one are penalised", low=0)
    lam: float = param(0.05, "penalty per rank (lambda)", low=0)
    tune: float = param(
        0.0,
        "share of the calibration points set aside to choose k_reg and lam; 0: both as given",
        low=0,
        high=0.9,
    )
    randomized: bool = param(True, "draw u for each sample; false: u = 1, larger sets")
    allow_empty: bool = param(True, "keep empty sets; false: they get the most probable class")

    def calibrate(self, folds: Sequence[Fold[Pool]], context: Context) -> RapsSets:
        """Score the calibration points, after tuning where asked for."""
        from pseudobench_raps.sets import calibrate

        return calibrate(self, folds, context)


@dataclass(frozen=True)
class TunedRaps(Raps):
    """RAPS as its authors run it: no empty sets, and 30 % of the calibration points choose k_reg and lambda by size."""

    name: ClassVar[str] = "raps-tuned"
    tune: float = param(0.3, "share of the calibration points set aside to choose k_reg and lam", low=0, high=0.9)
    allow_empty: bool = param(False, "keep empty sets; false: they get the most probable class")


@dataclass(frozen=True)
class SetSize:
    """The size of a sample's prediction set as the uncertainty of all its classes."""

    name: ClassVar[str] = "set-size"
    tasks: ClassVar[tuple[str, ...]] = (SINGLE, MULTI)
    needs_sets: ClassVar[bool] = True

    def estimate(self, pool: Pool, sets: PredictionSets | None, context: Context) -> Estimate:
        """Estimate every sample of the pool."""
        assert sets is not None
        probs = context.activate(pool.logits())
        return Estimate(probs, sets.sizes[:, None].to(probs.dtype).expand_as(probs))


@dataclass(frozen=True)
class SetLabeler:
    """Eq. 7: every class in the set is a label."""

    name: ClassVar[str] = "set"
    tasks: ClassVar[tuple[str, ...]] = (SINGLE, MULTI)
    needs_sets: ClassVar[bool] = True

    def label(self, estimate: Estimate, sets: PredictionSets | None, context: Context) -> PseudoLabels:
        """Give every sample of the pool its pseudo-label."""
        assert sets is not None
        return PseudoLabels(sets.mask)


@dataclass(frozen=True)
class SetArgmax:
    """Eq. 9: the most probable class, if the set holds it; an empty set gives no label. Multi-label: Eq. 7."""

    name: ClassVar[str] = "set-argmax"
    tasks: ClassVar[tuple[str, ...]] = (SINGLE, MULTI)
    needs_sets: ClassVar[bool] = True

    def label(self, estimate: Estimate, sets: PredictionSets | None, context: Context) -> PseudoLabels:
        """Give every sample of the pool its pseudo-label."""
        from pseudobench.selection import argmax_mask

        assert sets is not None
        if context.task == MULTI:
            return PseudoLabels(sets.mask)
        return PseudoLabels(sets.mask & argmax_mask(sets.probs))


@dataclass(frozen=True)
class Singleton:
    """All samples whose set holds exactly one class, with that class as their label."""

    name: ClassVar[str] = "singleton"
    needs_sets: ClassVar[bool] = True

    def select(
        self, estimate: Estimate, labels: PseudoLabels, sets: PredictionSets | None, context: Context
    ) -> Selection:
        """Choose positives."""
        assert sets is not None
        positive = labels.target & sets.mask & (sets.sizes == 1)[:, None]
        return Selection(positive, positive.new_zeros(positive.shape))


@hookimpl
def bench_scalings() -> list[type[Platt] | type[Unscaled]]:
    """Offer Platt scaling, and no scaling."""
    return [Platt, Unscaled]


@hookimpl
def bench_set_predictors() -> list[type[Raps]]:
    """Offer RAPS with given parameters, and with tuned ones."""
    return [Raps, TunedRaps]


@hookimpl
def bench_estimators() -> list[type[SetSize]]:
    """Offer set size as uncertainty."""
    return [SetSize]


@hookimpl
def bench_labelers() -> list[type[SetLabeler] | type[SetArgmax]]:
    """Offer labels from sets."""
    return [SetLabeler, SetArgmax]


@hookimpl
def bench_selectors() -> list[type[Singleton]]:
    """Offer selection by set size."""
    return [Singleton]


_PAPER = "Moezzi, An Uncertainty-Aware Pseudo-Label Selection Framework using Regularized Conformal Prediction"


#: Algorithm 2 as printed: sets calibrated on the very data that the network was trained on, and plain Platt scaling.
#: Smoothed targets are not in the paper. Without them the temperature of a network that fits its labels is at a bound.
PAPER = Method(
    "ups-raps",
    "the paper's letter: UPS with labels from RAPS sets, calibrated on the training data",
    scaling="platt",
    sets="raps",
    estimator="mc-dropout",
    labeler="set-argmax",
    selector="ups",
    settings={"platt.smoothing": False},
    calibration="train",
    reference=_PAPER,
    is_default=True,
    rank=30,
)
#: Our readings of it, with sets made to cover new samples. Few calibration points need the smoothed targets, `Platt`'s
#: default.
HELD_OUT = replace(
    PAPER,
    name="ups-raps-held-out",
    description="our reading: the paper's sets calibrated on a fifth of the labels, which no network is trained on",
    settings={},
    calibration="held-out",
    is_default=False,
    rank=31,
)


@hookimpl
def bench_methods() -> list[Method]:
    """Offer UPS-RAPS as printed, two readings whose sets should cover, and variants in which sets decide more."""
    cross = replace(
        HELD_OUT,
        name="ups-raps-cross",
        description="our reading: the paper's sets calibrated on all labels by networks of K folds (CV+)",
        calibration="cross",
    )
    tuned = replace(
        HELD_OUT,
        name="ups-raps-tuned",
        description="held-out, with RAPS as its authors run it: no empty sets, k_reg and lambda tuned by size",
        sets="raps-tuned",
    )
    size = replace(
        HELD_OUT,
        name="ups-raps-size",
        description="held-out, set size as the uncertainty: positives from one-element sets, negatives from up to two",
        estimator="set-size",
        settings={"ups.kappa_p": 1, "ups.kappa_n": 2},
    )
    complement = replace(
        HELD_OUT,
        name="ups-raps-complement",
        description="held-out, the classes outside the set as negatives",
        settings={"ups.negatives": "complement"},
    )
    singleton = replace(
        HELD_OUT,
        name="raps-singleton",
        description="held-out, exactly the one-element sets",
        estimator="softmax",
        labeler="set",
        selector="singleton",
    )
    return [PAPER, HELD_OUT, cross, tuned, size, complement, singleton]
