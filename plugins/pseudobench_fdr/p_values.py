"""Conformal p-values of wrong labels, and Benjamini-Hochberg's procedure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from torch import Tensor


def p_values(wrong: Tensor, scores: Tensor, points: int) -> Tensor:
    """``(1 + number of wrong points at least as confident) / (1 + points)`` of each of ``scores [N]``, ``float64 [N]``.

    ``wrong [n0]`` are the confidences of the calibration points whose label is wrong.
    """
    as_confident = len(wrong) - torch.searchsorted(wrong.sort().values, scores.contiguous(), side="left")
    return (1 + as_confident).double() / (1 + points)


def benjamini_hochberg(p: Tensor, q: float) -> Tensor:
    """Which of the p-values ``[N]`` are at most the largest ``p_(k)`` with ``p_(k) <= q k / N``, ``bool [N]``."""
    rising = p.sort().values
    passed = rising <= q * torch.arange(1, len(p) + 1, dtype=p.dtype, device=p.device) / max(len(p), 1)
    return p <= rising[passed].amax() if bool(passed.any()) else torch.zeros_like(p, dtype=torch.bool)
