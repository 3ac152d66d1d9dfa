"""Uncertainty estimators other than MC-dropout: entropy, margin, BALD, ensembles, folds, test-time augmentation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pseudobench import MULTI, SINGLE, Estimate, Method, hookimpl, param

if TYPE_CHECKING:
    from pseudobench import Context, Pool, PredictionSets


@dataclass(frozen=True)
class Entropy:
    """The entropy of the probabilities, as a share of the largest possible: 0 is certain, 1 is a uniform guess."""

    name: ClassVar[str] = "entropy"
    tasks: ClassVar[tuple[str, ...]] = (SINGLE, MULTI)
    needs_sets: ClassVar[bool] = False

    def estimate(self, pool: Pool, sets: PredictionSets | None, context: Context) -> Estimate:
        """Estimate every sample of the pool."""
        from pseudobench_uncertainty.measures import binary_entropy, entropy, per_sample

        probs = context.activate(pool.logits())
        if context.task == MULTI:
            return Estimate(probs, binary_entropy(probs))
        return per_sample(probs, entropy(probs))


@dataclass(frozen=True)
class Margin:
    """One minus the difference of the two largest probabilities (Scheffer et al. 2001): 0 is certain."""

    name: ClassVar[str] = "margin"
    needs_sets: ClassVar[bool] = False

    def estimate(self, pool: Pool, sets: PredictionSets | None, context: Context) -> Estimate:
        """Estimate every sample of the pool."""
        from pseudobench_uncertainty.measures import margin, per_sample

        probs = context.activate(pool.logits())
        return per_sample(probs, 1 - margin(probs))


@dataclass(frozen=True)
class Bald:
    """BALD: disagreement of passes with dropout, as mutual information (Houlsby et al. 2011, Gal et al. 2017)."""

    name: ClassVar[str] = "bald"
    needs_sets: ClassVar[bool] = False
    needs_dropout: ClassVar[bool] = True
    passes: int = param(10, "stochastic passes", low=2)

    def estimate(self, pool: Pool, sets: PredictionSets | None, context: Context) -> Estimate:
        """Estimate every sample of the pool."""
        from pseudobench_uncertainty.measures import disagreement

        return disagreement(pool.samples(self.passes, context.seed_for("bald")))


@dataclass(frozen=True)
class _SeveralOutputs:
    """Mean and deviation over several outputs for each sample; subclasses say whose."""

    tasks: ClassVar[tuple[str, ...]] = (SINGLE, MULTI)
    needs_sets: ClassVar[bool] = False
    negative_temperature: float = param(
        2.0,
        "temperature that softens probabilities for the rule on negatives (single-label)",
        low=0,
        exclusive=True,
    )


@dataclass(frozen=True)
class Ensemble(_SeveralOutputs):
    """A deep ensemble: mean and deviation over networks from different seeds (Lakshminarayanan et al. 2017).

    Every round trains ``networks`` networks on the same labels. The first one is evaluated, as in every other method.
    Under cross calibration the networks of the folds serve as the further members, as far as they suffice.
    """

    name: ClassVar[str] = "ensemble"
    networks: int = param(5, "networks; the deviation is the unbiased one, so at least 2", low=2)

    def estimate(self, pool: Pool, sets: PredictionSets | None, context: Context) -> Estimate:
        """Estimate every sample of the pool."""
        import torch

        from pseudobench.estimation import estimate_from_samples

        logits = torch.stack([member.logits() for member in pool.members()])
        return estimate_from_samples([logits], self.negative_temperature, context)


@dataclass(frozen=True)
class Augmented(_SeveralOutputs):
    """Test-time augmentation: mean and deviation over shifted and mirrored views (Ayhan and Berens 2018)."""

    name: ClassVar[str] = "test-time"
    needs_images: ClassVar[bool] = True
    views: int = param(10, "augmented views; the deviation is the unbiased one, so at least 2", low=2)

    def estimate(self, pool: Pool, sets: PredictionSets | None, context: Context) -> Estimate:
        """Estimate every sample of the pool."""
        from pseudobench.estimation import estimate_from_samples

        views = pool.views(self.views, context.seed_for("test-time"))
        return estimate_from_samples(views, self.negative_temperature, context)


@dataclass(frozen=True)
class Folds(_SeveralOutputs):
    """The networks of cross calibration as an ensemble: mean and deviation over them and the main network."""

    name: ClassVar[str] = "folds"
    needs_calibration: ClassVar[bool] = True

    def estimate(self, pool: Pool, sets: PredictionSets | None, context: Context) -> Estimate:
        """Estimate every sample of the pool."""
        import torch

        from pseudobench.estimation import estimate_from_samples

        assert context.calibration is not None
        logits = torch.stack([pool.logits(), *(fold.rest.logits() for fold in context.calibration)])
        return estimate_from_samples([logits], self.negative_temperature, context)


@hookimpl
def bench_estimators() -> list[type]:
    """Offer the estimators of this plugin."""
    return [Entropy, Margin, Bald, Ensemble, Augmented, Folds]


@hookimpl
def bench_methods() -> list[Method]:
    """Offer pseudo-labels of the cross-fitted ensemble."""
    return [
        Method(
            "pl-folds",
            "pl with labels from the mean of the networks of cross calibration and the main one",
            estimator="folds",
            labeler="hard",
            selector="confidence",
            calibration="cross",
            rank=11,
            reference="Lakshminarayanan et al., Simple and Scalable Predictive Uncertainty Estimation using Deep "
            "Ensembles, NeurIPS 2017; Lee 2013",
        )
    ]
