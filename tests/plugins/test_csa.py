"""Confident Sinkhorn allocation: the test against scipy's, the transport against a linear program."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import optimize, stats

from pseudobench import Estimate, PseudoLabels
from pseudobench.estimation import moments
from pseudobench.selection import argmax_mask
from pseudobench.testing import contract, fake_context
from pseudobench_csa import Csa, Welch
from pseudobench_csa.allocation import allocate, sinkhorn, welch_p_values


@pytest.mark.parametrize("check", [*contract(Welch), *contract(Csa)], ids=str)
def test_contract(check):
    check()


def test_p_values_are_scipys():
    rng = np.random.default_rng(0)
    passes = torch.from_numpy(rng.normal(size=(10, 200, 5)) * 0.4 + rng.normal(size=(200, 5))).softmax(2)
    mean, deviation = moments(passes)
    found = welch_p_values(mean, deviation, 10)
    for row in range(200):
        first, second = mean[row].argsort(descending=True)[:2].tolist()
        expected = stats.ttest_ind(passes[:, row, first], passes[:, row, second], equal_var=False).pvalue
        assert float(found[row]) == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_passes_that_agree_leave_no_doubt_but_ties_do():
    mean = torch.tensor([[0.8, 0.2], [0.5, 0.5]])
    assert welch_p_values(mean, torch.zeros(2, 2), 10).tolist() == [0, 1]


def test_the_plan_has_its_sums_and_nears_the_cheapest_one():
    rng = np.random.default_rng(1)
    cost = torch.from_numpy(rng.random((6, 4)))
    rows = torch.from_numpy(rng.random(6) + 0.5)
    columns = torch.from_numpy(rng.random(4) + 0.5)
    columns *= rows.sum() / columns.sum()
    plan = sinkhorn(cost, rows, columns, 0.01, 20_000)
    torch.testing.assert_close(plan.sum(1), rows)
    torch.testing.assert_close(plan.sum(0), columns, rtol=1e-5, atol=1e-6)
    constraints = np.vstack([np.kron(np.eye(6), np.ones(4)), np.kron(np.ones(6), np.eye(4))])
    best = optimize.linprog(cost.flatten().numpy(), A_eq=constraints, b_eq=np.r_[rows.numpy(), columns.numpy()])
    assert best.fun <= float((plan * cost).sum()) <= best.fun + 0.01 * np.log(24) * float(rows.sum())


def test_a_class_that_is_favoured_gets_its_share_and_no_more():
    rng = np.random.default_rng(2)
    logits = torch.from_numpy(rng.normal(size=(400, 4)))
    logits[:, 0] += 1  # two thirds of all argmaxes are of class 0
    probs = logits.softmax(1)
    assert int((probs.argmax(1) == 0).sum()) > 200
    everything = torch.ones(400, dtype=torch.bool)
    counts = allocate(probs, everything, 1.0, 0.1, 0.05).sum(0)
    assert (counts <= 110).all()
    assert (counts >= 80).all()
    half = allocate(probs, everything, 0.5, 0.0, 0.05)
    assert (half.sum(0) <= 50).all()
    assert (half.sum(1) <= 1).all()


def test_unsure_and_improbable_samples_are_left_out():
    probs = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.9, 0.1], [0.45, 0.55]])
    doubt = torch.tensor([0.01, 0.01, 0.5, 0.01])
    estimate = Estimate(probs, doubt[:, None].expand_as(probs))
    labels = PseudoLabels(argmax_mask(probs))
    chosen = Csa(step=1.0, slack=1.0, tau=0.6).select(estimate, labels, None, fake_context(2)).positive
    assert chosen.tolist() == [[True, False], [False, True], [False, False], [False, False]]
