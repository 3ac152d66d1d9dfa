"""Selection rules written out by hand, and as runs."""

from __future__ import annotations

import pytest
import torch

from pseudobench import Context, Estimate, PseudoLabels
from pseudobench.maths.selection import argmax_mask
from pseudobench_selectors import Adaptive, Curriculum, TopPerClass
from pseudobench_selectors.rules import flexible_thresholds, most_confident, top_per_class

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


def test_top_per_class_is_balanced():
    found = select(TopPerClass(share=2 / 3))
    assert found.positive.sum(0).tolist() == [2, 2]
    assert rows(found) == [0, 2, 3, 4]
    assert rows(select(TopPerClass(share=1.0))) == [0, 2, 3, 4, 5]  # three of class 0, and the two there are of class 1


def test_samples_without_a_label_are_never_chosen():
    target = argmax_mask(PROBS)
    target[0] = False
    assert not most_confident(PROBS, target, 6)[0].any()
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
