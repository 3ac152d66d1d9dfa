"""Uncertainty estimators besides MC-dropout's deviation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pseudobench import Estimate, hookimpl, param

if TYPE_CHECKING:
    from pseudobench import Context, Pool, PredictionSets


@dataclass(frozen=True)
class Entropy:
    """The entropy of the softmax outputs, as a share of the largest there can be: 0 is certain, 1 knows nothing."""

    name: ClassVar[str] = "entropy"
    needs_sets: ClassVar[bool] = False

    def estimate(self, pool: Pool, sets: PredictionSets | None, context: Context) -> Estimate:
        """Estimate every sample of the pool."""
        from pseudobench_uncertainty.measures import entropy, per_sample

        probs = pool.logits().softmax(1)
        return per_sample(probs, entropy(probs))


@dataclass(frozen=True)
class Margin:
    """One minus the lead of the most probable class over the next (Scheffer et al. 2001): 0 is certain."""

    name: ClassVar[str] = "margin"
    needs_sets: ClassVar[bool] = False

    def estimate(self, pool: Pool, sets: PredictionSets | None, context: Context) -> Estimate:
        """Estimate every sample of the pool."""
        from pseudobench_uncertainty.measures import margin, per_sample

        probs = pool.logits().softmax(1)
        return per_sample(probs, 1 - margin(probs))


@dataclass(frozen=True)
class Bald:
    """BALD: how much passes with dropout disagree (Houlsby et al. 2011, Gal et al. 2017)."""

    name: ClassVar[str] = "bald"
    needs_sets: ClassVar[bool] = False
    needs_dropout: ClassVar[bool] = True
    passes: int = param(10, "stochastic passes", low=2)

    def estimate(self, pool: Pool, sets: PredictionSets | None, context: Context) -> Estimate:
        """Estimate every sample of the pool."""
        from pseudobench_uncertainty.measures import disagreement

        return disagreement(pool.samples(self.passes, context.seed_for("bald")))


@hookimpl
def bench_estimators() -> list[type[Entropy] | type[Margin] | type[Bald]]:
    """Offer them all."""
    return [Entropy, Margin, Bald]
