"""Statistics against scipy, closed forms, and what theory promises."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pseudobench.maths import significance

SHARES = st.floats(0, 1, allow_subnormal=False)
PAIRS = st.lists(st.tuples(SHARES, SHARES), min_size=6, max_size=9)


def sample(n, seed=0, shift=0.0):
    generator = np.random.default_rng(seed)
    return (generator.normal(shift, 1, n)).tolist()


@pytest.mark.parametrize("n", [2, 3, 10, 50])
def test_intervals_are_scipys(n):
    values = sample(n)
    found = significance.mean_of(values)
    low, high = stats.t.interval(0.95, n - 1, loc=np.mean(values), scale=stats.sem(values))
    assert (found.mean - found.half, found.mean + found.half) == pytest.approx((low, high), rel=1e-12)


def test_means_of_one_value_and_of_none():
    assert significance.mean_of([0.5]).mean == 0.5
    assert math.isnan(significance.mean_of([0.5]).half)
    assert significance.mean_of([]).n == 0


def test_intervals_cover_as_often_as_they_say():
    """2,000 samples of six: 95 % of them, give or take three standard errors of such a count."""
    draws = np.random.default_rng(1).normal(0.3, 2, size=(2000, 6))
    means = [significance.mean_of(row.tolist()) for row in draws]
    covered = sum(abs(each.mean - 0.3) <= each.half for each in means) / 2000
    assert covered == pytest.approx(0.95, abs=3 * math.sqrt(0.95 * 0.05 / 2000))


@pytest.mark.parametrize("n", [6, 8, 10])
@pytest.mark.parametrize("shift", [0.0, 0.7])
def test_the_sign_flip_test_is_scipys_permutation_test(n, shift):
    values = sample(n, seed=n, shift=shift)
    theirs = stats.permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=np.inf, vectorized=True, alternative="two-sided"
    )
    assert significance.sign_flip_test(values) == pytest.approx(theirs.pvalue, rel=1e-12)


def test_the_sign_flip_test_by_hand():
    """Of the 8 choices of signs of 1, 2, 3 the sums 6, 4, -4, -6 are at least as far from zero as 4."""
    assert significance.sign_flip_test([-1, 2, 3]) == 4 / 8
    assert significance.sign_flip_test([0.1] * 10) == 2 / 2**10
    assert significance.sign_flip_test([0.0] * 10) == 1.0


def test_equal_sums_count_whatever_their_rounding():
    """0.1 + 0.2 is not 0.3 on a computer; every arrangement of these has the same size as some other."""
    values = [0.1, 0.2, 0.3, 0.1, 0.2, 0.3]
    whole = [1, 2, 3, 1, 2, 3]
    for signs in itertools.product((1, -1), repeat=6):
        ours = significance.sign_flip_test([sign * value for sign, value in zip(signs, values, strict=True)])
        assert ours == significance.sign_flip_test([sign * value for sign, value in zip(signs, whole, strict=True)])


def test_many_pairs_are_drawn_and_come_out_the_same(monkeypatch):
    values = sample(12, shift=0.5)
    exact = significance.sign_flip_test(values)
    monkeypatch.setattr(significance, "EXACT", 11)
    drawn = significance.sign_flip_test(values)
    assert drawn != exact
    assert drawn == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 20_000))
    assert drawn == significance.sign_flip_test(values)
    assert significance.sign_flip_test([1.0] * 30) == pytest.approx(1 / 20_001)


def test_a_true_null_is_rejected_as_rarely_as_promised():
    """Under the null p <= 0.05 in at most 5 % of samples, here of lopsided pairs that no t test expects."""
    generator = np.random.default_rng(2)
    pairs = generator.exponential(size=(1500, 8, 2))
    rejected = np.mean([significance.sign_flip_test((pair[:, 0] - pair[:, 1]).tolist()) <= 0.05 for pair in pairs])
    assert 0.03 < rejected < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 1500)


@pytest.mark.parametrize("shift", [0.0, 0.5, 3.0])
def test_the_t_test_is_scipys(shift):
    ours = significance.compare_pairs(sample(7, 1, shift), sample(7, 2))
    theirs = stats.ttest_rel(sample(7, 1, shift), sample(7, 2))
    assert ours.p_t == pytest.approx(theirs.pvalue, rel=1e-9)
    assert ours.difference.mean - ours.difference.half == pytest.approx(theirs.confidence_interval().low)


def test_differences_without_spread_have_a_p_value():
    assert significance.compare_pairs([0.5, 0.75], [0.25, 0.5]).p_t == 0.0
    assert significance.compare_pairs([0.5, 0.75], [0.5, 0.75]).p_t == 1.0


@given(PAIRS)
def test_exchanging_the_sides_turns_the_sign_alone(pairs):
    one, other = zip(*pairs, strict=True)
    here, there = significance.compare_pairs(one, other), significance.compare_pairs(other, one)
    assert here.difference.mean == -there.difference.mean
    assert here.difference.half == there.difference.half
    assert here.p == there.p


def test_p_values_need_six_pairs():
    """With five the smallest possible one is 2 / 32, above 5 %."""
    assert significance.seeds_needed() == 6
    assert significance.compare_pairs(sample(5, 1, 9), sample(5, 2)).p is None
    assert significance.compare_pairs(sample(6, 1, 9), sample(6, 2)).p == 2 / 64


@given(st.integers(1, 200))
def test_seeds_needed_are_the_fewest_that_can_do(comparisons):
    needed = significance.seeds_needed(comparisons)
    clearest = [significance.sign_flip_test([1.0] * seeds) for seeds in (needed, needed - 1)]
    assert significance.holm([clearest[0]] * comparisons)[0] <= 0.05
    assert significance.holm([clearest[1]] * comparisons)[0] > 0.05


def test_holm_by_hand():
    """The example of Holm's procedure: 4 x 0.01, then 3 x 0.02, 2 x 0.03 and 1 x 0.04, none below the one before."""
    assert significance.holm([0.03, 0.01, 0.04, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert significance.holm([0.5, 0.6]) == [1.0, 1.0]
    assert significance.holm([]) == []


@given(st.lists(SHARES, max_size=8), st.randoms())
def test_holm_keeps_the_order_and_lies_between_nothing_and_bonferroni(p_values, random):
    corrected = significance.holm(p_values)
    for one, other in itertools.combinations(range(len(p_values)), 2):
        if p_values[one] <= p_values[other]:
            assert corrected[one] <= corrected[other]
    for raw, held in zip(p_values, corrected, strict=True):
        assert raw <= held <= min(1.0, len(p_values) * raw)
    order = random.sample(range(len(p_values)), len(p_values))
    assert significance.holm([p_values[place] for place in order]) == [corrected[place] for place in order]
