"""Jackknife+ sets of a ridge head on features: every labeled sample calibrates, and none is spent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pseudobench import Method, hookimpl, param

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pseudobench import Context, Fold, Pool
    from pseudobench_jackknife.sets import JackknifeSets


@dataclass(frozen=True)
class Jackknife:
    """Jackknife+ (Barber et al. 2021; Romano, Sesia and Candes 2020) with ridge regression on the network's features.

    Needs features that no calibration label has shaped: those of a frozen backbone (``--tune head``), of vectors with
    the backbone ``linear``, or, with held-out calibration, of any network.
    """

    name: ClassVar[str] = "jackknife"
    scaling: ClassVar[str] = "unscaled"
    alpha: float = param(0.1, "share of sets that may miss the true class", low=0, high=1, exclusive=True)
    ridge: float = param(3.0, "penalty of the ridge regression for each feature", low=0, exclusive=True)

    def calibrate(self, folds: Sequence[Fold[Pool]], context: Context) -> JackknifeSets:
        """Fit the head on all calibration points, and leave each of them out in turn, in closed form."""
        from pseudobench_jackknife.sets import calibrate

        return calibrate(self, folds, context)


@hookimpl
def bench_set_predictors() -> list[type[Jackknife]]:
    """Offer the set predictor."""
    return [Jackknife]


@hookimpl
def bench_methods() -> list[Method]:
    """Offer labels from one-element sets."""
    return [
        Method(
            "jackknife-singleton",
            "exactly the one-element jackknife+ sets of a ridge head on frozen features; no labels are spent",
            scaling="unscaled",
            sets="jackknife",
            estimator="softmax",
            labeler="set",
            selector="singleton",
            settings={"calibration.folds": 2},  # their networks are not asked: features are the same for all
            calibration="cross",
            rank=37,
            reference="Barber, Candes, Ramdas and Tibshirani, Predictive Inference with the Jackknife+, Annals of "
            "Statistics 2021",
        )
    ]
