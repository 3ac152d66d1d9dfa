"""SemiCP: its scores written out, and coverage that depends less on which few points calibrate."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from test_sets import Known, context

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


def coverages(n, sharpness, draws=150):
    """The share of test points covered by SemiCP and by LAC, in each draw of a network that knows how sure it is."""
    covered = {"semi": [], "lac": []}
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        probs = torch.from_numpy(rng.normal(size=(n + 1500, 6)) * sharpness).softmax(1).clamp(min=1e-9)
        drawn = (probs.cumsum(1).numpy() < rng.random((len(probs), 1))).sum(1)
        labels = torch.from_numpy(drawn).clamp(max=5)
        unlabeled, test = Known(probs[n : n + 1000]), Known(probs[n + 1000 :])
        for predictor in (Semi(), Lac()):
            made = predictor.calibrate([Fold(Known(probs[:n]), labels[:n], unlabeled)], context(seed))
            mask = made.predict([test], context(seed)).mask
            covered[predictor.name].append(float(mask.gather(1, labels[n + 1000 :, None]).double().mean()))
    return {name: np.array(found) for name, found in covered.items()}


@pytest.mark.parametrize("sharpness", [2, 10])
@pytest.mark.parametrize("n", [20, 100])
def test_coverage_is_near_nominal(n, sharpness):
    """Its bound goes to 1 - alpha as both kinds of points grow; with few calibration points it lacks Eq. 1's n + 1."""
    found = coverages(n, sharpness)["semi"]
    assert abs(found.mean() - 0.9) <= 1 / n + 3 * found.std(ddof=1) / np.sqrt(len(found))


def test_the_pool_helps_if_the_network_is_accurate():
    """Of 20 calibration points of a network that is right in 91 % of cases; at 61 % it does not help (METHOD.md)."""
    found = coverages(20, 10)
    gaps = {name: np.abs(each - 0.9).mean() for name, each in found.items()}
    assert gaps["semi"] < 0.8 * gaps["lac"]
