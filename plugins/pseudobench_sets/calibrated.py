"""Sets from any score, by one network or by several (cross calibration)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from pseudobench import MULTI, Context, Fold, Pool, PredictionSets, conformal
from pseudobench.estimation import moments

if TYPE_CHECKING:
    from torch import Tensor


def entropy(probs: Tensor, task: str) -> Tensor:
    """The entropy of each row of ``probs [n, C]`` as a share of the largest possible, ``[n]``.

    In the multi-label task it is the binary entropy of each class, averaged over classes.
    """
    if task == MULTI:
        found: Tensor = (torch.special.entr(probs) + torch.special.entr(1 - probs)).mean(1) / math.log(2)
    else:
        found = torch.special.entr(probs).sum(1) / math.log(probs.shape[1])
    return found


def deviation(samples: Iterable[Tensor], activate: Callable[[Tensor], Tensor]) -> Tensor:
    """The deviation over the passes of batches ``[passes, B, C]``, averaged over classes, ``[n]``."""
    return torch.cat([moments(activate(batch))[1].mean(1) for batch in samples])


@dataclass(frozen=True)
class ScoreSets:
    """A predictor after calibration: the scores ``[n_k]`` and the labels of each fold's points."""

    predictor: Any
    scores: tuple[Tensor, ...]
    labels: tuple[Tensor, ...]

    @property
    def tau(self) -> float:
        """The threshold; NaN if there is more than one (several folds, or a threshold per class)."""
        single = len(self.scores) == 1 and not self.predictor.by_class
        return conformal.conformal_threshold(self.scores[0], self.predictor.alpha) if single else math.nan

    @property
    def numbers(self) -> Mapping[str, float]:
        """For the record: the number of calibration points."""
        return {"points": sum(len(scores) for scores in self.scores)}

    def predict(self, pools: Sequence[Pool], context: Context) -> PredictionSets:
        """Sets of N samples; ``pools[k]`` are these samples as seen by the network of fold k."""
        name, alpha = self.predictor.name, self.predictor.alpha
        probs = [context.activate(pool.logits()) for pool in pools]
        u = torch.rand(len(probs[0]), generator=context.generator(f"{name}-predict"))
        scores = [
            self.predictor.scores_of(*both, u, context, f"predict-{fold}")
            for fold, both in enumerate(zip(pools, probs, strict=True))
        ]
        if self.predictor.by_class:
            columns = [self._column(scores, class_) for class_ in range(context.classes)]
            mask = torch.cat(columns, 1)
        else:
            mask = conformal.cross_mask(self.scores, scores, alpha)  # with one fold, Eq. 1 and Eq. 2
        return PredictionSets(mask, torch.stack(probs).mean(0), self.tau)

    def _column(self, scores: Sequence[Tensor], class_: int) -> Tensor:
        """Whether each sample's set holds ``class_``, ``bool [N, 1]``, calibrated on the points of that class alone."""
        own = [points[labels == class_] for points, labels in zip(self.scores, self.labels, strict=True)]
        return conformal.cross_mask(own, [each[:, class_, None] for each in scores], self.predictor.alpha)


def calibrate(predictor: Any, folds: Sequence[Fold[Pool]], context: Context) -> ScoreSets:
    """Score the label of each calibration point."""
    generator = context.generator(f"{predictor.name}-calibrate")
    found = []
    for index, fold in enumerate(folds):
        u = torch.rand(len(fold.labels), generator=generator)
        probs = context.activate(fold.pool.logits())
        scores = predictor.scores_of(fold.pool, probs, u, context, f"calibrate-{index}")
        found.append(conformal.own_scores(scores, fold.labels))
    return ScoreSets(predictor, tuple(found), tuple(fold.labels for fold in folds))


def calibrate_with_pool(predictor: Any, folds: Sequence[Fold[Pool]], context: Context) -> ScoreSets:
    """Score the calibration points and, by `nearest_scores`, the pool, with a score that draws nothing."""
    found = []
    for fold in folds:
        known, rest = (
            predictor.scores(context.activate(each.logits()), torch.empty(len(each))) for each in (fold.pool, fold.rest)
        )
        own = conformal.own_scores(known, fold.labels)
        found.append(torch.cat([own, nearest_scores(rest.amin(1), known.amin(1), own)]))
    return ScoreSets(predictor, tuple(found), tuple(fold.labels for fold in folds))


def nearest_scores(tops: Tensor, points: Tensor, own: Tensor) -> Tensor:
    """SemiCP's scores ``[N]`` of samples whose most probable class scores ``tops [N]``.

    ``points`` and ``own [n]`` are the scores of the calibration points' most probable and true classes. Each sample
    takes the difference of both from the calibration point that is nearest in the former; of equals, one point.
    """
    rising = points.sort()
    after = torch.searchsorted(rising.values, tops).clamp(max=len(points) - 1)
    before = (after - 1).clamp(min=0)
    nearer = (rising.values[before] - tops).abs() <= (rising.values[after] - tops).abs()
    chosen = rising.indices[torch.where(nearer, before, after)]
    return tops + own[chosen] - points[chosen]
