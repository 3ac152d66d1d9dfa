"""SemiCP: its scores written out, and coverage that depends less on which few points calibrate."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from test_sets import Known, context, world

from pseudobench import Fold
from pseudobench.testing import contract
from pseudobench_sets import Lac, Semi
from pseudobench_sets.calibrated import nearest_scores


@pytest.mark.parametrize("check", contract(Semi), ids=str)
def test_contract(check):
    check()


def test_scores_written_out():
    points, own = torch.tensor([0.1, 0.5, 0.3]), torch.tensor([0.1, 0.9, 0.4])
    tops = torch.tensor([0.0, 0.15, 0.26, 0.45, 0.8])
    # Nearest: 0.1 (no error), 0.1, 0.3 (0.1 more), 0.5 (0.4 more), 0.5.
    torch.testing.assert_close(nearest_scores(tops, points, own), torch.tensor([0.0, 0.15, 0.36, 0.85, 1.2]))


def test_scores_by_brute_force():
    rng = np.random.default_rng(0)
    tops, points, own = (torch.from_numpy(rng.random(size)) for size in (200, 30, 30))
    nearest = (points[:, None] - tops).abs().argmin(0)
    torch.testing.assert_close(nearest_scores(tops, points, own), tops + (own - points)[nearest])


@pytest.mark.parametrize("n", [20, 100])
def test_coverage_is_near_nominal_and_varies_less_than_with_few_points(n):
    draws, covered = 200, {"semi": [], "lac": []}
    for seed in range(draws):
        probs, labels = world(seed, n + 1000)
        unlabeled, test = Known(probs[n : n + 500]), Known(probs[n + 500 :])
        for predictor in (Semi(), Lac()):
            made = predictor.calibrate([Fold(Known(probs[:n]), labels[:n], unlabeled)], context(seed))
            mask = made.predict([test], context(seed)).mask
            covered[predictor.name].append(float(mask.gather(1, labels[n + 500 :, None]).double().mean()))
    spread = {name: np.std(found) for name, found in covered.items()}
    error = spread["semi"] / np.sqrt(draws)
    # Its bound goes to 1 - alpha as both kinds of points grow; with few calibration points it lacks Eq. 1's n + 1.
    assert abs(np.mean(covered["semi"]) - 0.9) <= 1 / n + 3 * error
    assert spread["semi"] < spread["lac"]
