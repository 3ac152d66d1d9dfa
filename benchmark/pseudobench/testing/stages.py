"""One stage, called as a round would call it, on fakes."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from pseudobench.contracts.datasets import SINGLE
from pseudobench.contracts.protocols import needs_calibration
from pseudobench.contracts.values import Context, Estimate, PredictionSets, PseudoLabels
from pseudobench.testing.fakes import FakePool, fake_estimate, fake_folds, fake_labels, fake_sets

if TYPE_CHECKING:
    from torch import Tensor

    from pseudobench.contracts.pools import Fold


@dataclass(frozen=True)
class Inputs:
    """The arguments of all stages."""

    pool: FakePool
    estimate: Estimate
    labels: PseudoLabels
    sets: PredictionSets
    folds: tuple[Fold[FakePool], ...]

    @staticmethod
    def of(pool: FakePool, folds: int = 1, task: str = SINGLE) -> Inputs:
        """The arguments for a pool, with ``folds`` folds of calibration points."""
        estimate = fake_estimate(pool, task)
        classes = estimate.probs.shape[1]
        points = tuple(fake_folds(folds, 60, classes, rest=pool, task=task))
        return Inputs(pool, estimate, fake_labels(estimate, task), fake_sets(estimate), points)

    @property
    def classes(self) -> int:
        """The number of classes."""
        return int(self.estimate.probs.shape[1])

    def tensors(self) -> list[Tensor]:
        """All tensors among the arguments."""
        given = [self.pool.logits(), *(part for fold in self.folds for part in (fold.pool.logits(), fold.labels))]
        return given + [tensor for part in (self.estimate, self.labels, self.sets) for tensor in tensors(part)]


def outcome(stage: str | None, component: Any, inputs: Inputs, context: Context) -> Any:
    """The answer of a component to these inputs."""
    if needs_calibration(component):
        context = replace(context, calibration=inputs.folds)
    sets = inputs.sets if getattr(component, "needs_sets", False) else None
    if stage == "scaling":
        points = inputs.folds[0]
        return component.fit(points.pool.logits(), points.labels)(inputs.pool.logits())
    if stage == "sets":
        calibrated = component.calibrate(list(inputs.folds), context)
        return calibrated.predict([fold.rest for fold in inputs.folds], context)
    if stage == "estimator":
        return component.estimate(inputs.pool, sets, context)
    if stage == "labeler":
        return component.label(inputs.estimate, sets, context)
    return component.select(inputs.estimate, inputs.labels, sets, context)


def tensors(value: Any) -> list[Tensor]:
    """The tensors of a result, including those of nested results."""
    if isinstance(value, torch.Tensor):
        return [value]
    if not is_dataclass(value):
        return []
    return [tensor for each in fields(value) for tensor in tensors(getattr(value, each.name))]
