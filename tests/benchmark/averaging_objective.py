"""An objective with a state, views of the pool and draws of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from pseudobench import param
from pseudobench.maths.losses import single_label_loss


@dataclass(frozen=True)
class Average:
    """Pulls the strong view to a moving average of the weak views' probabilities; draws a little."""

    name: ClassVar[str] = "average"
    views: ClassVar[tuple[str, ...]] = ("weak", "strong")
    ratio: float = param(1.5, "pool samples for each labeled one", low=0, exclusive=True)

    def start(self, context, pool):
        return {"probs": torch.full((context.classes,), 1 / context.classes), "seen": torch.zeros(pool)}

    def loss(self, step, forward, state):
        weak, strong = step.views
        probs = forward(weak).detach().softmax(1)
        state["probs"] = 0.9 * state["probs"] + 0.1 * probs.mean(0)
        state["seen"] = state["seen"].index_add(0, step.pool, torch.ones(len(step.pool)))
        labeled = single_label_loss(forward(step.inputs), step.positive, step.negative, step.weight, step.target)
        noise = torch.rand((), generator=step.generator)
        average = state["probs"].expand(len(weak), -1)
        return labeled + noise * torch.nn.functional.cross_entropy(forward(strong), average)
