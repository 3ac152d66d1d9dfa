"""An objective, tried as a training would use it: on made-up images, with a linear network."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from pseudobench.contracts.datasets import MULTI, SINGLE
from pseudobench.errors import PluginError
from pseudobench.learning.lessons import Lesson, LessonInProgress
from pseudobench.learning.pool import Normalizer
from pseudobench.learning.training_set import TrainingSet
from pseudobench.testing.fakes import fake_context

_POOL, _SIDE = 30, 8


class _Watched:
    """An objective that notes its input tensors and their version counters, which count changes in place."""

    def __init__(self, objective: Any) -> None:
        self._objective = objective
        self.given: list[tuple[torch.Tensor, int]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._objective, name)

    def loss(self, step: Any, forward: Any, state: Any) -> Any:
        """The loss of the wrapped objective."""
        parts = (step.inputs, step.positive, step.negative, step.weight, step.target, step.pool, *step.views)
        self.given += [(part, part._version) for part in parts if part is not None]
        return self._objective.loss(step, forward, state)


@dataclass(frozen=True)
class ObjectiveTrial:
    """An objective with one made-up batch to learn from; each method is one check.

    ``scale`` is the size of the network's weights. ``soft``: selected samples have weights and soft labels.
    ``negatives``: no sample has a positive.
    """

    make: Callable[[], Any]
    batch: int = 12
    classes: int = 5
    task: str = SINGLE
    scale: float = 1.0
    soft: bool = False
    negatives: bool = False
    seed: int = 0

    def works(self) -> None:
        """Three steps: finite losses whose gradients reach the network, and a state that keeps its shape."""
        lesson, weights = self._lesson(), self._weights()
        for step in range(3):
            loss = self._loss(lesson, weights, step)
            lesson.check_state()
            (gradient,) = torch.autograd.grad(loss, weights, allow_unused=True)
            if gradient is None:
                raise PluginError("its loss does not depend on the network: take logits from forward(...)")
            if not bool(loss.isfinite()) or not bool(gradient.isfinite().all()):
                raise PluginError("its loss or gradient is NaN or infinite")

    def repeats(self) -> None:
        """The same seed gives the same losses."""
        if self._losses(3) != self._losses(3):
            raise PluginError("the same seed gives another loss; draw from step.generator alone")

    def resumes(self) -> None:
        """A training resumed after two steps has the losses of an uninterrupted one."""
        weights, first, second = self._weights(), self._lesson(), self._lesson()
        for step in range(2):
            self._loss(first, weights, step)
        second.restore({name: value.clone() for name, value in first.state().items()})
        goes_on = [[float(self._loss(each, weights, step).detach()) for step in (2, 3)] for each in (first, second)]
        if goes_on[0] != goes_on[1]:
            raise PluginError("interrupted, it goes on otherwise: what it remembers belongs in `state`")

    def leaves_global_stream(self) -> None:
        """The objective does not draw from torch's global stream, which dropout uses."""
        torch.manual_seed(1)
        before = torch.get_rng_state()
        self._losses(2)
        if not torch.equal(before, torch.get_rng_state()):
            raise PluginError("it draws from torch's global stream; draw from step.generator")

    def keeps_inputs(self) -> None:
        """The tensors of a step are not changed in place."""
        watched = _Watched(self.make())
        replace(self, make=lambda: watched)._losses(2)
        if any(part._version != version for part, version in watched.given):
            raise PluginError("it changes a tensor that it was given; work on a copy")

    def speed(self) -> str:
        """The time of a step, without the network's time."""
        start = time.perf_counter()
        replace(self, batch=64)._losses(20)
        return f"{(time.perf_counter() - start) / 20 * 1000:.1f} ms a step of 64 samples, the network's time left out"

    def _losses(self, steps: int) -> list[float]:
        lesson, weights = self._lesson(), self._weights()
        return [float(self._loss(lesson, weights, step).detach()) for step in range(steps)]

    def _loss(self, lesson: LessonInProgress, weights: torch.Tensor, step: int) -> torch.Tensor:
        rows = torch.arange(self.batch)
        inputs = _normalize()(self._data().images[rows])
        return lesson.loss(inputs, rows, step / 10, lambda x: x.flatten(1) @ weights)

    def _lesson(self) -> LessonInProgress:
        context = fake_context(self.classes, seed=self.seed, task=self.task)
        lesson = Lesson(self.make(), context, flip=False)
        return LessonInProgress(lesson, self._data(), _normalize(), batch_size=self.batch, seed=self.seed)

    def _weights(self) -> torch.Tensor:
        drawn = torch.randn(_SIDE * _SIDE, self.classes, generator=self._generator())
        return (self.scale * drawn / _SIDE).requires_grad_()

    def _data(self) -> TrainingSet:
        count = self.batch + _POOL
        images = torch.randint(0, 256, (count, 1, _SIDE, _SIDE), generator=self._generator(), dtype=torch.uint8)
        positive = torch.nn.functional.one_hot(torch.arange(self.batch) % self.classes, self.classes).bool()
        negative = ~positive if self.task == MULTI else torch.zeros_like(positive)
        if self.negatives:
            positive, negative = torch.zeros_like(positive), positive
        weight = torch.linspace(0, 2, self.batch) if self.soft else None
        target = 0.8 * positive.float() + 0.2 / self.classes if self.soft else None
        rows = torch.arange(count)
        return TrainingSet(
            images, rows[: self.batch], positive, negative, self.task, weight, target, rows[self.batch :]
        )

    def _generator(self) -> torch.Generator:
        return torch.Generator().manual_seed(self.seed)


def _normalize() -> Normalizer:
    return Normalizer(((0.5,), (0.25,)), torch.device("cpu"))


def trials(make: Callable[[], Any], tasks: tuple[str, ...]) -> dict[str, Callable[[], str | None]]:
    """Every check of an objective, by name."""
    usual = ObjectiveTrial(make)
    sorts = {
        "a batch": usual,
        "one sample": replace(usual, batch=1),
        "two classes": replace(usual, classes=2),
        "negatives alone": replace(usual, negatives=True),
        "weights and soft labels": replace(usual, soft=True),
        "a network that is sure": replace(usual, scale=100.0),
        "a network that knows nothing": replace(usual, scale=0.0),
    }
    found: dict[str, Callable[[], str | None]] = {f"works on {name}": trial.works for name, trial in sorts.items()}
    if MULTI in tasks:
        for name, trial in sorts.items():
            found[f"works on {name}, multi-label"] = replace(trial, task=MULTI).works
    return {
        **found,
        "repeats by the seed": usual.repeats,
        "goes on from its state": usual.resumes,
        "leaves the global random stream alone": usual.leaves_global_stream,
        "does not change what it is given": usual.keeps_inputs,
        "is fast enough to be used": usual.speed,
    }
