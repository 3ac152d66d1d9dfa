"""Selection by conformal p-values: closed forms, scipy's procedure, and the error that theory promises over draws."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harness import make_runner
from pseudobench import Estimate, Fold, PseudoLabels
from pseudobench.experiments.resolving import resolve
from pseudobench.registry.components import installed
from pseudobench.selection import argmax_mask
from pseudobench.testing import contract, fake_context
from pseudobench.testing.fakes import FakePool
from pseudobench_fdr import Fdr
from pseudobench_fdr.p_values import benjamini_hochberg, p_values

CONFIDENCES = st.lists(st.sampled_from([0.1, 0.25, 0.5, 0.75, 0.9, 1.0]), max_size=30)


@pytest.mark.parametrize("check", contract(Fdr), ids=str)
def test_contract(check):
    check()


@given(wrong=CONFIDENCES, scores=CONFIDENCES, right=st.integers(0, 20))
@settings(deadline=None)
def test_p_values_written_out(wrong, scores, right):
    found = p_values(torch.tensor(wrong), torch.tensor(scores), len(wrong) + right)
    expected = [(1 + sum(w >= s for w in wrong)) / (1 + len(wrong) + right) for s in scores]
    assert found.tolist() == pytest.approx(expected, abs=1e-15)


@given(p=st.lists(st.floats(1e-6, 1), max_size=40), q=st.sampled_from([0.05, 0.1, 0.3, 0.7]))
@settings(deadline=None)
def test_the_procedure_is_scipys(p, q):
    found = benjamini_hochberg(torch.tensor(p, dtype=torch.float64), q)
    adjusted = stats.false_discovery_control(p, method="bh") if p else np.array([])
    near = np.abs(adjusted - q) < 1e-12  # rounding may decide there
    assert (found.numpy() == (adjusted <= q))[~near].all()


def draw(rng, count, sharpness):
    """Logits, and labels that they predict with errors: confident predictions are wrong less often."""
    logits = torch.from_numpy(rng.normal(size=(count, 4)) * sharpness)
    flat = (logits * 0.7).softmax(1)  # the network is too sure of itself
    return logits, torch.multinomial(flat, 1, generator=torch.Generator().manual_seed(int(rng.integers(2**31))))[:, 0]


def select(selector, calibration, pool):
    fold = Fold(FakePool(logits=calibration[0]), calibration[1], FakePool(logits=pool[0]))
    probs = pool[0].softmax(1)
    context = fake_context(4, calibration=[fold])
    estimate = Estimate(probs, torch.zeros_like(probs))
    return selector.select(estimate, PseudoLabels(argmax_mask(probs)), None, context).positive


@pytest.mark.parametrize("q", [0.1, 0.2, 0.3])
@pytest.mark.parametrize("count", ["all", "wrong"])
@pytest.mark.parametrize("n", [30, 200])
def test_the_share_of_wrong_labels_is_at_most_q_over_many_draws(q, count, n):
    rng, shares, selected = np.random.default_rng(0), [], 0
    for _ in range(400):
        points, pool = draw(rng, n, 2.0), draw(rng, 150, 2.0)
        positive = select(Fdr(q=q, count=count), points, pool)
        chosen = positive.any(1)
        wrong = ~positive.gather(1, pool[1][:, None])[:, 0] & chosen
        shares.append(float(wrong.sum()) / max(int(chosen.sum()), 1))
        selected += int(chosen.sum())
    error = np.std(shares, ddof=1) / math.sqrt(len(shares))
    assert np.mean(shares) <= q + 3 * error
    if count == "all" and n == 200 and q > 0.1:
        assert np.mean(shares) >= q - 0.05  # it is not safe by selecting next to nothing
        assert selected > 400 * 15


def test_dividing_by_all_points_selects_at_least_as_much():
    rng = np.random.default_rng(1)
    points, pool = draw(rng, 200, 2.0), draw(rng, 500, 2.0)
    more, less = (select(Fdr(q=0.2, count=count), points, pool) for count in ("all", "wrong"))
    assert not (less & ~more).any()
    assert more.sum() > less.sum()


def test_without_wrong_points_everything_or_nothing_is_selected():
    logits = 5 * torch.eye(4).repeat(5, 1).double()
    right = (logits, logits.argmax(1))
    assert select(Fdr(q=0.1), right, right).any(1).all()  # 1/21 is below q
    few = (logits[:4], right[1][:4])
    assert not select(Fdr(q=0.1), few, right).any()  # 1/5 is not: four points can't show an error below a tenth


@pytest.mark.parametrize(("method", "points"), [("fdr", 25), ("fdr-cross", 100), ("softmatch-fdr", 100)])
def test_as_runs(tmp_path, method, points):
    plugins, registry = installed()
    spec = resolve(
        registry,
        method=method,
        dataset="digits",
        seed=0,
        labels=100,
        settings={"loop.rounds": 1, "recipe.epochs": 4, "recipe.steps": 10, "fdr.q": 0.2, "calibration.folds": 3},
    )
    (record,) = make_runner(tmp_path, registry, plugins).run([spec])
    assert record["status"] == "done", record["error"]
    assert record["rounds"][1]["selection"]["calibration_points"] == points
