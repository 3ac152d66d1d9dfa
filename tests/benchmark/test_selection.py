"""Labels, selections and losses: reference answers, closed forms, and what must never happen."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pseudobench import Context, Estimate, PluginError, PseudoLabels, Selection, selection
from pseudobench.maths import losses
from pseudobench.maths.estimation import estimate_from_samples, moments
from pseudobench_pl import Confidence, HardThreshold
from pseudobench_raps import SetArgmax, SetLabeler, SetSize, Singleton
from pseudobench_ups import Ups

CONTEXT = Context(seed=0, round=1, rounds=5, classes=10)


def random_case(seed, n=40, classes=6, sharpness=4.0):
    """An estimate with a softened one, and prediction sets, all unrelated to each other."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(5, n, classes, generator=generator) * sharpness
    estimate = estimate_from_samples([logits], 2.0, CONTEXT)
    from pseudobench import PredictionSets

    sets = PredictionSets(torch.rand(n, classes, generator=generator) < 0.3, estimate.probs)
    return estimate, sets


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


def test_equation_5_written_out():
    logits = torch.tensor([[2.0, 0.5, -1.0], [0.0, 1.0, 3.0]], dtype=torch.float64)
    negative = torch.tensor([[False, True, True], [True, False, False]])
    p = logits.softmax(1)
    rows = [-(torch.log(1 - p[0, 1]) + torch.log(1 - p[0, 2])) / 2, -torch.log(1 - p[1, 0])]
    torch.testing.assert_close(losses.negative_cross_entropy(logits, negative), (rows[0] + rows[1]) / 2)


def test_equation_6_written_out():
    logits = torch.tensor([[2.0, 0.5, -1.0], [0.0, 1.0, 3.0]], dtype=torch.float64)
    positive = torch.tensor([[True, False, False], [False, True, True]])
    negative = torch.tensor([[False, True, False], [False, False, False]])
    p = logits.sigmoid()
    rows = [
        -(torch.log(p[0, 0]) + torch.log(1 - p[0, 1])) / 2,
        -(torch.log(p[1, 1]) + torch.log(p[1, 2])) / 2,
    ]
    torch.testing.assert_close(losses.binary_cross_entropy(logits, positive, negative), (rows[0] + rows[1]) / 2)


def test_losses_of_certain_predictions_stay_finite():
    logits = torch.tensor([[1000.0, 0.0]], requires_grad=True)
    loss = losses.negative_cross_entropy(logits, torch.tensor([[True, False]]))
    loss.backward()
    assert loss.isfinite()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()


def test_cross_entropy_on_one_positive_is_torchs_own():
    logits = torch.randn(8, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    labels = torch.arange(8) % 5
    ours = losses.positive_cross_entropy(logits, torch.nn.functional.one_hot(labels, 5).bool())
    torch.testing.assert_close(ours, torch.nn.functional.cross_entropy(logits, labels))


def test_single_label_loss_is_the_sum_of_both_means():
    logits = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    positive = torch.tensor([[1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0]]).bool()
    negative = torch.tensor([[0, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 0]]).bool()  # the first row's is not used
    expected = losses.positive_cross_entropy(logits[[0, 2]], positive[[0, 2]]) + losses.negative_cross_entropy(
        logits[[1]], negative[[1]]
    )
    torch.testing.assert_close(losses.single_label_loss(logits, positive, negative), expected)
