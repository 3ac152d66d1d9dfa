"""Estimates and labels: equations 3, 7 and 9, deviations, and malformed estimates."""

from __future__ import annotations

import pytest
import torch
from made_up_estimates import CONTEXT, random_case

from pseudobench import Estimate, PluginError
from pseudobench.maths.estimation import estimate_from_samples, moments
from pseudobench_pl import HardThreshold
from pseudobench_raps import SetArgmax, SetLabeler, SetSize


def test_batches_of_samples_are_joined_in_order():
    logits = torch.randn(4, 10, 3, generator=torch.Generator().manual_seed(0))
    whole, parts = (
        estimate_from_samples([logits], 2.0, CONTEXT),
        estimate_from_samples([logits[:, :7], logits[:, 7:]], 2.0, CONTEXT),
    )
    assert torch.equal(whole.probs, parts.probs)
    assert torch.equal(whole.for_negatives.uncertainty, parts.for_negatives.uncertainty)


def test_deviation_is_the_unbiased_one():
    probs = torch.tensor([[[0.2, 0.8]], [[0.6, 0.4]], [[0.4, 0.6]]])
    mean, deviation = moments(probs)
    torch.testing.assert_close(mean, torch.tensor([[0.4, 0.6]]))
    torch.testing.assert_close(deviation, torch.tensor([[0.2, 0.2]]))


def test_hard_threshold_is_equation_3():
    estimate = Estimate(torch.tensor([[0.5, 0.3, 0.2], [0.4, 0.4, 0.2]]), torch.zeros(2, 3))
    given_gamma = HardThreshold(gamma=0.3).label(estimate, None, CONTEXT).target
    assert given_gamma.tolist() == [[True, True, False], [True, True, False]]
    assert HardThreshold().label(estimate, None, CONTEXT).target.sum(1).tolist() == [1, 1]


def test_set_argmax_is_equation_9():
    from pseudobench import PredictionSets

    probs = torch.tensor([[0.6, 0.4], [0.6, 0.4], [0.3, 0.7]])
    sets = PredictionSets(torch.tensor([[True, True], [False, True], [False, False]]), probs)
    labels = SetArgmax().label(Estimate(probs, torch.zeros(3, 2)), sets, CONTEXT)
    assert labels.target.tolist() == [[True, False], [False, False], [False, False]]


def test_set_labeler_is_equation_7_and_set_size_counts():
    estimate, sets = random_case(0)
    assert torch.equal(SetLabeler().label(estimate, sets, CONTEXT).target, sets.mask)

    class Fixed:
        def logits(self):
            return estimate.probs.log()

    sized = SetSize().estimate(Fixed(), sets, CONTEXT)
    assert torch.equal(sized.uncertainty[:, 0], sets.mask.sum(1).float())
    assert sized.uncertainty.shape == estimate.probs.shape


@pytest.mark.parametrize(
    ("probs", "uncertainty", "message"),
    [
        (torch.zeros(3), torch.zeros(3), r"shape \[any, any\]"),
        (torch.zeros(3, 2), torch.zeros(3, 3), r"shape \[3, 2\]"),
        (torch.zeros(3, 2), torch.zeros(3, 2).bool(), "must hold float values"),
        (torch.full((3, 2), torch.nan), torch.zeros(3, 2), "NaN"),
    ],
)
def test_malformed_estimates_are_refused(probs, uncertainty, message):
    with pytest.raises(PluginError, match=message):
        Estimate(probs, uncertainty)
