"""UPS: uncertainty-aware pseudo-label selection (Rizve et al., ICLR 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pseudobench import MULTI, SINGLE, Estimate, Method, Selection, hookimpl, param

if TYPE_CHECKING:
    from pseudobench import Context, Pool, PredictionSets, PseudoLabels


@dataclass(frozen=True)
class McDropout:
    """MC-dropout: mean probabilities of several passes with dropout; their standard deviation is the uncertainty."""

    name: ClassVar[str] = "mc-dropout"
    tasks: ClassVar[tuple[str, ...]] = (SINGLE, MULTI)
    needs_sets: ClassVar[bool] = False
    needs_dropout: ClassVar[bool] = True
    passes: int = param(10, "stochastic passes; the deviation is the unbiased one, so at least 2", low=2)
    negative_temperature: float = param(
        2.0,
        "temperature that softens probabilities for the rule on negatives (single-label)",
        low=0,
        exclusive=True,
    )

    def estimate(self, pool: Pool, sets: PredictionSets | None, context: Context) -> Estimate:
        """Estimate every sample of the pool."""
        from pseudobench.estimation import estimate_from_samples

        samples = pool.samples(self.passes, context.seed_for("mc-dropout"))
        return estimate_from_samples(samples, self.negative_temperature, context)


@dataclass(frozen=True)
class Ups:
    """Eq. 4: positives are probable and certain, negatives are improbable and certain."""

    name: ClassVar[str] = "ups"
    tasks: ClassVar[tuple[str, ...]] = (SINGLE, MULTI)
    tau_p: float = param(0.7, "a positive has at least this probability", low=0, high=1)
    tau_n: float = param(0.05, "a negative has at most this probability", low=0, high=1)
    kappa_p: float = param(0.05, "a positive has at most this uncertainty", low=0)
    kappa_n: float = param(0.005, "a negative has at most this uncertainty", low=0)
    negatives: str = param(
        "improbable",
        "improbable: by tau_n and kappa_n; complement: the classes outside the prediction set; none: no negatives",
        choices=("improbable", "complement", "none"),
    )
    balance_rounds: int = param(
        6, "number of rounds, from the first, in which positives are balanced over classes (single-label)", low=0
    )
    balance_floor: int = param(25, "positives of a class that balancing never goes below", low=1)

    @property
    def needs_sets(self) -> bool:
        """Sets are read only for negatives from outside them."""
        return self.negatives == "complement"

    def select(
        self, estimate: Estimate, labels: PseudoLabels, sets: PredictionSets | None, context: Context
    ) -> Selection:
        """Choose positives and negatives."""
        from pseudobench import selection as rules

        positive = rules.confident_positives(estimate, labels.target, self.tau_p, self.kappa_p)
        if context.task == SINGLE and context.round <= self.balance_rounds:
            positive = rules.balance(positive, estimate, self.balance_floor)
        if self.negatives == "complement":
            assert sets is not None
            negative = rules.outside(sets, estimate, task=context.task)
        elif self.negatives == "improbable":
            negative = rules.confident_negatives(estimate, labels.target, self.tau_n, self.kappa_n, task=context.task)
        else:
            negative = positive.new_zeros(positive.shape)
        return Selection(positive, negative) if context.task == MULTI else rules.either(positive, negative)


@hookimpl
def bench_estimators() -> list[type[McDropout]]:
    """Offer MC-dropout."""
    return [McDropout]


@hookimpl
def bench_selectors() -> list[type[Ups]]:
    """Offer the selection rule of UPS."""
    return [Ups]


@hookimpl
def bench_methods() -> list[Method]:
    """Offer UPS."""
    return [
        Method(
            "ups",
            "UPS: confident and certain labels by MC-dropout, negatives too",
            estimator="mc-dropout",
            labeler="hard",
            selector="ups",
            is_default=True,
            rank=20,
            reference="Rizve et al., In Defense of Pseudo-Labeling, ICLR 2021",
        )
    ]
