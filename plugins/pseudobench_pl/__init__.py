"""Training on labels alone, and plain pseudo-labeling (Lee 2013): the baselines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pseudobench import MULTI, SINGLE, Estimate, Method, PseudoLabels, Selection, hookimpl, param

if TYPE_CHECKING:
    from pseudobench import Context, Pool, PredictionSets


@dataclass(frozen=True)
class Softmax:
    """One pass without dropout: the network's probabilities, and no uncertainty (zero everywhere)."""

    name: ClassVar[str] = "softmax"
    is_default: ClassVar[bool] = True
    tasks: ClassVar[tuple[str, ...]] = (SINGLE, MULTI)
    needs_sets: ClassVar[bool] = False

    def estimate(self, pool: Pool, sets: PredictionSets | None, context: Context) -> Estimate:
        """Estimate every sample of the pool."""
        probs = context.activate(pool.logits())
        return Estimate(probs, probs.new_zeros(probs.shape))


@dataclass(frozen=True)
class HardThreshold:
    """Eq. 3: every class with a probability of at least gamma is a pseudo-label."""

    name: ClassVar[str] = "hard"
    is_default: ClassVar[bool] = True
    tasks: ClassVar[tuple[str, ...]] = (SINGLE, MULTI)
    needs_sets: ClassVar[bool] = False
    gamma: float | None = param(
        None, "threshold; none: each sample's largest probability, its argmax (multi-label: 0.5)", low=0, high=1
    )

    def label(self, estimate: Estimate, sets: PredictionSets | None, context: Context) -> PseudoLabels:
        """Give every sample of the pool its pseudo-label."""
        from pseudobench.selection import argmax_mask

        if self.gamma is None and context.task == MULTI:
            return PseudoLabels(estimate.probs >= 0.5)
        if self.gamma is None:
            return PseudoLabels(argmax_mask(estimate.probs))
        return PseudoLabels(estimate.probs >= self.gamma)


@dataclass(frozen=True)
class Confidence:
    """Plain selection by confidence: positives with a probability of at least tau, no negatives.

    In the multi-label task absent classes are labels too: classes with a probability of at most 1 - tau are negatives.
    """

    name: ClassVar[str] = "confidence"
    tasks: ClassVar[tuple[str, ...]] = (SINGLE, MULTI)
    needs_sets: ClassVar[bool] = False
    # The tau_p of UPS, so that pl and ups do not differ in it. They differ in the uncertainty threshold, negatives,
    # class balancing, and in one pass without dropout against the mean of several passes with it.
    tau: float = param(0.7, "confidence that a pseudo-label needs", low=0, high=1)

    def select(
        self, estimate: Estimate, labels: PseudoLabels, sets: PredictionSets | None, context: Context
    ) -> Selection:
        """Choose positives, and in the multi-label task negatives."""
        positive = labels.target & (estimate.probs >= self.tau)
        absent = ~labels.target & (estimate.probs <= 1 - self.tau)
        return Selection(positive, absent & (context.task == MULTI))


@hookimpl
def bench_estimators() -> list[type[Softmax]]:
    """Offer the network's plain probabilities."""
    return [Softmax]


@hookimpl
def bench_labelers() -> list[type[HardThreshold]]:
    """Offer hard pseudo-labels."""
    return [HardThreshold]


@hookimpl
def bench_selectors() -> list[type[Confidence]]:
    """Offer selection by confidence."""
    return [Confidence]


@hookimpl
def bench_methods() -> list[Method]:
    """Offer the baselines."""
    return [
        Method("supervised", "labels only: the budget's labels and nothing else, the floor", is_default=True, rank=0),
        Method("fully-supervised", "every training image with its true label, the ceiling", labels="all", rank=1),
        Method(
            "pl",
            "plain pseudo-labeling: confident argmax labels",
            estimator="softmax",
            labeler="hard",
            selector="confidence",
            is_default=True,
            rank=10,
            reference="Lee, Pseudo-Label: The Simple and Efficient Semi-Supervised Learning Method, 2013",
        ),
    ]
