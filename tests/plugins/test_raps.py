"""Platt scaling and the RAPS set predictor on pools."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from scipy import optimize

from pseudobench import Context, Fold, conformal
from pseudobench_raps import Platt, Raps, Unscaled
from pseudobench_raps.platt import HIGHEST, LOWEST
from pseudobench_raps.sets import calibrate, tuned

CONTEXT = Context(seed=1, round=2, rounds=5, classes=6)


@dataclass(frozen=True)
class FixedPool:
    """A pool whose logits are given."""

    values: torch.Tensor

    def __len__(self):
        return len(self.values)

    def logits(self):
        return self.values

    def samples(self, passes, seed):
        raise AssertionError("RAPS does not ask for samples")


def made_up(seed, n, classes=6, sharpness=2.0):
    """Logits, and labels drawn from their softmax."""
    rng = np.random.default_rng(seed)
    logits = torch.from_numpy(rng.normal(size=(n, classes)) * sharpness)
    labels = (logits.softmax(1).cumsum(1) < torch.from_numpy(rng.random((n, 1)))).sum(1).clamp(max=classes - 1)
    return logits, labels


def fold(seed, n, rest):
    logits, labels = made_up(seed, n)
    return Fold(FixedPool(logits), labels, FixedPool(rest))


@pytest.mark.parametrize("distortion", [0.3, 1.0, 4.0])
def test_temperature_is_recovered(distortion):
    logits, labels = made_up(0, 20_000)
    fitted = Platt(smoothing=False).fit(logits * distortion, labels)
    assert fitted.numbers["temperature"] == pytest.approx(distortion, rel=0.03)
    torch.testing.assert_close(fitted(logits * distortion), logits * distortion / fitted.temperature)


@pytest.mark.parametrize("smoothing", [False, True])
def test_temperature_is_the_minimum_that_scipy_finds(smoothing):
    logits, labels = made_up(1, 60)
    n, classes = logits.shape
    weight = (n + 1) / (n + 2) if smoothing else 1.0
    target = torch.full((n, classes), (1 - weight) / (classes - 1), dtype=torch.float64)
    target[torch.arange(n), labels] = weight

    def loss(log_t):
        return float(-(target * (3 * logits / math.exp(log_t)).log_softmax(1)).sum(1).mean())

    best = optimize.minimize_scalar(loss, bounds=(-3, 3), method="bounded", options={"xatol": 1e-9})
    ours = Platt(smoothing=smoothing).fit(3 * logits, labels).temperature
    assert math.log(ours) == pytest.approx(best.x, abs=1e-5)


def test_separable_points_run_to_the_edge_only_without_smoothing():
    logits = torch.eye(6, dtype=torch.float64).repeat(4, 1) * 3
    labels = torch.arange(6).repeat(4)
    assert Platt(smoothing=False).fit(logits, labels).temperature == LOWEST
    smoothed = Platt().fit(logits, labels)
    assert LOWEST < smoothed.temperature < HIGHEST
    # At the optimum the mean confidence is the smoothed target itself.
    confidence = smoothed(logits).softmax(1).max(1).values.mean().item()
    assert confidence == pytest.approx(25 / 26, abs=1e-6)


def test_labels_that_say_nothing_run_to_the_other_edge():
    logits = torch.eye(2, dtype=torch.float64).repeat(2, 1)
    assert Platt(smoothing=False).fit(logits, torch.tensor([0, 0, 1, 1])).temperature == HIGHEST


def test_unscaled_changes_nothing():
    logits, labels = made_up(2, 30)
    assert torch.equal(Unscaled().fit(logits, labels)(logits), logits)


def test_sets_cover_the_pool():
    rest, truth = made_up(3, 4000)
    covered = []
    for seed in range(30):
        calibrated = Raps(alpha=0.2).calibrate([fold(100 + seed, 200, rest)], Context(seed, 1, 5, 6))
        sets = calibrated.predict([FixedPool(rest)], Context(seed, 1, 5, 6))
        covered.append(sets.mask.gather(1, truth[:, None]).double().mean().item())
    assert np.mean(covered) == pytest.approx(conformal.conformal_rank(200, 0.2) / 201, abs=0.02)


def test_same_context_same_sets_other_round_other_u():
    rest, _ = made_up(4, 50)
    calibrated = Raps().calibrate([fold(5, 40, rest)], CONTEXT)
    first, again = (calibrated.predict([FixedPool(rest)], CONTEXT).mask for _ in range(2))
    assert torch.equal(first, again)
    other = calibrated.predict([FixedPool(rest)], Context(seed=1, round=3, rounds=5, classes=6)).mask
    assert not torch.equal(first, other)


def test_without_randomization_nothing_is_drawn_and_sets_are_larger():
    rest, _ = made_up(6, 500)
    plain, drawn = (
        Raps(randomized=randomized).calibrate([fold(7, 300, rest)], CONTEXT).predict([FixedPool(rest)], CONTEXT)
        for randomized in (False, True)
    )
    assert plain.sizes.double().mean() > drawn.sizes.double().mean()


def test_empty_sets_can_be_forbidden():
    rest = made_up(8, 500, sharpness=6)[0]
    folds = [fold(9, 300, rest)]
    with_empty = Raps(alpha=0.4).calibrate(folds, CONTEXT).predict([FixedPool(rest)], CONTEXT)
    without = Raps(alpha=0.4, allow_empty=False).calibrate(folds, CONTEXT).predict([FixedPool(rest)], CONTEXT)
    empty = with_empty.sizes == 0
    assert empty.any()
    assert torch.equal(without.mask[~empty], with_empty.mask[~empty])
    assert (without.sizes[empty] == 1).all()
    assert (without.mask[empty].int().argmax(1) == rest[empty].argmax(1)).all()


def test_tuning_uses_points_that_the_threshold_does_not():
    rest, _ = made_up(10, 10)
    calibrated = calibrate(Raps(tune=0.25), [fold(11, 200, rest)], CONTEXT)
    assert len(calibrated.scores[0]) == 150
    assert calibrated.raps.lam in (0.001, 0.01, 0.1, 0.2, 0.5)


def test_tuned_k_reg_is_the_rank_that_covers_and_lam_gives_the_smallest_sets():
    logits, labels = made_up(12, 400)
    probs = logits.softmax(1)
    chosen = tuned(Raps(alpha=0.1), probs, labels, torch.Generator().manual_seed(0))
    ranks = sorted((conformal.ranks(probs, labels) + 1).tolist())
    assert chosen.k_reg == ranks[conformal.conformal_rank(400, 0.1) - 1]
    u = torch.rand(400, generator=torch.Generator().manual_seed(0))
    sizes = []
    for lam in (0.001, 0.01, 0.1, 0.2, 0.5):
        tau = conformal.conformal_threshold(conformal.label_scores(probs, labels, u, lam, chosen.k_reg), 0.1)
        sizes.append((conformal.set_mask(probs, u, tau, lam, chosen.k_reg).sum(1).double().mean().item(), lam))
    assert chosen.lam == min(sizes)[1]


def test_several_folds_have_no_common_threshold():
    rest, truth = made_up(13, 3000)
    folds = [fold(20 + k, 40, rest) for k in range(5)]
    sets = Raps(alpha=0.2).calibrate(folds, CONTEXT).predict([FixedPool(rest)] * 5, CONTEXT)
    assert math.isnan(sets.tau)
    # The five networks are one and the same here, so 200 points calibrate it as one fold would.
    covered = sets.mask.gather(1, truth[:, None]).double().mean().item()
    assert covered == pytest.approx(0.8, abs=0.06)
