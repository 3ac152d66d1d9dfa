"""The training loop, nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch
from timm.optim import param_groups_weight_decay  # type: ignore[attr-defined]

from pseudobench.base.seeds import derive_seed, seeded
from pseudobench.errors import RunError
from pseudobench.learning.augmentation import Augmentation
from pseudobench.learning.dropout import FastDropout
from pseudobench.learning.lessons import DEFAULT, Lesson, LessonInProgress
from pseudobench.learning.training_set import Stream, TrainingSet, parts_of, steps_in_pass

if TYPE_CHECKING:
    from torch import Tensor, nn

    from pseudobench.contracts.settings import Recipe
    from pseudobench.learning.pool import Normalizer
    from pseudobench.storage.cache import Checkpoint


class Training:
    """A training in progress: it can stop after any epoch and go on from its state, bit for bit."""

    def __init__(
        self,
        network: nn.Module,
        data: TrainingSet,
        recipe: Recipe,
        normalize: Normalizer,
        *,
        augment: Augmentation,
        seed: int,
        lesson: Lesson,
    ) -> None:
        self._network, self._recipe, self._normalize, self._augment = network, recipe, normalize, augment
        self._device = normalize.device
        self._draws = torch.Generator().manual_seed(derive_seed(seed, "batches"))
        parts = parts_of(data, recipe.batch_size, recipe.batches)
        self._stream = Stream(parts, self._draws)
        self._steps = recipe.steps or steps_in_pass(parts, recipe.batches)
        groups = param_groups_weight_decay(network, recipe.weight_decay)
        # Fused: one pass over each parameter instead of five, for small networks a fifth of a step's time.
        self._optimizer = torch.optim.SGD(groups, recipe.lr, recipe.momentum, nesterov=recipe.momentum > 0, fused=True)
        self._lesson = LessonInProgress(lesson, data, normalize, batch_size=recipe.batch_size, seed=seed)
        # On the device once, as a whole: batches are gathered where they are used. Vectors are normalized once, too.
        self._vectors = data.images.ndim == 2
        self._images = normalize(data.images[data.rows]) if self._vectors else data.images.to(self._device)
        self._rows = data.rows.to(self._device)
        self._compiled: Any = torch.compile(network) if recipe.compile else network
        self._dropout = nullcontext if recipe.compile else FastDropout  # compiled code draws by itself

    def epoch(self, epoch: int) -> None:
        """Train for an epoch."""
        self._network.train()
        for step in range(epoch * self._steps, (epoch + 1) * self._steps):
            progress = step / (self._recipe.epochs * self._steps)
            for group in self._optimizer.param_groups:
                group["lr"] = self._recipe.lr * rate_at(self._recipe, progress)
            loss = self._step(next(self._stream).to(self._device), progress)
        if not math.isfinite(loss.item()):
            raise RunError(f"the loss became {loss.item()} in epoch {epoch}; try a smaller recipe.lr")
        self._lesson.check_state()
        self._network.eval()

    def _step(self, rows: Tensor, progress: float) -> Tensor:
        """One step on the samples ``rows int64 [B]``."""
        loss = self._lesson.loss(self._inputs(rows), rows, progress, self._forward)
        self._optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        self._optimizer.step()
        return loss

    def _inputs(self, rows: Tensor) -> Tensor:
        """The samples ``rows int64 [B]`` as the network sees them in this step, ``[B, ...]``."""
        if self._vectors:
            # `index_select` copies rows in a third of the time that indexing takes.
            return self._augment.inputs(self._images.index_select(0, rows), self._draws)
        pixels = self._augment.pixels(self._images[self._rows[rows]], self._draws)
        return self._augment.inputs(self._normalize(pixels), self._draws)

    def _forward(self, inputs: Tensor) -> Tensor:
        """The network in training: inputs ``[n, ...]`` to logits ``float32 [n, C]``."""
        mixed = self._recipe.precision == "bfloat16"
        with torch.autocast(self._device.type, torch.bfloat16, enabled=mixed), self._dropout():
            logits: Tensor = self._compiled(inputs)
        return logits.float()

    def state(self) -> dict[str, Tensor]:
        """Everything that the epochs to come depend on, as tensors."""
        return {
            **{f"network/{name}": value for name, value in self._network.state_dict().items()},
            **{f"momentum/{index}": value for index, value in enumerate(self._momenta()) if value is not None},
            **self._stream.state("stream"),
            "draws": self._draws.get_state(),
            "dropout": torch.get_rng_state(),
            **({"dropout-cuda": torch.cuda.get_rng_state(self._device)} if self._device.type == "cuda" else {}),
            **self._lesson.state(),
        }

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Go back to a state; torch's global generators, which dropout draws from, go with it."""
        own = {name.removeprefix("network/"): value for name, value in state.items() if name.startswith("network/")}
        self._network.load_state_dict(own)
        for index, parameter in enumerate(self._parameters()):
            kept = state.get(f"momentum/{index}")
            if kept is not None:
                # In the parameter's memory order: the fused step takes both as they lie in memory.
                self._optimizer.state[parameter]["momentum_buffer"] = torch.empty_like(parameter).copy_(kept)
        self._lesson.restore(state)
        self._stream.restore("stream", state)
        self._draws.set_state(state["draws"])
        torch.set_rng_state(state["dropout"])
        if "dropout-cuda" in state:
            torch.cuda.set_rng_state(state["dropout-cuda"], self._device)

    def _parameters(self) -> list[Any]:
        return [parameter for group in self._optimizer.param_groups for parameter in group["params"]]

    def _momenta(self) -> list[Tensor | None]:
        return [self._optimizer.state[parameter].get("momentum_buffer") for parameter in self._parameters()]


def rate_at(recipe: Recipe, progress: float) -> float:
    """The share of the learning rate at a share of the steps: it rises for ``warmup`` of them, then falls."""
    if progress < recipe.warmup:
        return progress / recipe.warmup
    fallen = (progress - recipe.warmup) / (1 - recipe.warmup)
    return 1 - fallen if recipe.decay == "linear" else math.cos(math.pi * recipe.cosine * fallen)


def fit(
    network: nn.Module,
    data: TrainingSet,
    recipe: Recipe,
    normalize: Normalizer,
    *,
    augment: Augmentation,
    seed: int,
    lesson: Lesson = DEFAULT,
    on_epoch: Callable[[int], None] = lambda _epoch: None,
    checkpoint: Checkpoint | None = None,
) -> None:
    """Train ``network`` in place, by the objective of ``lesson``.

    The same seed and data give the same weights, bit for bit on one machine.
    """
    training = Training(network, data, recipe, normalize, augment=augment, seed=seed, lesson=lesson)
    with seeded(derive_seed(seed, "dropout"), normalize.device):
        left = checkpoint.load(training.state()) if checkpoint else None
        if left is not None:
            training.restore(left[0])
        for epoch in range(left[1] if left else 0, recipe.epochs):
            training.epoch(epoch)
            if checkpoint:
                checkpoint.offer(epoch + 1, training.state)
            on_epoch(epoch)
