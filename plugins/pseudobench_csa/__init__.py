"""Confident Sinkhorn allocation: samples whose two best classes differ significantly, dealt out evenly over classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pseudobench import Estimate, Method, Selection, hookimpl, param

if TYPE_CHECKING:
    from pseudobench import Context, Pool, PredictionSets, PseudoLabels


@dataclass(frozen=True)
class Welch:
    """The p-value of Welch's t-test between the two most probable classes over passes with dropout, as uncertainty."""

    name: ClassVar[str] = "welch"
    needs_sets: ClassVar[bool] = False
    needs_dropout: ClassVar[bool] = True
    passes: int = param(10, "stochastic passes", low=2)

    def estimate(self, pool: Pool, sets: PredictionSets | None, context: Context) -> Estimate:
        """Estimate every sample of the pool."""
        import torch

        from pseudobench.estimation import moments
        from pseudobench_csa.allocation import welch_p_values

        samples = pool.samples(self.passes, context.seed_for("welch"))
        parts = [moments(context.activate(batch)) for batch in samples]
        if not parts:
            probs = context.activate(pool.logits())
            return Estimate(probs, torch.zeros_like(probs))
        mean, deviation = (torch.cat(each) for each in zip(*parts, strict=True))
        found = welch_p_values(mean, deviation, self.passes)
        return Estimate(mean, found[:, None].expand_as(mean).contiguous())


@dataclass(frozen=True)
class Csa:
    """Classes by optimal transport with equal shares for all classes, of samples with a small enough p-value."""

    name: ClassVar[str] = "csa"
    needs_sets: ClassVar[bool] = False
    significance: float = param(0.05, "largest uncertainty (p-value of welch) of an allocated sample", low=0, high=1)
    step: float = param(0.2, "share of the pool that each round adds, until all of it may be allocated", low=0, high=1)
    regularizer: float = param(0.05, "weight of the entropy in the transport", low=0.01, high=10)
    slack: float = param(0.1, "how far a class's share may be from an equal one", low=0, high=1)
    tau: float = param(0.5, "an allocated class has a larger probability", low=0, high=1)

    def select(
        self, estimate: Estimate, labels: PseudoLabels, sets: PredictionSets | None, context: Context
    ) -> Selection:
        """Choose positives."""
        from pseudobench_csa.allocation import allocate

        sure = (estimate.uncertainty.amin(1) <= self.significance) & labels.target.any(1)
        share = min(self.step * context.round, 1.0)
        positive = allocate(estimate.probs, sure, share, self.slack, self.regularizer)
        positive &= estimate.probs > self.tau
        return Selection(positive, positive.new_zeros(positive.shape))


@hookimpl
def bench_estimators() -> list[type[Welch]]:
    """Offer the test as an uncertainty."""
    return [Welch]


@hookimpl
def bench_selectors() -> list[type[Csa]]:
    """Offer the allocation."""
    return [Csa]


@hookimpl
def bench_methods() -> list[Method]:
    """Offer both as a method."""
    return [
        Method(
            "csa",
            "confident Sinkhorn allocation: significantly best classes, in equal shares",
            estimator="welch",
            labeler="hard",
            selector="csa",
            rank=45,
            reference="Nguyen, Husain, Farfade and van den Hengel, Confident Sinkhorn Allocation for Pseudo-Labeling, "
            "2022",
        )
    ]
