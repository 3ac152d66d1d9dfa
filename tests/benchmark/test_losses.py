"""The losses: equations 5 and 6, weights and soft labels, and the weights and soft labels a selection may hold."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pseudobench import PluginError, Selection
from pseudobench.maths import losses
from pseudobench.maths.losses import binary_cross_entropy, single_label_loss


def batch(seed, count=7, classes=4):
    draws = torch.Generator().manual_seed(seed)
    logits = torch.randn(count, classes, generator=draws)
    positive = torch.nn.functional.one_hot(torch.randint(0, classes, (count,), generator=draws), classes).bool()
    return logits, positive, draws


@given(st.integers(0, 1000))
def test_a_hard_target_is_the_hard_label(seed):
    logits, positive, _ = batch(seed)
    none = torch.zeros_like(positive)
    hard = single_label_loss(logits, positive, none)
    torch.testing.assert_close(single_label_loss(logits, positive, none, target=positive.float()), hard)
    torch.testing.assert_close(hard, torch.nn.functional.cross_entropy(logits, positive.int().argmax(1)))
    both = binary_cross_entropy(logits, positive, ~positive)
    torch.testing.assert_close(binary_cross_entropy(logits, positive, ~positive, target=positive.float()), both)


@given(st.integers(0, 1000))
def test_soft_targets_are_torchs_cross_entropy_with_probabilities(seed):
    logits, positive, draws = batch(seed)
    target = torch.rand(logits.shape, generator=draws).softmax(1)
    found = single_label_loss(logits, positive, torch.zeros_like(positive), target=target)
    torch.testing.assert_close(found, torch.nn.functional.cross_entropy(logits, target))


@given(st.integers(0, 1000))
def test_weights_multiply_each_samples_loss_and_the_mean_divides_by_their_number(seed):
    logits, positive, draws = batch(seed)
    negative = torch.zeros_like(positive)
    positive[:3], negative[:3] = False, positive[:3].clone()  # three samples with negatives alone
    weight = torch.rand(len(logits), generator=draws) * 2
    for loss in (single_label_loss, binary_cross_entropy):
        each = [loss(logits[i : i + 1], positive[i : i + 1], negative[i : i + 1]) for i in range(len(logits))]
        terms = torch.stack(each) * weight
        wanted = terms.mean() if loss is binary_cross_entropy else terms[:3].mean() + terms[3:].mean()
        torch.testing.assert_close(loss(logits, positive, negative, weight), wanted)
        torch.testing.assert_close(loss(logits, positive, negative, torch.ones(7)), loss(logits, positive, negative))


def test_targets_of_unselected_classes_are_ignored_in_eq_6():
    logits, positive, draws = batch(0)
    negative = torch.zeros_like(positive).index_fill(1, torch.tensor([0]), True) & ~positive
    target = torch.rand(logits.shape, generator=draws)
    other = torch.where(positive | negative, target, 1 - target)
    some, others = (binary_cross_entropy(logits, positive, negative, target=each) for each in (target, other))
    torch.testing.assert_close(some, others)


YES = torch.eye(3).bool()
NO = torch.zeros(3, 3).bool()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"weight": torch.ones(3, 3)}, r"Selection.weight must have shape \[3\], not \[3, 3\]"),
        ({"weight": torch.tensor([1.0, -1.0, 0.0])}, "Selection.weight holds values below 0"),
        ({"weight": torch.tensor([1.0, torch.nan, 0.0])}, "Selection.weight holds NaN or infinite values"),
        ({"weight": torch.ones(3).bool()}, "Selection.weight must hold float values"),
        ({"target": torch.ones(3)}, r"Selection.target must have shape \[3, 3\]"),
        ({"target": 2 * torch.eye(3)}, r"Selection.target holds values outside \[0, 1\]"),
    ],
)
def test_wrong_weights_and_targets_are_refused(fields, message):
    with pytest.raises(PluginError, match=message):
        Selection(YES, NO, **fields)


def test_a_target_sums_to_one_where_it_is_used():
    half = Selection(YES, NO, target=0.5 * torch.eye(3))
    with pytest.raises(PluginError, match="must sum to 1"):
        half.check_target("single-label")
    half.check_target("multi-label")
    first, target = YES & torch.tensor([[True], [False], [False]]), torch.diag(torch.tensor([1.0, 0.5, 0.0]))
    Selection(first, NO, target=target).check_target("single-label")


def test_nothing_can_be_hung_on_a_value():
    with pytest.raises((AttributeError, TypeError)):
        object.__setattr__(Selection(YES, NO), "temperature", 2.0)


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
