"""Consistency between a weak and a strong view of the same sample: FixMatch, FlexMatch, FreeMatch, SoftMatch.

Each is one training on labels and pool. The published runs take seven pool samples for each labeled one (mu = 7); the
default here is 2, because on a CPU a step's time is that of its samples. They take 2^20 steps, and moving averages with
a momentum of 0.999; after the 800 steps of a small run such averages have hardly left their start, every guess counts,
and the network does worse than with labels alone, so that the default here is 0.99. Dropout stays as the recipe has it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pseudobench import Method, hookimpl, param

if TYPE_CHECKING:
    from torch import Tensor

    from pseudobench import Context, Step


@dataclass(frozen=True)
class FixMatch:
    """The weak view's class, where its probability is at least tau, is the label of the strong view."""

    name: ClassVar[str] = "fixmatch"
    views: ClassVar[tuple[str, ...]] = ("weak", "strong")
    needs_images: ClassVar[bool] = False
    tau: float = param(0.95, "probability that a pseudo-label needs", low=0, high=1)
    weight: float = param(1.0, "weight of the pool's loss (lambda_u)", low=0)
    ratio: float = param(2.0, "pool samples for each labeled one in a step (mu; published: 7)", low=0, exclusive=True)

    def loss(self, step: Step, forward: Callable[[Tensor], Tensor], state: dict[str, Tensor]) -> Tensor:
        """Cross-entropy of the labels, plus that of the strong views with the weak views' confident classes."""
        from pseudobench_consistency.rules import consistency, logits_of

        labeled, weak, strong = logits_of(step, forward)
        probs = weak.softmax(1)
        return consistency(step, labeled, strong, probs, (probs.amax(1) >= self.tau).to(probs), self.weight)


@dataclass(frozen=True)
class FlexMatch:
    """FixMatch with a lower threshold for classes that are learned less."""

    name: ClassVar[str] = "flexmatch"
    views: ClassVar[tuple[str, ...]] = ("weak", "strong")
    needs_images: ClassVar[bool] = False
    tau: float = param(0.95, "threshold of the best learned class", low=0, high=1)
    weight: float = param(1.0, "weight of the pool's loss", low=0)
    ratio: float = param(2.0, "pool samples for each labeled one in a step (mu; published: 7)", low=0, exclusive=True)

    def start(self, context: Context, pool: int) -> dict[str, Tensor]:
        """The class of each pool sample that was last predicted confidently: none yet (-1)."""
        import torch

        return {"classes": torch.full((pool,), -1)}

    def loss(self, step: Step, forward: Callable[[Tensor], Tensor], state: dict[str, Tensor]) -> Tensor:
        """The loss of labels, and the pool's beyond the thresholds."""
        from pseudobench_consistency import rules

        labeled, weak, strong = rules.logits_of(step, forward)
        probs = weak.softmax(1)
        top, classes = probs.max(1)
        keep = top >= rules.flexible_thresholds(state["classes"], probs.shape[1], self.tau)[classes]
        rules.remember(state, step, classes, top >= self.tau)
        return rules.consistency(step, labeled, strong, probs, keep.to(probs), self.weight)


