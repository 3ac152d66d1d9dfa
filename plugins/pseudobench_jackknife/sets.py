"""Jackknife+ sets of pools."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from pseudobench import Context, Fold, Pool, PredictionSets, RunError
from pseudobench.conformal import conformal_rank
from pseudobench_jackknife.ridge import RidgeHeads, fit_heads

if TYPE_CHECKING:
    from torch import Tensor

    from pseudobench_jackknife import Jackknife

#: Samples at once, so that their outputs by all heads fit into the processor's cache.
BATCH = 256


@dataclass(frozen=True)
class JackknifeSets:
    """The predictor after calibration."""

    predictor: Jackknife
    heads: RidgeHeads

    @property
    def numbers(self) -> Mapping[str, float]:
        """For the record: the number of calibration points."""
        return {"points": len(self.heads.inputs)}

    def predict(self, pools: Sequence[Pool], context: Context) -> PredictionSets:
        """Sets of N samples by their features, which are the same in all ``pools``."""
        own = self.heads.own.sort().values
        rank = conformal_rank(len(own), self.predictor.alpha)
        parts = [_batch(self.heads, part, own, rank) for part in torch.split(pools[0].features(), BATCH)]
        mask, outputs = (torch.cat(each) for each in zip(*parts, strict=True))
        least = outputs.amin(1, keepdim=True)
        probs = (outputs - least + 1e-6) / (outputs - least + 1e-6).sum(1, keepdim=True)  # the same order, summing to 1
        return PredictionSets(mask, probs, math.nan)


def _batch(heads: RidgeHeads, features: Tensor, own: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    """Sets ``bool [B, C]`` of samples with ``features [B, F]``, and the outputs ``[B, C]`` of the head with all points.

    A class is inside unless ``rank`` of the points, or more, fit the head without them better than the sample would as
    one of that class: larger outputs for their own class, in ``own [n]`` from the smallest to the largest. No head is
    further from the one with all points than its reach; that decides most classes without asking the n heads.
    """
    weights = heads.weights(features)
    outputs = heads.outputs(weights)
    reach = heads.reach(weights) * (1 + 1e-4) + 1e-6  # more than rounding can make of it
    fewest, most = (len(own) - torch.searchsorted(own, outputs + by, right=True) for by in (reach, -reach))
    mask = most < rank
    open_ = (~mask & (fewest < rank)).nonzero()
    for rows, classes in (part.T for part in torch.split(open_, BATCH)):
        others = heads.without(weights[rows], outputs[rows, classes], classes)
        mask[rows, classes] = (others < heads.own).sum(1) < rank
    return mask, outputs


def calibrate(predictor: Jackknife, folds: Sequence[Fold[Pool]], context: Context) -> JackknifeSets:
    """Fit the heads on the points of all folds, whose networks must give the same features."""
    first = folds[0].pool.features()
    features = [first, *(fold.pool.features() for fold in folds[1:])]
    few = [fold.rest.features()[:8] if len(fold.rest) else first[:0] for fold in folds]
    if any(not torch.allclose(few[0], each) for each in few[1:]):
        raise RunError(
            "the networks of the folds give different features, which the labels have shaped: take --tune head, the "
            "backbone linear (vectors), or --calibration held-out"
        )
    labels = torch.cat([fold.labels for fold in folds])
    heads = fit_heads(torch.cat(features), labels, context.classes, predictor.ridge * first.shape[1])
    return JackknifeSets(predictor, heads)
