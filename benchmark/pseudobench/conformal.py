"""Tensor maths of conformal prediction, for plugins: scores, thresholds, sets."""

from pseudobench.maths.conformal import (
    class_ranks,
    class_scores,
    conformal_rank,
    conformal_threshold,
    cross_mask,
    label_scores,
    own_scores,
    ranked_scores,
    ranks,
    set_mask,
)

__all__ = [
    "class_ranks",
    "class_scores",
    "conformal_rank",
    "conformal_threshold",
    "cross_mask",
    "label_scores",
    "own_scores",
    "ranked_scores",
    "ranks",
    "set_mask",
]
