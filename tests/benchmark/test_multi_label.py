"""Samples with any number of classes: sets that cover all of them, equations 3, 4, 6 and 7."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from torchmetrics.functional.classification import multilabel_average_precision, multilabel_f1_score

from pseudobench import MULTI, Context, Estimate
from pseudobench.contracts.values import PseudoLabels
from pseudobench.maths import metrics
from pseudobench.maths.conformal import conformal_rank, own_scores
from pseudobench.maths.estimation import estimate_from_samples
from pseudobench.testing import FakePool, fake_folds, fake_sets
from pseudobench_pl import Confidence, HardThreshold
from pseudobench_raps import Platt, Raps, SetArgmax, SetLabeler
from pseudobench_raps.platt import fit_temperature
from pseudobench_sets import Aps, Lac, Scaled, TopK
from pseudobench_ups import Ups

CONTEXT = Context(seed=0, round=1, rounds=3, classes=6, task=MULTI)


def points(count, seed, classes=6):
    """Logits, and labels that are drawn from them."""
    generator = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn(count, classes, generator=generator)
    return logits, torch.bernoulli(logits.sigmoid(), generator=generator).bool()


@pytest.mark.parametrize("predictor", [Raps(), Raps(tune=0.3), Lac(), Aps(), TopK(), Scaled(by="entropy"), Scaled()])
def test_whole_label_sets_are_covered(predictor):
    """Over many draws of calibration points, at least 1 - alpha of the samples are covered, and not by much more."""
    alpha, n, covered = 0.2, 40, []
    predictor = replace(predictor, alpha=alpha)
    for seed in range(150):
        logits, labels = points(n + 60, seed)
        fold = replace(fake_folds()[0], pool=FakePool(logits=logits[:n]), labels=labels[:n])
        context = replace(CONTEXT, seed=seed)
        sets = predictor.calibrate([fold], context).predict([FakePool(logits=logits[n:])], context)
        covered.append(float((sets.mask | ~labels[n:]).all(1).float().mean()))
    error = np.std(covered, ddof=1) / math.sqrt(len(covered))
    left = n if not getattr(predictor, "tune", 0) else n - round(0.3 * n)
    assert np.mean(covered) > 1 - alpha - 4 * error
    if not isinstance(predictor, TopK):  # ranks are often equal, so its sets cover more
        assert np.mean(covered) < conformal_rank(left, alpha) / (left + 1) + 4 * error


def test_a_sample_scores_as_its_worst_label_and_no_label_is_always_inside():
    scores = torch.tensor([[0.1, 0.9, 0.5], [0.3, 0.2, 0.1], [0.4, 0.4, 0.4]])
    labels = torch.tensor([[True, False, True], [False, False, False], [False, True, False]])
    assert own_scores(scores, labels).tolist() == [0.5, -math.inf, pytest.approx(0.4)]


@given(st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_one_label_each_is_the_single_label_score(seed):
    generator = torch.Generator().manual_seed(seed)
    scores, labels = torch.rand(9, 4, generator=generator), torch.randint(4, (9,), generator=generator)
    assert torch.equal(own_scores(scores, labels), own_scores(scores, torch.nn.functional.one_hot(labels, 4).bool()))


def test_equation_3_has_a_threshold_for_every_class():
    estimate = Estimate(torch.tensor([[0.6, 0.5, 0.1], [0.2, 0.3, 0.4]]), torch.zeros(2, 3))
    assert HardThreshold().label(estimate, None, CONTEXT).target.tolist() == [[True, True, False], [False] * 3]
    assert HardThreshold(gamma=0.3).label(estimate, None, CONTEXT).target.tolist() == [
        [True, True, False],
        [False, True, True],
    ]


def test_equation_4_written_out_for_every_class():
    generator = torch.Generator().manual_seed(0)
    probs, u = torch.rand(200, 5, generator=generator), 0.1 * torch.rand(200, 5, generator=generator)
    target = probs >= 0.5
    chosen = Ups(tau_n=0.1, kappa_n=0.04).select(Estimate(probs, u), PseudoLabels(target), None, CONTEXT)
    for i in range(200):
        for c in range(5):
            assert chosen.positive[i, c] == (u[i, c] <= 0.05 and probs[i, c] >= 0.7)
            assert chosen.negative[i, c] == (u[i, c] <= 0.04 and probs[i, c] <= 0.1)
    both = chosen.positive.any(1) & chosen.negative.any(1)
    assert both.any()  # a sample trains through both


def test_plain_pseudo_labels_say_what_is_there_and_what_is_not():
    estimate = Estimate(torch.tensor([[0.9, 0.5, 0.2], [0.1, 0.6, 0.3]]), torch.zeros(2, 3))
    chosen = Confidence(tau=0.8).select(estimate, PseudoLabels(estimate.probs >= 0.5), None, CONTEXT)
    assert chosen.positive.tolist() == [[True, False, False], [False] * 3]
    assert chosen.negative.tolist() == [[False, False, True], [True, False, False]]


@pytest.mark.parametrize("labeler", [SetLabeler(), SetArgmax()])
def test_equation_7_is_the_set(labeler):
    estimate = Estimate(points(30, 0)[0].sigmoid(), torch.zeros(30, 6))
    sets = fake_sets(estimate)
    assert torch.equal(labeler.label(estimate, sets, CONTEXT).target, sets.mask)


@pytest.mark.parametrize("smoothing", [True, False])
def test_the_temperature_is_scipys_optimum(smoothing):
    logits, labels = points(80, 3)
    present, total = int(labels.sum()), labels.numel()
    high = (present + 1) / (present + 2) if smoothing else 1.0
    low = 1 / (total - present + 2) if smoothing else 0.0
    target, z = np.where(labels.numpy(), high, low), 3 * logits.double().numpy()

    def loss(temperature):
        return np.mean(np.logaddexp(0, z / temperature) - target * z / temperature)

    best = optimize.minimize_scalar(loss, bounds=(0.05, 20), method="bounded", options={"xatol": 1e-9}).x
    assert fit_temperature(3 * logits, labels, smoothing=smoothing).temperature == pytest.approx(best, rel=1e-4)
    assert Platt(smoothing=smoothing).fit(logits, labels).temperature > 0


def test_measures_are_those_of_torchmetrics():
    logits, labels = points(300, 1)
    found = metrics.multi_label(logits, labels)
    probs = logits.sigmoid()
    expected = multilabel_average_precision(probs, labels.int(), num_labels=6, average="macro", thresholds=None)
    assert found["map"] == pytest.approx(float(expected), abs=1e-5)
    for average in ("micro", "macro"):
        f1 = multilabel_f1_score(probs, labels.int(), num_labels=6, average=average)
        assert found[f"f1_{average}"] == pytest.approx(float(f1), abs=1e-6)
    assert found["exact_match"] == pytest.approx(float(((probs >= 0.5) == labels).all(1).float().mean()))
    assert sum(found["reliability"]["count"]) == 1800


def test_a_class_that_nobody_has_is_not_counted():
    logits, labels = points(50, 2)
    labels[:, 2] = False
    kept = [0, 1, 3, 4, 5]
    assert metrics.multi_label(logits, labels)["map"] == metrics.multi_label(logits[:, kept], labels[:, kept])["map"]


def test_coverage_by_class_and_by_size_written_out():
    sets = torch.tensor([[1, 1, 0], [1, 0, 0], [0, 0, 0], [1, 1, 1]]).bool()
    truth = torch.tensor([[1, 1, 0], [0, 1, 0], [0, 0, 0], [1, 0, 1]]).bool()
    found = metrics.coverage(sets, truth)
    assert found["coverage"] == 0.75
    assert found["class_coverage"] == [1.0, 0.5, 1.0]
    assert found["by_size"] == [[1, 1], [1, 0], [1, 1], [1, 1]]


def test_negatives_are_judged_by_the_same_probabilities():
    """Eq. 4 as it is printed: nothing is softened for them."""
    logits = torch.randn(4, 10, 3, generator=torch.Generator().manual_seed(0))
    estimate = estimate_from_samples([logits], 2.0, CONTEXT)
    torch.testing.assert_close(estimate.for_negatives.probs, logits.sigmoid().mean(0))
    assert estimate.for_negatives is estimate
