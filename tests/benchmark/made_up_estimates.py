"""A context of ten classes, and estimates and sets that are unrelated to each other."""

from __future__ import annotations

import torch

from pseudobench import Context, PredictionSets
from pseudobench.maths.estimation import estimate_from_samples

CONTEXT = Context(seed=0, round=1, rounds=5, classes=10)


def random_case(seed, n=40, classes=6, sharpness=4.0):
    """An estimate with a softened one, and prediction sets, all unrelated to each other."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(5, n, classes, generator=generator) * sharpness
    estimate = estimate_from_samples([logits], 2.0, CONTEXT)
    sets = PredictionSets(torch.rand(n, classes, generator=generator) < 0.3, estimate.probs)
    return estimate, sets
