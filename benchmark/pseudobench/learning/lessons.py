"""An objective at work: what it is handed in a step, and the state that it keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from pseudobench.base.seeds import derive_seed
from pseudobench.contracts.steps import Objective, Step
from pseudobench.contracts.values import Context
from pseudobench.errors import PluginError
from pseudobench.learning.augmentation import view
from pseudobench.learning.training_set import Part, Stream, TrainingSet
from pseudobench.registry.builtin_objectives import PseudoLabeling

if TYPE_CHECKING:
    from torch import Tensor

    from pseudobench.learning.pool import Normalizer


@dataclass(frozen=True)
class Lesson:
    """An objective, and what it may know. ``flip``: a mirrored image keeps its class.

    ``blame`` makes a context in which errors are put down to the objective's plugin.
    """

    objective: Objective = PseudoLabeling()  # noqa: RUF009 - frozen, so one for all will do
    context: Context | None = None
    flip: bool = False
    blame: Callable[[], AbstractContextManager[None]] = nullcontext

    @property
    def views(self) -> tuple[str, ...]:
        """The ways in which the objective sees samples of the pool."""
        return tuple(getattr(self.objective, "views", ()))

    @property
    def needs_images(self) -> bool:
        """Whether noise will not do in place of augmented images."""
        return bool(self.views) and bool(getattr(self.objective, "needs_images", True))


#: The lesson of every training that names none: labels and pseudo-labels.
DEFAULT = Lesson()


class LessonInProgress:
    """The losses of a training's steps, and everything that they depend on besides the network."""

    def __init__(self, lesson: Lesson, data: TrainingSet, normalize: Normalizer, *, batch_size: int, seed: int) -> None:
        self._lesson, self._device, self._task = lesson, normalize.device, data.task
        self._known = tuple(
            None if part is None else part.to(self._device)
            for part in (data.positive, data.negative, data.weight, data.target)
        )
        self._generator = torch.Generator().manual_seed(derive_seed(seed, "objective"))
        self._pool = None
        if lesson.views:
            ratio = float(getattr(lesson.objective, "ratio", 1))
            self._pool = PoolViews(lesson, data, normalize, max(round(ratio * batch_size), 1), seed)
        start: Any = getattr(lesson.objective, "start", None)
        self._state: dict[str, Tensor] = {}
        if start is not None:
            with lesson.blame():
                begun = start(lesson.context, 0 if data.pool is None else len(data.pool))
                self._state = {name: value.to(self._device) for name, value in begun.items()}
        self._shapes = _shapes(self._state)

    def loss(self, inputs: Tensor, rows: Tensor, progress: float, forward: Callable[[Tensor], Tensor]) -> Tensor:
        """The loss of a step on ``inputs``, the samples ``rows int64 [B]`` of the training set."""
        positive, negative, weight, target = (None if part is None else part[rows] for part in self._known)
        assert positive is not None
        assert negative is not None
        chosen, views = next(self._pool) if self._pool else (None, ())
        step = Step(inputs, positive, negative, self._generator, weight, target, views, chosen, progress, self._task)
        with self._lesson.blame():
            loss = self._lesson.objective.loss(step, forward, self._state)
            if not isinstance(loss, torch.Tensor) or loss.ndim or not loss.requires_grad:
                raise PluginError("its loss is no scalar tensor with a gradient")
        return loss

    def check_state(self) -> None:
        """Raise unless the objective has kept the names, shapes and types of its state, without gradients."""
        with self._lesson.blame():
            if _shapes(self._state) != self._shapes:
                raise PluginError(f"its state was {self._shapes} at the start and is {_shapes(self._state)}")
            held = [name for name, value in self._state.items() if value.requires_grad]
            if held:
                raise PluginError(f"its state {held[0]!r} holds a gradient; keep value.detach()")

    def state(self) -> dict[str, Tensor]:
        """What the steps to come depend on."""
        return {
            **{f"objective/{name}": value.clone() for name, value in self._state.items()},
            "objective-draws": self._generator.get_state(),
            **(self._pool.state() if self._pool else {}),
        }

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go back to a state."""
        for name in self._state:
            self._state[name] = state[f"objective/{name}"].to(self._device)
        self._generator.set_state(state["objective-draws"])
        if self._pool:
            self._pool.restore(state)


class PoolViews:
    """Batches of ``count`` samples of the pool, each as its views show it, pass after pass without end."""

    def __init__(self, lesson: Lesson, data: TrainingSet, normalize: Normalizer, count: int, seed: int) -> None:
        if data.pool is None or not len(data.pool):
            raise PluginError(f"objective {lesson.objective.name!r} learns from the pool, and there is none")
        vectors = data.images.ndim == 2
        self._ways = [view(name, lesson.flip, vectors=vectors) for name in lesson.views]
        self._images, self._rows, self._normalize = data.images, data.pool, normalize
        self._draws = torch.Generator().manual_seed(derive_seed(seed, "views"))
        self._stream = Stream([Part(count, torch.arange(len(data.pool)))], self._draws)

    def __next__(self) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Which samples of the pool, ``int64 [U]``, and their views ``[U, ...]``."""
        chosen = next(self._stream)
        samples = self._images[self._rows[chosen]].to(self._normalize.device)
        views = tuple(way.inputs(self._normalize(way.pixels(samples, self._draws)), self._draws) for way in self._ways)
        return chosen.to(self._normalize.device), views

    def state(self) -> dict[str, Tensor]:
        """What the batches to come depend on."""
        return {**self._stream.state("pool-stream"), "pool-draws": self._draws.get_state()}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go back to a state."""
        self._stream.restore("pool-stream", state)
        self._draws.set_state(state["pool-draws"])


def _shapes(state: Mapping[str, Tensor]) -> dict[str, str]:
    """Type and shape of each tensor."""
    return {name: f"{value.dtype} {list(value.shape)}" for name, value in state.items()}
