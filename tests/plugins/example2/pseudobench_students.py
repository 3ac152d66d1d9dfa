"""Noisy students: soft labels above a calibrated threshold, and a loss that keeps an average of the classes."""

from dataclasses import dataclass
from typing import ClassVar

from pseudobench import Method, Selection, hookimpl, param

PSEUDOBENCH_API = 2


@dataclass(frozen=True)
class Calibrated:
    """Soft labels of the samples above the confidence at which calibration points are right often enough."""

    name: ClassVar[str] = "calibrated-threshold"
    needs_sets: ClassVar[bool] = False
    needs_calibration: ClassVar[bool] = True
    error: float = param(0.1, "share of wrong labels among calibration points above the threshold", low=0, high=1)

    def select(self, estimate, labels, sets, context):
        """Choose positives, with the probabilities as targets and their largest as weight."""
        import torch

        probs = [fold.pool.logits().softmax(1) for fold in context.calibration]
        confidence = torch.cat([each.amax(1) for each in probs])
        wrong = [each.argmax(1) != fold.labels for each, fold in zip(probs, context.calibration, strict=True)]
        order = confidence.argsort(descending=True, stable=True)
        errors = torch.cat(wrong)[order].float().cumsum(0) / torch.arange(1, len(order) + 1)
        fine = (errors <= self.error).nonzero()[:, 0]
        threshold = confidence[order][fine[-1]] if len(fine) else torch.inf
        weight = estimate.probs.amax(1)
        positive = labels.target & (weight >= threshold)[:, None]
        return Selection(positive, torch.zeros_like(positive), weight, estimate.probs)


@dataclass(frozen=True)
class Balanced:
    """Cross-entropy, and a push of the pool's average prediction towards equally many of each class."""

    name: ClassVar[str] = "balanced-average"
    views: ClassVar[tuple[str, ...]] = ("weak",)
    ratio: float = param(1.0, "pool samples for each labeled one", low=0, exclusive=True)
    push: float = param(0.1, "weight of the push", low=0)

    def start(self, context, pool):
        """The average prediction is uniform."""
        import torch

        return {"average": torch.full((context.classes,), 1 / context.classes)}

    def loss(self, step, forward, state):
        """The labels' loss, and the average's distance from uniform."""
        from pseudobench.maths.losses import loss_of

        now = forward(step.views[0]).softmax(1).mean(0)
        average = 0.9 * state["average"] + 0.1 * now
        state["average"] = average.detach()
        return loss_of(forward(step.inputs), step) + self.push * (average * (average * len(average)).log()).sum()


@hookimpl
def bench_selectors():
    """Offer the rule."""
    return [Calibrated]


@hookimpl
def bench_objectives():
    """Offer the loss."""
    return [Balanced]


@hookimpl
def bench_methods():
    """Offer both with a larger network from the second round on."""
    method = Method(
        "growing-student",
        "soft labels above a calibrated threshold for ever larger networks",
        estimator="softmax",
        labeler="hard",
        selector="calibrated-threshold",
        objective="balanced-average",
        settings={"loop.backbones": "digits_cnn,cifar_cnn"},
        presets={"smoke": {"loop.rounds": 2, "loop.settle": 0.0}},
        calibration="cross",
    )
    return [method]
