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
    significance._signs.cache_clear()
    drawn = significance.sign_flip_test(values)
    significance._signs.cache_clear()
    assert drawn != exact
    assert drawn == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 20_000))
    assert significance.sign_flip_test([1.0] * 30) == pytest.approx(1 / 20_001)


def test_a_true_null_is_rejected_as_rarely_as_promised():
    """Under the null p <= 0.05 in at most 5 % of samples, here of lopsided pairs that no t test expects."""
    generator = np.random.default_rng(2)
    pairs = generator.exponential(size=(1500, 8, 2))
    rejected = np.mean([significance.sign_flip_test((pair[:, 0] - pair[:, 1]).tolist()) <= 0.05 for pair in pairs])
    assert 0.03 < rejected < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 1500)


def test_p_values_need_six_pairs():
    """With five the smallest possible one is 2 / 32, above 5 %, however many are compared."""
    clear = np.ones((3, significance.SEEDS_NEEDED))
    assert significance.max_t(clear) == pytest.approx([2 / 64] * 3)
    assert np.isnan(significance.max_t(clear[:, 1:])).all()
    assert significance.sign_flip_test([1.0] * 5) > significance.LEVEL


def differences(arms):
    """All pairs of arms, float [K, S]."""
    one, other = np.triu_indices(len(arms), 1)
    return arms[one] - arms[other]


def by_hand(held, signs):
    """Westfall and Young's step-down procedure, pair by pair."""
    squares = (held**2).sum(axis=1)
    scale = np.sqrt(squares + np.median(squares) / 4)
    statistic = {pair: abs(held[pair].sum()) / scale[pair] for pair in range(len(held))}
    left, p_values, largest = sorted(statistic, key=lambda pair: -statistic[pair]), {}, 0.0
    while left:
        pair = left[0]
        reached = sum(
            max(abs((sign * held[each]).sum()) / scale[each] for each in left) >= statistic[pair] - 1e-9
            for sign in signs
        )
        largest = max(largest, reached / len(signs))
        p_values[pair] = largest
        left = left[1:]
    return [p_values[pair] for pair in range(len(held))]


def test_corrected_p_values_are_those_of_the_procedure_by_hand():
    held = differences(np.random.default_rng(3).normal(size=(5, 7)) + np.arange(5)[:, None] / 2)
    signs = [np.array(sign) for sign in itertools.product((1, -1), repeat=7)]
    assert significance.max_t(held) == pytest.approx(by_hand(held, signs))


@given(st.integers(2, 4), st.integers(6, 8), st.integers(0, 1000))
def test_corrected_p_values_are_not_below_the_plain_ones_and_know_no_scale_sign_or_order(arms, seeds, seed):
    held = differences(np.random.default_rng(seed).normal(size=(arms, seeds)).round(1))
    corrected = significance.max_t(held)
    plain = np.array([significance.sign_flip_test(row) for row in held])
    assert (corrected >= plain - 1e-12).all()
    assert significance.max_t(-held) == pytest.approx(corrected)
    assert significance.max_t(1000 * held) == pytest.approx(corrected)
    assert significance.max_t(held[:, ::-1]) == pytest.approx(corrected)
    assert significance.max_t(held[:1])[0] == pytest.approx(plain[0])


def test_seeds_that_a_pair_lacks_are_left_out_of_it_alone():
    held = differences(np.random.default_rng(4).normal(size=(3, 9)))
    alone = significance.max_t(held[:1, :7])
    held[1:, 3:] = np.nan  # too few for a test: no part of the family
    held[0, 7:] = np.nan
    found = significance.max_t(held)
    assert found[0] == pytest.approx(alone[0])
    assert np.isnan(found[1:]).all()


def test_many_seeds_are_drawn_and_come_out_the_same(monkeypatch):
    held = differences(np.random.default_rng(5).normal(size=(4, 12)) + np.arange(4)[:, None] / 2)
    exact = significance.max_t(held)
    monkeypatch.setattr(significance, "EXACT", 11)
    significance._signs.cache_clear()
    drawn = significance.max_t(held)
    assert (drawn != exact).any()
    assert drawn == pytest.approx(exact, abs=4 * math.sqrt(0.25 / 20_000))
    assert significance.max_t(np.ones((1, 30)))[0] == pytest.approx(1 / 20_001)
    significance._signs.cache_clear()


