"""Selection rules from the literature besides UPS's: who else chooses pseudo-labels, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pseudobench import Method, Selection, hookimpl, param

if TYPE_CHECKING:
    from pseudobench import Context, Estimate, PredictionSets, PseudoLabels


@dataclass(frozen=True)
class TopPerClass:
    """The same number of samples for each class: those most probable to be of it."""

    name: ClassVar[str] = "top-per-class"
    needs_sets: ClassVar[bool] = False
    share: float = param(0.5, "share of the pool to select, an equal part of it for each class", low=0, high=1)

    def select(
        self, estimate: Estimate, labels: PseudoLabels, sets: PredictionSets | None, context: Context
    ) -> Selection:
        """Choose positives."""
        from pseudobench_selectors.rules import top_per_class

        count = round(self.share * len(estimate.probs) / estimate.probs.shape[1])
        positive = top_per_class(estimate.probs, labels.target, count)
        return Selection(positive, positive.new_zeros(positive.shape))


@dataclass(frozen=True)
class Curriculum:
    """The most confident share of the pool, larger each round (Curriculum Labeling: Cascante-Bonilla et al., 2021)."""

    name: ClassVar[str] = "curriculum"
    needs_sets: ClassVar[bool] = False
    step: float = param(0.2, "share of the pool that each round adds, until all of it is selected", low=0, high=1)

    def select(
        self, estimate: Estimate, labels: PseudoLabels, sets: PredictionSets | None, context: Context
    ) -> Selection:
        """Choose positives."""
        from pseudobench_selectors.rules import most_confident

        count = round(min(self.step * context.round, 1.0) * len(estimate.probs))
        positive = most_confident(estimate.probs, labels.target, count)
        return Selection(positive, positive.new_zeros(positive.shape))


@dataclass(frozen=True)
class Adaptive:
    """A threshold for each class, lower for those that are learned less (FlexMatch: Zhang et al., NeurIPS 2021)."""

    name: ClassVar[str] = "adaptive"
    needs_sets: ClassVar[bool] = False
    tau: float = param(0.7, "confidence that a label of the best learned class needs", low=0, high=1)

    def select(
        self, estimate: Estimate, labels: PseudoLabels, sets: PredictionSets | None, context: Context
    ) -> Selection:
        """Choose positives."""
        from pseudobench_selectors.rules import flexible_thresholds

        positive = labels.target & (estimate.probs >= flexible_thresholds(estimate.probs, self.tau))
        return Selection(positive, positive.new_zeros(positive.shape))


@hookimpl
def bench_selectors() -> list[type[TopPerClass] | type[Curriculum] | type[Adaptive]]:
    """Offer them all."""
    return [TopPerClass, Curriculum, Adaptive]


@hookimpl
def bench_methods() -> list[Method]:
    """Offer those that are methods by themselves."""
    return [
        Method(
            "curriculum",
            "curriculum labeling: the most confident share of the pool, growing from round to round",
            estimator="softmax",
            labeler="hard",
            selector="curriculum",
            rank=40,
            reference="Cascante-Bonilla et al., Curriculum Labeling, AAAI 2021",
        )
    ]