@dataclass(frozen=True)
class FreeMatch:
    """FixMatch with a threshold for each class that follows what the network knows."""

    name: ClassVar[str] = "freematch"
    views: ClassVar[tuple[str, ...]] = ("weak", "strong")
    needs_images: ClassVar[bool] = False
    momentum: float = param(0.99, "momentum of the moving averages (published: 0.999, for 2^20 steps)", low=0, high=1)
    weight: float = param(1.0, "weight of the pool's loss", low=0)
    fairness: float = param(0.01, "weight of the loss that keeps classes apart from collapse", low=0)
    ratio: float = param(2.0, "pool samples for each labeled one in a step (mu; published: 7)", low=0, exclusive=True)

    def start(self, context: Context, pool: int) -> dict[str, Tensor]:
        """Confidence, mean probabilities and shares of pseudo-labels: all uniform."""
        import torch

        uniform = torch.full((context.classes,), 1 / context.classes)
        return {"confidence": torch.tensor(1 / context.classes), "probs": uniform, "shares": uniform.clone()}

    def loss(self, step: Step, forward: Callable[[Tensor], Tensor], state: dict[str, Tensor]) -> Tensor:
        """The loss of the labels, of the pool samples above their thresholds, and of the fairness among classes."""
        from pseudobench_consistency import rules

        labeled, weak, strong = rules.logits_of(step, forward)
        probs = weak.softmax(1)
        rules.follow(state, probs, self.momentum)
        thresholds = state["confidence"] * state["probs"] / state["probs"].amax()
        keep = probs.amax(1) >= thresholds[probs.argmax(1)]
        found = rules.consistency(step, labeled, strong, probs, keep.to(probs), self.weight)
        return found + self.fairness * rules.unfairness(strong, keep, state)


@dataclass(frozen=True)
class SoftMatch:
    """FixMatch with a weight in place of the threshold: a Gaussian of how far the confidence is below its mean."""

    name: ClassVar[str] = "softmatch"
    views: ClassVar[tuple[str, ...]] = ("weak", "strong")
    needs_images: ClassVar[bool] = False
    momentum: float = param(0.99, "momentum of the moving averages (published: 0.999, for 2^20 steps)", low=0, high=1)
    sigmas: float = param(2.0, "n_sigma: the larger, the faster a weight falls", low=0, exclusive=True)
    align: bool = param(True, "uniform alignment: weights by probabilities divided by their mean over the pool")
    weight: float = param(1.0, "weight of the pool's loss", low=0)
    ratio: float = param(2.0, "pool samples for each labeled one in a step (mu; published: 7)", low=0, exclusive=True)

    def start(self, context: Context, pool: int) -> dict[str, Tensor]:
        """Mean 1/C and variance 1 of the confidence, uniform mean probabilities."""
        import torch

        share = 1 / context.classes
        return {
            "mean": torch.tensor(share),
            "variance": torch.tensor(1.0),
            "probs": torch.full((context.classes,), share),
        }

    def loss(self, step: Step, forward: Callable[[Tensor], Tensor], state: dict[str, Tensor]) -> Tensor:
        """The loss of the labels, and of the pool with a weight for each sample."""
        from pseudobench_consistency import rules

        labeled, weak, strong = rules.logits_of(step, forward)
        probs = weak.softmax(1)
        weights = rules.soft_weights(state, probs, self.momentum, self.sigmas, self.align)
        return rules.consistency(step, labeled, strong, probs, weights, self.weight)


@hookimpl
def bench_objectives() -> list[type]:
    """Offer the objectives."""
    return [FixMatch, FlexMatch, FreeMatch, SoftMatch]


@hookimpl
def bench_methods() -> list[Method]:
    """Offer each as a method: one training, without rounds of pseudo-labeling."""
    return [
        Method(
            "fixmatch",
            "FixMatch: the weak view's confident class labels the strong view, in one training",
            objective="fixmatch",
            rank=60,
            reference="Sohn et al., FixMatch, NeurIPS 2020",
        ),
        Method(
            "flexmatch",
            "FlexMatch: FixMatch with lower thresholds for classes that are learned less",
            objective="flexmatch",
            rank=61,
            reference="Zhang et al., FlexMatch, NeurIPS 2021",
        ),
        Method(
            "freematch",
            "FreeMatch: FixMatch with thresholds that adapt to each class",
            objective="freematch",
            rank=62,
            reference="Wang et al., FreeMatch, ICLR 2023",
        ),
        Method(
            "softmatch",
            "SoftMatch: FixMatch with soft weights in place of a threshold",
            objective="softmatch",
            rank=63,
            reference="Chen et al., SoftMatch, ICLR 2023",
        ),
    ]