def test_pairs_that_never_differ_have_no_small_p_value():
    assert list(significance.max_t(np.zeros((2, 8)))) == [1.0, 1.0]
    mixed = np.stack([np.zeros(8), np.ones(8)])
    assert list(significance.max_t(mixed)) == [1.0, 2 / 2**8]


@pytest.mark.parametrize("better", [0, 4])
def test_equal_arms_are_called_different_in_at_most_5_percent_of_families(better):
    """Eight arms, eight seeds: all equal, or half of them clearly better. Errors within each half are what counts.

    Noise is lopsided and of two sizes, and seeds differ far more than arms.
    """
    generator, families = np.random.default_rng(6), 600
    shift = np.where(np.arange(8) < better, 4.0, 0.0)[:, None]
    scale = np.where(np.arange(8) % 2, 1.0, 2.0)[:, None]
    one, other = np.triu_indices(8, 1)
    equal = shift[one, 0] == shift[other, 0]
    wrong, found = 0, []
    for _ in range(families):
        arms = shift + scale * generator.gumbel(size=(8, 8)) + 10 * generator.normal(size=8)
        p_values = significance.max_t(arms[one] - arms[other])
        wrong += bool((p_values[equal] <= 0.05).any())
        found.append((p_values[~equal] <= 0.05).mean() if better else 0.0)
    assert wrong / families <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / families)
    assert np.mean(found) > (0.4 if better else -1)


def shares(different):
    """Which pairs share a letter."""
    given_letters = significance.letters(different)
    return [[bool(set(one) & set(other)) for other in given_letters] for one in given_letters]


@given(
    st.integers(1, 7).flatmap(lambda n: st.tuples(st.just(n), st.lists(st.booleans(), min_size=n * n, max_size=n * n)))
)
def test_arms_share_a_letter_exactly_if_they_are_not_different(drawn):
    n, flags = drawn
    different = np.triu(np.array(flags).reshape(n, n), 1)
    different = different | different.T
    assert shares(different) == (~different).tolist()
    assert significance.letters(different)[0].startswith("a")


def test_letters_by_hand():
    """The middle one is like both ends, which differ."""
    different = np.array([[False, False, True], [False, False, False], [True, False, False]])
    assert significance.letters(different) == ["a", "ab", "b"]


@pytest.mark.parametrize(("seed_effect", "sample_effect"), [(0.3, 1.0), (0.02, 2.0)])
def test_intervals_over_seeds_and_samples_cover_as_often_as_they_say(seed_effect, sample_effect):
    """Seeds move all samples, and methods differ from sample to sample: 400 experiments of six seeds, 500 samples."""
    generator, experiments = np.random.default_rng(7), 400

    def right(seeds, samples):
        hard = generator.normal(1, 1.5, samples)
        apart = generator.normal(0, sample_effect, samples)
        moved = generator.normal(0, seed_effect, (2, seeds, 1))
        chance = 1 / (1 + np.exp(-(np.stack([hard + 0.2 + apart / 2, hard - apart / 2])[:, None, :] + moved)))
        return generator.random((2, seeds, samples)) < chance

    one, other = right(2000, 2000)
    truth, covered, narrower = one.mean() - other.mean(), 0, 0
    for _ in range(experiments):
        one, other = right(6, 500)
        half = significance.half_over_seeds_and_samples(one, other)
        over_seeds = significance.mean_of((one.mean(axis=1) - other.mean(axis=1)).tolist()).half
        covered += abs(one.mean() - other.mean() - truth) <= half
        narrower += abs(one.mean() - other.mean() - truth) <= over_seeds
    assert covered / experiments == pytest.approx(0.95, abs=3.5 * math.sqrt(0.95 * 0.05 / experiments))
    assert sample_effect < 2 or narrower / experiments < 0.9  # seeds alone miss what samples do


def test_an_interval_over_samples_that_all_agree_is_that_of_the_seeds():
    """Every sample is as right as its seed: nothing but seeds varies."""
    one = np.repeat([[True], [False], [True], [True]], 50, axis=1)
    other = np.zeros((4, 50), dtype=bool)
    half = significance.half_over_seeds_and_samples(one, other)
    assert half == pytest.approx(significance.mean_of([1.0, 0.0, 1.0, 1.0]).half)
    assert significance.half_over_seeds_and_samples(other, other) == 0.0
