"""The training loop, nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from timm.optim import param_groups_weight_decay  # type: ignore[attr-defined]

from pseudobench.augment import Augmentation
from pseudobench.dropout import FastDropout
from pseudobench.errors import RunError
from pseudobench.losses import single_label_loss
from pseudobench.seeds import derive_seed, seeded

if TYPE_CHECKING:
    from torch import Generator, Tensor, nn

    from pseudobench.pool import Normalizer
    from pseudobench.presets import Recipe


@dataclass(frozen=True)
class TrainingSet:
    """Images ``uint8 [M, channels, H, W]`` with what is known of them: ``positive``, ``negative bool [M, C]``."""

    images: Tensor
    positive: Tensor
    negative: Tensor


def fit(
    network: nn.Module,
    data: TrainingSet,
    recipe: Recipe,
    normalize: Normalizer,
    *,
    augment: Augmentation,
    seed: int,
    on_epoch: Callable[[int], None] = lambda _epoch: None,
) -> None:
    """Train ``network`` in place. The same seed and data give the same weights, bit for bit on one machine."""
    device = normalize.device
    draws = torch.Generator().manual_seed(derive_seed(seed, "batches"))
    batches = stream(data, recipe.batch_size, draws)
    steps = recipe.steps or math.ceil(pass_length(data) / recipe.batch_size)
    groups = param_groups_weight_decay(network, recipe.weight_decay)
    optimizer = torch.optim.SGD(groups, lr=recipe.lr, momentum=recipe.momentum, nesterov=recipe.momentum > 0)
    total = recipe.epochs * steps
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: math.cos(math.pi * recipe.cosine * step / total)
    )
    positive, negative = data.positive.to(device), data.negative.to(device)
    images = data.images.to(device)  # whole, once: batches are gathered and augmented where they are used
    network.train()
    forward: Any = torch.compile(network) if recipe.compile else network
    dropout = nullcontext if recipe.compile else FastDropout  # compiled code draws by itself
    with seeded(derive_seed(seed, "dropout"), device):
        for epoch in range(recipe.epochs):
            for _ in range(steps):
                rows = next(batches).to(device)
                inputs = augment.inputs(normalize(augment.pixels(images[rows], draws)), draws)
                with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"), dropout():
                    logits = forward(inputs)
                loss = single_label_loss(logits.float(), positive[rows], negative[rows])
                optimizer.zero_grad(set_to_none=True)
                torch.autograd.backward(loss)
                optimizer.step()
                schedule.step()
            if not math.isfinite(loss.item()):
                raise RunError(f"the loss became {loss.item()} in epoch {epoch}; try a smaller recipe.lr")
            on_epoch(epoch)
    network.eval()


def pass_length(data: TrainingSet) -> int:
    """Samples in one pass: those with positives are repeated to match those with negatives alone (as in UPS)."""
    positives = int(data.positive.any(1).sum())
    return max(positives, len(data.positive) - positives) + len(data.positive) - positives


def stream(data: TrainingSet, batch_size: int, generator: Generator) -> Iterator[Tensor]:
    """Row indices of batch after batch, ``int64 [batch_size]``, pass after pass without end."""
    has_positive = data.positive.any(1)
    positives, negatives = has_positive.nonzero()[:, 0], (~has_positive).nonzero()[:, 0]
    wanted = max(len(positives), len(negatives))
    waiting = torch.empty(0, dtype=torch.int64)
    while True:
        repeats = [torch.randperm(len(positives), generator=generator) for _ in range(-(-wanted // len(positives)))]
        once = torch.cat([positives[torch.cat(repeats)[:wanted]], negatives])
        waiting = torch.cat([waiting, once[torch.randperm(len(once), generator=generator)]])
        while len(waiting) >= batch_size:
            yield waiting[:batch_size]
            waiting = waiting[batch_size:]
