"""Class balancing of a selection against sorting each class by itself."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_estimates import CONTEXT, random_case

from pseudobench import Context, Estimate, selection
from pseudobench_pl import HardThreshold
from pseudobench_ups import Ups


def test_balancing_keeps_the_surest_of_each_class():
    positive = torch.tensor([[1, 0], [1, 0], [1, 0], [0, 1], [0, 0]]).bool()
    estimate = Estimate(torch.full((5, 2), 0.5), torch.tensor([[0.3, 0], [0.1, 0], [0.2, 0], [0, 0.4], [0, 0]]))

    def kept(floor):
        return selection.balance(positive, estimate, floor)[:, 0].nonzero()[:, 0].tolist()

    assert kept(floor=1) == [1]
    assert kept(floor=2) == [1, 2]
    assert torch.equal(selection.balance(positive, estimate, floor=25), positive)


def test_balancing_breaks_ties_by_probability_not_by_place():
    """Set sizes tie all the time; the order of the pool must not decide."""
    probs = torch.tensor([[0.7, 0.3], [0.9, 0.1], [0.8, 0.2], [0.05, 0.95]])
    positive = torch.tensor([[1, 0], [1, 0], [1, 0], [0, 1]]).bool()
    kept = selection.balance(positive, Estimate(probs, torch.ones(4, 2)), floor=1)
    assert kept[:, 0].nonzero()[:, 0].tolist() == [1]


@given(seed=st.integers(0, 10_000), n=st.integers(0, 60), floor=st.integers(1, 8))
@settings(max_examples=60, deadline=None)
def test_balancing_is_sorting_each_class_by_itself(seed, n, floor):
    generator = torch.Generator().manual_seed(seed)
    positive = torch.rand(n, 4, generator=generator) < 0.4
    probs = torch.randint(3, (n, 4), generator=generator) / 4  # so few values that many are equal
    uncertainty = torch.randint(3, (n, 4), generator=generator) / 4
    keep = max(floor, min(positive.sum(0).tolist()))
    expected = torch.zeros(n, 4, dtype=torch.bool)
    for class_ in range(4):
        rows = [row for row in range(n) if positive[row, class_]]
        rows.sort(key=lambda row, c=class_: (float(uncertainty[row, c]), -float(probs[row, c]), row))
        expected[rows[:keep], class_] = True
    assert torch.equal(selection.balance(positive, Estimate(probs, uncertainty), floor), expected)


def test_balancing_ends_after_its_rounds():
    estimate, _ = random_case(3, n=400, sharpness=6)
    labels = HardThreshold().label(estimate, None, CONTEXT)
    counts = {}
    for round_ in (2, 3):
        context = Context(seed=0, round=round_, rounds=5, classes=6)
        rule = Ups(tau_p=0.3, balance_rounds=2, balance_floor=1, kappa_p=1.0)
        counts[round_] = rule.select(estimate, labels, None, context).positive.sum(0)
    assert len(set(counts[2].tolist())) == 1
    assert counts[3].sum() > counts[2].sum()
