"""The formulas of consistency: which pool samples count how much. B labeled and U pool samples, C classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch.nn import functional

from pseudobench.maths.losses import loss_of

if TYPE_CHECKING:
    from torch import Tensor

    from pseudobench import Step


def logits_of(step: Step, forward: Callable[[Tensor], Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """Logits ``[B, C]`` of the labeled samples and ``[U, C]`` of weak (without gradient) and strong views.

    One pass for all, so that batch norm sees one distribution.
    """
    weak, strong = step.views
    logits = forward(torch.cat([step.inputs, weak, strong]))
    count = len(step.inputs)
    of_weak, of_strong = logits[count:].chunk(2)
    return logits[:count], of_weak.detach(), of_strong


def consistency(step: Step, labeled: Tensor, strong: Tensor, probs: Tensor, weights: Tensor, factor: float) -> Tensor:
    """The labels' loss plus ``factor`` times the mean over U of ``weights [U]`` times the strong views' cross-entropy.

    The pseudo-label of a strong view is the largest of the weak view's ``probs [U, C]``.
    """
    losses = functional.cross_entropy(strong, probs.argmax(1), reduction="none")
    return loss_of(labeled, step) + factor * (losses * weights).mean()


def flexible_thresholds(classes: Tensor, count: int, tau: float) -> Tensor:
    """FlexMatch's threshold of each of ``count`` classes, ``[count]``: ``tau x / (2 - x)``.

    ``classes int64 [pool]`` is the class of which each pool sample was last confidently, -1 if it never was. A class's
    learning status x is its number of samples over that of the class with the most, or over the number of samples that
    are of none if that is larger (warm-up).
    """
    counts = (classes + 1).bincount(minlength=count + 1)
    learned = counts[1:] / counts.amax().clamp(min=1)
    return tau * learned / (2 - learned)


def remember(state: dict[str, Tensor], step: Step, classes: Tensor, confident: Tensor) -> None:
    """Keep the ``classes [U]`` of the pool samples of this step that are ``confident [U]``."""
    assert step.pool is not None
    kept = state["classes"].clone()
    kept[step.pool[confident]] = classes[confident]
    state["classes"] = kept


def follow(state: dict[str, Tensor], probs: Tensor, momentum: float) -> None:
    """FreeMatch's moving averages of ``probs [U, C]``: confidence, mean probabilities, shares of the argmax classes."""
    classes = probs.shape[1]
    shares = probs.argmax(1).bincount(minlength=classes) / len(probs)
    for name, now in (("confidence", probs.amax(1).mean()), ("probs", probs.mean(0)), ("shares", shares)):
        state[name] = momentum * state[name] + (1 - momentum) * now


def unfairness(strong: Tensor, keep: Tensor, state: dict[str, Tensor]) -> Tensor:
    """FreeMatch's self-adaptive fairness: ``sum_c target_c log mean_c``, over the strong views that are kept.

    Both are mean probabilities divided by the shares of pseudo-labels and normalized, ``target`` those of the pool so
    far and ``mean`` those of this batch; a class that is rare among pseudo-labels weighs more. Zero if none is kept.
    """
    if not bool(keep.any()):
        return strong.sum() * 0
    probs = strong[keep].softmax(1)
    shares = probs.argmax(1).bincount(minlength=probs.shape[1]) / len(probs)
    target = _normalized(state["probs"] / state["shares"].clamp(min=1e-12))
    mean = _normalized(probs.mean(0) / torch.where(shares > 0, shares, torch.inf))
    return (target * (mean + 1e-12).log()).sum()


def soft_weights(state: dict[str, Tensor], probs: Tensor, momentum: float, sigmas: float, align: bool) -> Tensor:
    """SoftMatch's weights ``[U]`` for weak views ``probs [U, C]``: 1 above the mean confidence, a Gaussian below.

    ``exp(-min(p - mean, 0)^2 / (2 variance / sigmas^2))`` with moving averages of mean and variance of the confidence.
    """
    state["probs"] = momentum * state["probs"] + (1 - momentum) * probs.mean(0)
    if align:
        probs = _normalized(probs / state["probs"] / probs.shape[1])
    confidence = probs.amax(1)
    state["mean"] = momentum * state["mean"] + (1 - momentum) * confidence.mean()
    state["variance"] = momentum * state["variance"] + (1 - momentum) * confidence.var(unbiased=len(confidence) > 1)
    below = (confidence - state["mean"]).clamp(max=0)
    return torch.exp(-(below**2) / (2 * state["variance"].clamp(min=1e-12) / sigmas**2))


def _normalized(values: Tensor) -> Tensor:
    return values / values.sum(-1, keepdim=True)
