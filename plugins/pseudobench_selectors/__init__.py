"""Selection rules other than UPS's: equal numbers per class, a fixed or growing share, thresholds per class.

The thresholds of FlexMatch and FreeMatch change with every training step there; as selectors they change by round.
"""

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
class FixedShare:
    """A fixed share of the pool, in the order of a score: to compare scores where all select equally much."""

    name: ClassVar[str] = "fixed-share"
    needs_sets: ClassVar[bool] = False
    share: float = param(0.5, "share of the pool to select", low=0, high=1)
    by: str = param(
        "confidence",
        "samples that come first: with the most probable labels, or with the least uncertain ones",
        choices=("confidence", "certainty"),
    )

    def select(
        self, estimate: Estimate, labels: PseudoLabels, sets: PredictionSets | None, context: Context
    ) -> Selection:
        """Choose positives."""
        from pseudobench_selectors.rules import most_certain, most_confident

        count = round(self.share * len(estimate.probs))
        if self.by == "certainty":
            positive = most_certain(estimate.probs, estimate.uncertainty, labels.target, count)
        else:
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


@dataclass(frozen=True)
class SelfAdaptive:
    """A threshold per class: the mean confidence, lower for classes that are predicted less (FreeMatch)."""

    name: ClassVar[str] = "self-adaptive"
    needs_sets: ClassVar[bool] = False

    def select(
        self, estimate: Estimate, labels: PseudoLabels, sets: PredictionSets | None, context: Context
    ) -> Selection:
        """Choose positives."""
        from pseudobench_selectors.rules import self_adaptive_thresholds

        positive = labels.target & (estimate.probs >= self_adaptive_thresholds(estimate.probs))
        return Selection(positive, positive.new_zeros(positive.shape))


@dataclass(frozen=True)
class BoundedError:
    """The lowest threshold per class at which the error of calibration points is bounded (PabLO)."""

    name: ClassVar[str] = "bounded-error"
    needs_sets: ClassVar[bool] = False
    needs_calibration: ClassVar[bool] = True
    error: float = param(0.1, "bound on the error above the threshold", low=0, high=1)
    deviations: float = param(1.0, "standard deviations added to the error of the points (C)", low=0)
    least: int = param(5, "calibration points above a threshold at least", low=1)

    def select(
        self, estimate: Estimate, labels: PseudoLabels, sets: PredictionSets | None, context: Context
    ) -> Selection:
        """Choose positives."""
        import torch

        from pseudobench_selectors.rules import bounded_error_thresholds

        assert context.calibration is not None
        probs = torch.cat([context.activate(fold.pool.logits()) for fold in context.calibration])
        truth = torch.cat([fold.labels for fold in context.calibration])
        found = bounded_error_thresholds(probs, truth, self.error, self.deviations, self.least)
        positive = labels.target & (estimate.probs >= found.to(estimate.probs))
        return Selection(positive, positive.new_zeros(positive.shape))


@dataclass(frozen=True)
class SoftTargets:
    """Confident samples with the whole estimated distribution as their label."""

    name: ClassVar[str] = "soft-targets"
    needs_sets: ClassVar[bool] = False
    tau: float = param(0.3, "confidence that a sample needs", low=0, high=1)

    def select(
        self, estimate: Estimate, labels: PseudoLabels, sets: PredictionSets | None, context: Context
    ) -> Selection:
        """Choose positives."""
        positive = labels.target & (estimate.probs >= self.tau)
        target = estimate.probs / estimate.probs.sum(1, keepdim=True)
        return Selection(positive, positive.new_zeros(positive.shape), target=target.clamp(0, 1))


@hookimpl
def bench_selectors() -> list[type]:
    """Offer the selectors of this plugin."""
    return [TopPerClass, Curriculum, FixedShare, Adaptive, SelfAdaptive, BoundedError, SoftTargets]


@hookimpl
def bench_methods() -> list[Method]:
    """Offer the rules that come from a published method, each with one network's labels."""
    rows = (
        (
            "curriculum",
            "curriculum labeling: the most confident share of the pool, growing from round to round",
            "curriculum",
            "Cascante-Bonilla et al., Curriculum Labeling, AAAI 2021",
        ),
        (
            "flexmatch-rule",
            "pl with FlexMatch's thresholds, by round: lower for classes that are learned less",
            "adaptive",
            "Zhang et al., FlexMatch, NeurIPS 2021",
        ),
        (
            "freematch-rule",
            "pl with FreeMatch's thresholds, by round: the mean confidence, lower for rarely predicted classes",
            "self-adaptive",
            "Wang et al., FreeMatch, ICLR 2023",
        ),
        (
            "pablo",
            "pl with PabLO's thresholds, by round: those at which calibration errors of a class are bounded",
            "bounded-error",
            "Vishwakarma et al., Rethinking Confidence Scores and Thresholds in Pseudolabeling-based SSL, ICML 2025",
        ),
    )
    student = Method(
        "noisy-student",
        "soft labels of a network for the next one, trained with holes in its images; loop.backbones: larger ones",
        estimator="softmax",
        labeler="hard",
        selector="soft-targets",
        settings={"recipe.augment": "cutout"},
        rank=46,
        reference="Xie et al., Self-training with Noisy Student Improves ImageNet Classification, CVPR 2020",
    )
    rules = [
        Method(name, text, estimator="softmax", labeler="hard", selector=selector, rank=40 + place, reference=source)
        for place, (name, text, selector, source) in enumerate(rows)
    ]
    return [*rules, student]
