"""RAPS on pools: tuning, calibration, and sets by one network or by several (cross calibration)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch

from pseudobench import Context, Fold, Pool, PredictionSets, conformal
from pseudobench.selection import argmax_mask

if TYPE_CHECKING:
    from torch import Generator, Tensor

    from pseudobench_raps import Raps

#: The values of lambda that tuning tries, as in the RAPS paper.
PENALTIES = (0.001, 0.01, 0.1, 0.2, 0.5)


@dataclass(frozen=True)
class RapsSets:
    """RAPS after calibration: its parameters, tuned or given, and the scores ``[n_k]`` of each fold's points."""

    raps: Raps
    scores: tuple[Tensor, ...]

    @property
    def tau(self) -> float:
        """The threshold of Eq. 1; NaN for several folds, which have no common threshold."""
        return conformal.conformal_threshold(self.scores[0], self.raps.alpha) if len(self.scores) == 1 else math.nan

    @property
    def numbers(self) -> Mapping[str, float]:
        """For the record: the number of calibration points, and the tuned or given parameters."""
        return {
            "points": sum(len(scores) for scores in self.scores),
            "k_reg": self.raps.k_reg,
            "lam": self.raps.lam,
        }

    def predict(self, pools: Sequence[Pool], context: Context) -> PredictionSets:
        """Sets of N samples; ``pools[k]`` are these samples as seen by the network of fold k."""
        raps = self.raps
        probs = [context.activate(pool.logits()) for pool in pools]
        u = draw(raps, len(probs[0]), context.generator("raps-predict"))
        if len(probs) == 1:
            mask = conformal.set_mask(probs[0], u, self.tau, raps.lam, raps.k_reg)
        else:
            classes = [conformal.class_scores(each, u, raps.lam, raps.k_reg) for each in probs]
            mask = conformal.cross_mask(self.scores, classes, raps.alpha)
        mean = torch.stack(probs).mean(0)
        if not raps.allow_empty:
            mask = mask | (argmax_mask(mean) & ~mask.any(1, keepdim=True))
        return PredictionSets(mask, mean, self.tau)


def calibrate(raps: Raps, folds: Sequence[Fold[Pool]], context: Context) -> RapsSets:
    """Score the calibration points; with ``raps.tune``, a share of them tunes RAPS first and is not scored."""
    generator = context.generator("raps-calibrate")
    points = [(context.activate(fold.pool.logits()), fold.labels) for fold in folds]
    if raps.tune:
        parts = [_part(probs, labels, raps.tune, generator) for probs, labels in points]
        raps = tuned(raps, torch.cat([t[0] for t, _ in parts]), torch.cat([t[1] for t, _ in parts]), generator)
        points = [rest for _, rest in parts]
    scores = tuple(scores_of(raps, probs, labels, draw(raps, len(labels), generator)) for probs, labels in points)
    return RapsSets(raps, scores)


def scores_of(raps: Raps, probs: Tensor, labels: Tensor, u: Tensor) -> Tensor:
    """Eq. 2's score of each point's label, ``[n]``; with several labels, the largest of theirs."""
    if labels.ndim == 1:  # faster: the other classes are not scored
        return conformal.label_scores(probs, labels, u, raps.lam, raps.k_reg)
    return conformal.own_scores(conformal.class_scores(probs, u, raps.lam, raps.k_reg), labels)


def draw(raps: Raps, count: int, generator: Generator) -> Tensor:
    """Eq. 2's ``u [count]``, one per sample: uniform, or 1 if sets are not randomized."""
    return torch.rand(count, generator=generator) if raps.randomized else torch.ones(count)


def tuned(raps: Raps, probs: Tensor, labels: Tensor, generator: Generator) -> Raps:
    """``raps`` with ``k_reg`` and ``lam`` chosen on tuning points with ``probs [n, C]``.

    ``k_reg`` is the rank that covers 1 - alpha of the points; ``lam`` is the penalty with the smallest sets.
    """
    if not len(labels):
        return raps
    ranks = conformal.own_scores(conformal.class_ranks(probs).double(), labels) + 1
    covering = conformal.conformal_threshold(ranks, raps.alpha)
    k_reg = int(min(covering, probs.shape[1]))
    u = draw(raps, len(labels), generator)
    sizes = {}
    for lam in PENALTIES:
        tau = conformal.conformal_threshold(
            scores_of(replace(raps, lam=lam, k_reg=k_reg), probs, labels, u), raps.alpha
        )
        sizes[lam] = float(conformal.set_mask(probs, u, tau, lam, k_reg).sum(1).double().mean())
    return replace(raps, k_reg=k_reg, lam=min(PENALTIES, key=lambda lam: sizes[lam]))


def _part(
    probs: Tensor, labels: Tensor, share: float, generator: Generator
) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Split points at random into a share for tuning and the rest for calibration."""
    order = torch.randperm(len(labels), generator=generator)
    first, rest = order[: round(share * len(order))], order[round(share * len(order)) :]
    return (probs[first], labels[first]), (probs[rest], labels[rest])
