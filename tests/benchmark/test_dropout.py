"""Dropout drawn 16 bits at a time, against what dropout is defined to be."""

from __future__ import annotations

import math

import pytest
import torch
from scipy import stats
from torch import nn
from torch.nn import functional

from pseudobench.learning.dropout import STEPS, FastDropout, dropout


def ones(*shape):
    return torch.ones(*shape, dtype=torch.float64)


@pytest.mark.parametrize("p", [0.001, 0.3, 0.5, 0.95])
def test_the_right_share_is_dropped_and_the_mean_kept(p):
    torch.manual_seed(0)
    out = dropout(ones(2_000_003), p)
    share = round(p * STEPS) / STEPS
    assert abs(share - p) <= 0.5 / STEPS
    dropped = int((out == 0).sum())
    assert stats.binomtest(dropped, len(out), share).pvalue > 1e-4
    assert out.unique().tolist() == pytest.approx([0, 1 / (1 - share)])
    error = math.sqrt(share / (1 - share) / len(out))
    assert abs(float(out.mean()) - 1) < 4 * error


def test_neighbours_are_independent():
    """Four elements share one random number of 64 bits; every distance up to eight is looked at."""
    torch.manual_seed(1)
    kept = (dropout(ones(1_000_000), 0.5) > 0).double() - 0.5
    for distance in range(1, 9):
        correlation = float((kept[:-distance] * kept[distance:]).mean()) * 4
        assert abs(correlation) < 5 / math.sqrt(len(kept))


def test_draws_repeat_by_seed_and_differ_by_call():
    torch.manual_seed(2)
    first, second = dropout(ones(5000), 0.4), dropout(ones(5000), 0.4)
    torch.manual_seed(2)
    assert torch.equal(dropout(ones(5000), 0.4), first)
    assert not torch.equal(first, second)


def test_gradients_are_the_factors():
    x = torch.randn(500, requires_grad=True)
    out = dropout(x, 0.3)
    out.sum().backward()
    torch.testing.assert_close(x.grad * x, out)


def test_the_order_of_memory_is_kept():
    x = torch.ones(4, 8, 6, 6).contiguous(memory_format=torch.channels_last)
    out = dropout(x, 0.5)
    assert out.is_contiguous(memory_format=torch.channels_last)
    assert 0.3 < float((out == 0).double().mean()) < 0.7


def test_nothing_is_dropped_outside_training_or_at_rate_0_and_all_at_1():
    x = torch.randn(100)
    assert dropout(x, 0.5, training=False) is x
    assert dropout(x, 0.0) is x
    assert not dropout(x, 1.0).any()


def test_it_takes_the_place_of_torchs_inside_modules():
    torch.manual_seed(3)
    layer, x = nn.Dropout(0.5), torch.ones(1000)
    with FastDropout():
        inside, called = layer(x), functional.dropout(x, 0.5, True)
    torch.manual_seed(3)
    assert torch.equal(inside, dropout(x, 0.5))
    assert torch.equal(called, dropout(x, 0.5))
    torch.manual_seed(3)
    assert not torch.equal(layer(x), inside)


def test_a_shared_mask_is_the_same_for_all_samples_and_new_in_each_pass():
    torch.manual_seed(4)
    x = torch.randn(6, 500)
    first, second = (dropout(x, 0.3, shared=True) for _ in range(2))
    kept = first != 0
    assert kept[0].tolist() == kept[5].tolist()
    assert stats.binomtest(int((~kept[0]).sum()), 500, 0.3).pvalue > 1e-4
    torch.testing.assert_close(first[kept], (x / (1 - round(0.3 * STEPS) / STEPS))[kept])
    assert not torch.equal(kept, second != 0)


def test_torchs_own_is_back_after_an_error():
    own = functional.dropout
    with pytest.raises(ValueError, match="inside"), FastDropout(shared=True):
        raise ValueError("inside")
    assert functional.dropout is own
