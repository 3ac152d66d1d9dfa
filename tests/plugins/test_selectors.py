"""Selection rules written out by hand, and as runs."""

from __future__ import annotations

import pytest
import torch

from pseudobench import Context, Estimate, PseudoLabels
from pseudobench.maths.selection import argmax_mask
from pseudobench.testing import contract
from pseudobench_selectors import Adaptive, BoundedError, Curriculum, FixedShare, SelfAdaptive, SoftTargets, TopPerClass
from pseudobench_selectors.rules import (
    bounded_error_thresholds,
    flexible_thresholds,
    most_certain,
    most_confident,
    self_adaptive_thresholds,
    top_per_class,
)

PROBS = torch.tensor([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.3, 0.7], [0.45, 0.55], [0.7, 0.3]])


def select(selector, probs=PROBS, round_=1):
    estimate = Estimate(probs, torch.zeros_like(probs))
    labels = PseudoLabels(argmax_mask(probs))
    return selector.select(estimate, labels, None, Context(seed=0, round=round_, rounds=5, classes=probs.shape[1]))


def rows(selection):
    return selection.positive.any(1).nonzero()[:, 0].tolist()


@pytest.mark.parametrize(("round_", "expected"), [(1, [0, 2]), (2, [0, 2, 3, 5]), (3, [*range(6)]), (9, [*range(6)])])
def test_the_curriculum_takes_the_most_confident_and_more_each_round(round_, expected):
    found = select(Curriculum(step=1 / 3), round_=round_)
    assert rows(found) == expected
    assert not found.negative.any()
    assert (found.positive.sum(1) <= 1).all()


def test_the_curriculum_takes_the_share_that_numpy_would(registry):
    probs = torch.rand(500, 7, generator=torch.Generator().manual_seed(0)).softmax(1)
    chosen = select(Curriculum(step=0.2), probs, round_=2).positive.any(1)
    confidence = probs.amax(1)
    assert int(chosen.sum()) == 200
    assert confidence[chosen].min() >= confidence[~chosen].max()


@pytest.mark.parametrize("by", ["confidence", "certainty"])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_a_fixed_share_is_the_one_that_python_sorts_first(share, by):
    """Uncertainties are sizes of sets, so that most are equal to others."""
    draws = torch.Generator().manual_seed(3)
    probs = torch.rand(200, 5, generator=draws).softmax(1)
    sizes = torch.randint(1, 4, (200, 1), generator=draws).float().expand(200, 5)
    labels = PseudoLabels(argmax_mask(probs))
    context = Context(seed=0, round=1, rounds=5, classes=5)
    found = FixedShare(share=share, by=by).select(Estimate(probs, sizes), labels, None, context)

    def place(sample):
        return float(sizes[sample, 0]) if by == "certainty" else 0, -float(probs[sample].max())

    assert rows(found) == sorted(sorted(range(200), key=place)[: round(200 * share)])
    assert not found.negative.any()


def test_top_per_class_is_balanced():
    found = select(TopPerClass(share=2 / 3))
    assert found.positive.sum(0).tolist() == [2, 2]
    assert rows(found) == [0, 2, 3, 4]
    assert rows(select(TopPerClass(share=1.0))) == [0, 2, 3, 4, 5]  # three of class 0, and the two there are of class 1


def test_samples_without_a_label_are_never_chosen():
    target = argmax_mask(PROBS)
    target[0] = False
    assert not most_confident(PROBS, target, 6)[0].any()
    assert not most_certain(PROBS, torch.zeros_like(PROBS), target, 6)[0].any()
    assert not top_per_class(PROBS, target, 6)[0].any()


def test_flexible_thresholds_written_out():
    probs = torch.tensor([[0.9, 0.1]] * 6 + [[0.2, 0.8]] * 3 + [[0.6, 0.4]])
    # Six samples are confidently of class 0, three of class 1, one of neither: 1 and 1/2, by x / (2 - x).
    torch.testing.assert_close(flexible_thresholds(probs, 0.7), torch.tensor([0.7, 0.7 * 0.5 / 1.5]))
    # At first nobody is confident: all thresholds are 0, and FlexMatch begins with everything.
    assert flexible_thresholds(torch.full((4, 2), 0.5), 0.7).tolist() == [0, 0]


def test_adaptive_selects_by_class():
    probs = torch.tensor([[0.9, 0.1]] * 6 + [[0.2, 0.8]] * 3 + [[0.6, 0.4], [0.45, 0.55]])
    assert rows(select(Adaptive(tau=0.7), probs)) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 10]


@pytest.mark.parametrize("check", [*contract(SelfAdaptive), *contract(BoundedError), *contract(SoftTargets)], ids=str)
def test_contract(check):
    check()


def test_self_adaptive_thresholds_written_out():
    # Confidences 0.9 0.6 0.8 0.7 0.55 0.7: mean 4.25 / 6. Mean probabilities 3.75 and 2.25, over 6.
    expected = torch.tensor([4.25 / 6, 4.25 / 6 * 2.25 / 3.75])
    torch.testing.assert_close(self_adaptive_thresholds(PROBS), expected)
    assert rows(select(SelfAdaptive())) == [0, 2, 3, 4]


def test_bounded_error_thresholds_written_out():
    probs = torch.tensor([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4], [0.1, 0.9], [0.2, 0.8], [0.3, 0.7]])
    truth = torch.tensor([0, 0, 1, 0, 0, 1, 1])
    # Class 0: errors from the top are 0, 0, 1/3, 1/4. Class 1: 1, 1/2, 1/3.
    plain = bounded_error_thresholds(probs, truth, 0.3, 0.0, 1)
    assert plain.tolist() == [pytest.approx(0.6), float("inf")]
    # One deviation more: 1/4 + sqrt(3/16/4) = 0.47.
    assert bounded_error_thresholds(probs, truth, 0.3, 1.0, 1).tolist() == [pytest.approx(0.8), float("inf")]
    assert bounded_error_thresholds(probs, truth, 0.3, 1.0, 3).tolist() == [float("inf")] * 2


def test_the_error_above_bounded_error_thresholds_is_near_the_bound():
    """Near, and not at most: the lowest of many thresholds that pass is an optimistic choice."""
    generator = torch.Generator().manual_seed(0)
    probs = (torch.randn(40_000, 4, generator=generator) * 2).softmax(1)
    truth = torch.multinomial(probs, 1, generator=generator)[:, 0]
    found = bounded_error_thresholds(probs[:4000], truth[:4000], 0.1, 1.0, 10)
    confidence, label = probs[4000:].max(1)
    chosen = confidence >= found[label]
    errors = (label != truth[4000:])[chosen].double().mean()
    assert 0.08 < errors < 0.115
    assert chosen.double().mean() > 0.2


def test_soft_labels_are_whole_distributions_of_confident_samples():
    found = select(SoftTargets(tau=0.6))
    assert rows(found) == [0, 1, 2, 3, 5]
    torch.testing.assert_close(found.target, PROBS)
