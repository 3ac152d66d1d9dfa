"""Selection rules other than UPS's: equal numbers per class, a growing share (curriculum), thresholds per class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pseudobench import Method, Selection, hookimpl, param

if TYPE_CHECKING:
    from pseudobench import Context, Estimate, PredictionSets, PseudoLabels


@dataclass(frozen=True)
class TopPerClass:
    """The same number of samples for each class: the most probable ones."""

    name: ClassVar[str] = "top-per-class"
    needs_sets: ClassVar[bool] = False
    share: float = param(0.5, "share of the pool to select, divided equally among the classes", low=0, high=1)

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
    """The most confident share of the pool, growing each round (Curriculum Labeling: Cascante-Bonilla et al., 2021)."""

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
    """A threshold per class, lower for classes that are learned less (FlexMatch: Zhang et al., NeurIPS 2021)."""

    name: ClassVar[str] = "adaptive"
    needs_sets: ClassVar[bool] = False
    tau: float = param(0.7, "threshold of the best learned class", low=0, high=1)

    def select(
        self, estimate: Estimate, labels: PseudoLabels, sets: PredictionSets | None, context: Context
    ) -> Selection:
        """Choose positives."""
        from pseudobench_selectors.rules import flexible_thresholds

        positive = labels.target & (estimate.probs >= flexible_thresholds(estimate.probs, self.tau))
        return Selection(positive, positive.new_zeros(positive.shape))


@hookimpl
def bench_selectors() -> list[type[TopPerClass] | type[Curriculum] | type[Adaptive]]:
    """Offer the selectors of this plugin."""
    return [TopPerClass, Curriculum, Adaptive]


@hookimpl
def bench_methods() -> list[Method]:
    """Offer curriculum labeling, which is a published method by itself."""
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
