"""Scores, thresholds and sets against the reference answers, closed forms and their own theory."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_probabilities import sample_labels, softmax
from scipy import stats

from pseudobench import conformal


@pytest.mark.parametrize("case", [f"raps{i}" for i in range(7)])
def test_reference_scores_threshold_and_sets(case, reference):
    given_ = reference(case)
    lam, k_reg, alpha = float(given_["lam"]), int(given_["k_reg"]), float(given_["alpha"])
    scores = conformal.label_scores(given_["cal_probs"], given_["cal_labels"], given_["cal_u"], lam, k_reg)
    torch.testing.assert_close(scores, given_["cal_scores"], rtol=0, atol=1e-14)
    tau = conformal.conformal_threshold(given_["cal_scores"], alpha)
    assert tau == float(given_["tau"])
    sets = conformal.set_mask(given_["test_probs"], given_["test_u"], tau, lam, k_reg)
    assert torch.equal(sets, given_["test_sets"])
    if case == "raps5":
        assert (sets.sum(1) == 0).any()
    if case == "raps6":
        assert math.isinf(tau)
        assert sets.all()


def test_score_is_equation_2_written_out():
    probs = torch.tensor([[0.1, 0.5, 0.25, 0.15]], dtype=torch.float64)
    u = torch.tensor([0.4], dtype=torch.float64)
    # Class 3 has rank 3: 0.5 + 0.25 lie before it, its own mass counts u-fold, one rank is beyond k_reg = 2.
    expected = 0.5 + 0.25 + 0.4 * 0.15 + 0.3 * (3 - 2)
    scores = conformal.class_scores(probs, u, lam=0.3, k_reg=2)
    assert scores[0, 3].item() == pytest.approx(expected, abs=1e-15)
    assert conformal.label_scores(probs, torch.tensor([3]), u, 0.3, 2).item() == scores[0, 3].item()


@pytest.mark.parametrize("u", [0.0, 1.0])
def test_u_counts_the_own_mass_not_its_complement(u):
    probs = torch.tensor([[0.7, 0.2, 0.1]], dtype=torch.float64)
    scores = conformal.class_scores(probs, torch.tensor([u], dtype=torch.float64), 0.0, 0)[0]
    before = torch.tensor([0.0, 0.7, 0.9], dtype=torch.float64)
    torch.testing.assert_close(scores, before + u * probs[0])


@pytest.mark.parametrize("n", [1, 5, 8, 9, 10, 19, 20, 99, 100, 999])
@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9])
def test_rank_is_exact(n, alpha):
    exact = Fraction(n + 1) * (1 - Fraction(str(alpha)))
    assert conformal.conformal_rank(n, alpha) == -(-exact.numerator // exact.denominator)


def test_rank_where_floating_point_is_wrong():
    assert math.ceil(10 * (1 - 0.7)) == 4  # the trap
    assert conformal.conformal_rank(9, 0.7) == 3


@pytest.mark.parametrize(("n", "alpha"), [(8, 0.1), (18, 0.05), (3, 0.2)])
def test_too_few_points_give_full_sets(n, alpha):
    rng = np.random.default_rng(0)
    tau = conformal.conformal_threshold(torch.rand(n, dtype=torch.float64), alpha)
    assert math.isinf(tau)
    probs = softmax(rng, 20, 6)
    assert conformal.set_mask(probs, torch.rand(20, dtype=torch.float64), tau, 0.1, 1).all()
    assert math.isfinite(conformal.conformal_threshold(torch.rand(n + 1, dtype=torch.float64), alpha))


@pytest.mark.parametrize("n", [5, 20, 100])
@pytest.mark.parametrize("alpha", [0.1, 0.2, 0.4])
@pytest.mark.parametrize(("lam", "k_reg"), [(0.0, 0), (0.1, 2)])
def test_coverage_is_what_theory_says(n, alpha, lam, k_reg):
    """Without ties a new point is covered with probability rank/(n+1), or 1 if n is too small."""
    splits, classes = 4000, 6
    rng = np.random.default_rng([n, int(alpha * 100), k_reg])
    probs = softmax(rng, splits * (n + 1), classes)
    # Labels from another distribution than the probabilities say: coverage must not need a calibrated model.
    labels = sample_labels(rng, probs.sqrt() / probs.sqrt().sum(1, keepdim=True))
    scores = conformal.label_scores(probs, labels, torch.from_numpy(rng.random(len(labels))), lam, k_reg)
    scores = scores.view(splits, n + 1)
    taus = torch.tensor([conformal.conformal_threshold(row[:n], alpha) for row in scores])
    covered = int((scores[:, n] <= taus).sum())
    exact = min(conformal.conformal_rank(n, alpha) / (n + 1), 1.0)
    assert exact >= 1 - alpha
    low, high = stats.binom.interval(0.9999, splits, exact)
    assert low <= covered <= high


@pytest.mark.parametrize(("n", "alpha"), [(20, 0.1), (40, 0.2)])
def test_cross_conformal_coverage(n, alpha):
    """CV+ promises 1 - 2 alpha and in practice gives 1 - alpha; each fold has a model of its own."""
    splits, classes, folds = 1500, 5, 5
    rng = np.random.default_rng(n)
    covered = 0
    for _ in range(splits):
        truth = softmax(rng, n + 1, classes)
        labels = sample_labels(rng, truth)
        noise = [torch.from_numpy(rng.normal(size=classes) * 0.3) for _ in range(folds)]
        models = [(truth.log() + each).softmax(1) for each in noise]
        u = torch.from_numpy(rng.random(n + 1))
        parts = [torch.arange(fold, n, folds) for fold in range(folds)]
        calibration = [
            conformal.label_scores(models[k][rows], labels[rows], u[rows], 0.05, 1) for k, rows in enumerate(parts)
        ]
        pool = [conformal.class_scores(models[k][n:], u[n:], 0.05, 1) for k in range(folds)]
        covered += int(conformal.cross_mask(calibration, pool, alpha)[0, labels[n]])
    assert covered / splits >= 1 - alpha - 4 * math.sqrt(alpha * (1 - alpha) / splits)


@given(st.integers(0, 10_000), st.integers(1, 60), st.sampled_from([0.05, 0.1, 0.3, 0.6]))
@settings(deadline=None, max_examples=60)
def test_cross_conformal_with_one_fold_is_split_conformal(seed, n, alpha):
    rng = np.random.default_rng(seed)
    cal, pool = softmax(rng, n, 7), softmax(rng, 30, 7)
    labels, u, v = sample_labels(rng, cal), torch.from_numpy(rng.random(n)), torch.from_numpy(rng.random(30))
    scores = conformal.label_scores(cal, labels, u, 0.05, 2)
    split = conformal.set_mask(pool, v, conformal.conformal_threshold(scores, alpha), 0.05, 2)
    assert torch.equal(split, conformal.cross_mask([scores], [conformal.class_scores(pool, v, 0.05, 2)], alpha))


@given(st.integers(0, 10_000), st.sampled_from([2, 7, 60]), st.sampled_from([0.0, 0.01, 0.3]), st.integers(0, 5))
@settings(deadline=None, max_examples=80)
def test_short_cuts_give_what_all_ranks_give_to_the_last_bit(seed, classes, lam, k_reg):
    """Labels are looked up in sorted rows, and only so many ranks are looked at as the penalty leaves."""
    rng = np.random.default_rng(seed)
    probs = softmax(rng, 40, classes).float()
    labels, u = torch.from_numpy(rng.integers(0, classes, 40)), torch.from_numpy(rng.random(40)).float()
    every = conformal.class_scores(probs, u, lam, k_reg)
    scores = conformal.label_scores(probs, labels, u, lam, k_reg)
    assert torch.equal(scores, every.gather(1, labels[:, None])[:, 0])
    for tau in (float(rng.random() * 2), float(scores[0]), 0.0, -1.0, math.inf):
        assert torch.equal(conformal.set_mask(probs, u, tau, lam, k_reg), every <= tau)


TIED = st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1, max_size=8)


@given(TIED, st.floats(0, 1), st.floats(0, 0.5), st.integers(0, 4), st.floats(0, 2.5), st.floats(0, 2.5))
@settings(deadline=None)
def test_sets_nest_and_are_prefixes_even_with_ties(rows, u, lam, k_reg, tau_1, tau_2):
    weights = torch.tensor(rows, dtype=torch.float64) + 0.5
    probs = weights / weights.sum(1, keepdim=True)
    draws = torch.full((len(rows),), u, dtype=torch.float64)
    small, large = sorted((tau_1, tau_2))
    inner, outer = (conformal.set_mask(probs, draws, tau, lam, k_reg) for tau in (small, large))
    assert not (inner & ~outer).any()
    _, scores = conformal.ranked_scores(probs, draws, lam, k_reg)
    assert (scores.diff(dim=1) >= -1e-12).all()
    assert torch.equal(outer.sum(1), (scores <= large).sum(1))
    # A prefix: nothing inside is less probable than anything outside.
    lowest_in = probs.masked_fill(~outer, math.inf).amin(1)
    highest_out = probs.masked_fill(outer, -math.inf).amax(1)
    assert (lowest_in >= highest_out).all()


@given(TIED, st.floats(0, 1), st.integers(0, 3))
@settings(deadline=None)
def test_a_label_is_in_its_set_exactly_when_its_score_is_at_most_tau(rows, u, label):
    weights = torch.tensor(rows, dtype=torch.float64) + 0.5
    probs = weights / weights.sum(1, keepdim=True)
    draws = torch.full((len(rows),), u, dtype=torch.float64)
    labels = torch.full((len(rows),), label)
    scores = conformal.label_scores(probs, labels, draws, 0.1, 1)
    for tau in scores.tolist():  # the thresholds that calibration can give, equality included
        inside = conformal.set_mask(probs, draws, tau, 0.1, 1)[:, label]
        assert torch.equal(inside, scores <= tau)


def test_sets_do_not_depend_on_the_number_of_threads():
    generator = torch.Generator().manual_seed(0)
    probs = torch.randn(999, 30, generator=generator).softmax(1)
    u, labels = torch.rand(999, generator=generator), torch.randint(30, (999,), generator=generator)
    found = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        found.append((conformal.label_scores(probs, labels, u, 0.05, 2), conformal.set_mask(probs, u, 0.9, 0.05, 2)))
    assert all(map(torch.equal, found[0], found[1]))
    assert all(map(torch.equal, found[0], found[2]))
