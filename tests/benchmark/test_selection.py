"""Selections: reference answers, equation 4, and what must never happen."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_estimates import CONTEXT, random_case

from pseudobench import Estimate, PluginError, PseudoLabels, Selection, selection
from pseudobench.maths.estimation import estimate_from_samples
from pseudobench_pl import Confidence, HardThreshold
from pseudobench_raps import SetArgmax, SetLabeler, Singleton
from pseudobench_ups import Ups


@pytest.mark.parametrize("case", [f"ups{i}" for i in range(4)])
def test_reference_positives_and_negatives(case, reference):
    given_ = reference(case)
    estimate = estimate_from_samples([given_["pass_logits"]], float(given_["negative_temperature"]), CONTEXT)
    labels = HardThreshold().label(estimate, None, CONTEXT)
    names = ("tau_p", "tau_n", "kappa_p", "kappa_n")
    selector = Ups(
        **{name: float(given_[name]) for name in names},
        balance_rounds=int(given_["balanced"]),
        balance_floor=int(given_["balance_floor"]),
    )
    chosen = selector.select(estimate, labels, None, CONTEXT)
    target = torch.where(chosen.positive.any(1), chosen.positive.int().argmax(1), -1)
    assert torch.equal(target, given_["positive_target"])
    assert torch.equal(chosen.negative, given_["negative_mask"])
    assert chosen.positive.any()
    assert chosen.negative.any()


def test_equation_4_includes_its_bounds():
    estimate = Estimate(torch.tensor([[0.75, 0.25]]), torch.tensor([[0.5, 0.25]]))
    rule = Ups(tau_p=0.75, kappa_p=0.5, tau_n=0.25, kappa_n=0.25, balance_rounds=0)
    target = torch.tensor([[True, False]])
    assert selection.confident_positives(estimate, target, 0.75, 0.5).tolist() == [[True, False]]
    assert selection.confident_negatives(estimate, target, 0.25, 0.25).tolist() == [[False, True]]
    assert rule.select(estimate, PseudoLabels(target), None, CONTEXT).positive.tolist() == [[True, False]]


def test_the_most_probable_class_is_never_negative_even_without_a_label():
    """With many classes the largest probability can lie below tau_n, and an empty set gives no label."""
    probs = torch.full((1, 50), 0.0199)
    probs[0, 7] = 1 - probs[0].sum() + probs[0, 7]
    estimate = Estimate(probs, torch.zeros(1, 50))
    negative = selection.confident_negatives(estimate, torch.zeros(1, 50, dtype=torch.bool), 0.05, 0.005)
    assert negative.sum() == 49
    assert not negative[0, 7]


def test_plain_pseudo_labeling_needs_no_second_pass():
    estimate = Estimate(torch.tensor([[0.9, 0.1], [0.6, 0.4]]), torch.zeros(2, 2))
    chosen = Confidence(tau=0.7).select(estimate, HardThreshold().label(estimate, None, CONTEXT), None, CONTEXT)
    assert chosen.positive.tolist() == [[True, False], [False, False]]
    assert not chosen.negative.any()


def test_complement_rules_out_what_is_outside_and_nothing_for_empty_sets():
    estimate, sets = random_case(1)
    nothing = PseudoLabels(torch.zeros_like(sets.mask))
    chosen = Ups(negatives="complement").select(estimate, nothing, sets, CONTEXT)
    empty = ~sets.mask.any(1)
    assert empty.any()
    assert not chosen.negative[empty].any()
    outside = ~sets.mask & ~selection.argmax_mask(estimate.probs)
    assert torch.equal(chosen.negative[~empty], outside[~empty])


def test_negatives_can_be_left_out():
    estimate, sets = random_case(1)
    labels = HardThreshold().label(estimate, None, CONTEXT)
    with_, without = (
        Ups(tau_p=0.4, kappa_p=1, kappa_n=1, negatives=negatives).select(estimate, labels, sets, CONTEXT)
        for negatives in ("improbable", "none")
    )
    assert with_.negative.any()
    assert not without.negative.any()
    assert torch.equal(with_.positive, without.positive)


def test_singleton_takes_exactly_the_one_element_sets():
    estimate, sets = random_case(2)
    chosen = Singleton().select(estimate, SetLabeler().label(estimate, sets, CONTEXT), sets, CONTEXT)
    one = sets.mask.sum(1) == 1
    assert one.any()
    assert torch.equal(chosen.positive[one], sets.mask[one])
    assert not chosen.positive[~one].any()


@given(st.integers(0, 10_000), st.sampled_from([0.2, 0.5, 0.7]), st.sampled_from([0.05, 0.4, 0.9]))
@settings(deadline=None, max_examples=60)
def test_no_selection_holds_a_class_twice_or_trains_a_sample_two_ways(seed, tau_p, tau_n):
    estimate, sets = random_case(seed)
    for labeler in (HardThreshold(), HardThreshold(gamma=0.3), SetLabeler(), SetArgmax()):
        labels = labeler.label(estimate, sets, CONTEXT)
        for selector in (
            Ups(tau_p=tau_p, tau_n=tau_n, kappa_p=1, kappa_n=1),
            Ups(tau_p=tau_p, kappa_p=1, negatives="complement"),
            Singleton(),
            Confidence(tau=tau_p),
        ):
            chosen = selector.select(estimate, labels, sets, CONTEXT)
            assert not (chosen.positive & chosen.negative).any()
            assert not (chosen.positive.any(1) & chosen.negative.any(1)).any()
            assert not (chosen.positive & ~labels.target).any()


def test_a_contradictory_selection_is_refused():
    both = torch.ones(1, 2, dtype=torch.bool)
    with pytest.raises(PluginError, match="both positive and negative"):
        Selection(both, both)
