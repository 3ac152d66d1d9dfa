"""Sets from any score, by one network or by several."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from pseudobench import Context, Fold, Pool, PredictionSets, conformal

if TYPE_CHECKING:
    from torch import Tensor


def class_ranks(probs: Tensor) -> Tensor:
    """The rank (from 0) of every class among ``probs [n, C]``, ``int64 [n, C]``; ties go to the lower index."""
    order = probs.sort(dim=1, descending=True, stable=True).indices
    places = torch.arange(probs.shape[1], device=probs.device).expand_as(order)
    return torch.empty_like(order).scatter_(1, order, places)


@dataclass(frozen=True)
class ScoreSets:
    """A predictor after calibration: the scores ``[n_k]`` of each fold's points, and their labels."""

    predictor: Any
    scores: tuple[Tensor, ...]
    labels: tuple[Tensor, ...]

    @property
    def tau(self) -> float:
        """The threshold; NaN where there is no single one (several folds, or one for each class)."""
        single = len(self.scores) == 1 and not self.predictor.by_class
        return conformal.conformal_threshold(self.scores[0], self.predictor.alpha) if single else math.nan

    @property
    def numbers(self) -> Mapping[str, float]:
        """What the record keeps: how many points gave the threshold."""
        return {"points": sum(len(scores) for scores in self.scores)}

    def predict(self, pools: Sequence[Pool], context: Context) -> PredictionSets:
        """Sets for the images that ``pools[k]`` shows through fold k's network."""
        name, alpha = self.predictor.name, self.predictor.alpha
        probs = [pool.logits().softmax(1) for pool in pools]
        u = torch.rand(len(probs[0]), generator=context.generator(f"{name}-predict"))
        scores = [self.predictor.scores(each, u) for each in probs]
        if self.predictor.by_class:
            columns = [self._column(scores, class_) for class_ in range(context.classes)]
            mask = torch.cat(columns, 1)
        else:
            mask = conformal.cross_mask(self.scores, scores, alpha)  # with one fold, Eq. 1 and Eq. 2
        return PredictionSets(mask, torch.stack(probs).mean(0), self.tau)

    def _column(self, scores: Sequence[Tensor], class_: int) -> Tensor:
        """Whether each sample's set holds a class, ``bool [N, 1]``, by the points of that class alone."""
        own = [points[labels == class_] for points, labels in zip(self.scores, self.labels, strict=True)]
        return conformal.cross_mask(own, [each[:, class_, None] for each in scores], self.predictor.alpha)


def calibrate(predictor: Any, folds: Sequence[Fold[Pool]], context: Context) -> ScoreSets:
    """The scores of the calibration points' own labels."""
    generator = context.generator(f"{predictor.name}-calibrate")
    found = []
    for fold in folds:
        scores = predictor.scores(fold.pool.logits().softmax(1), torch.rand(len(fold.labels), generator=generator))
        found.append(scores.gather(1, fold.labels[:, None])[:, 0])
    return ScoreSets(predictor, tuple(found), tuple(fold.labels for fold in folds))
