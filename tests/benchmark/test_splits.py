"""Splits: balanced, disjoint, the same for every method, and fixed for all time."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pseudobench import BenchError, Dataset
from pseudobench.experiments.resolving import resolve
from pseudobench.experiments.splits import (
    apportion,
    check_budget,
    evaluated,
    make_folds,
    make_split,
    split_for,
    with_imbalance,
    with_validation,
)
from pseudobench_vision import Digits

LABELS = [index % 4 for index in range(120)]


@given(st.integers(1, 10), st.integers(0, 5), st.integers(0, 10))
@settings(deadline=None)
def test_parts_are_disjoint_complete_and_balanced(per_class, seed, held_out):
    held_out = min(held_out, 4 * per_class)
    split = make_split("made-up", LABELS, budget=4 * per_class, seed=seed, held_out=held_out)
    parts = (split.labeled, split.calibration, split.unlabeled)
    assert sorted(sum(parts, ())) == list(range(120))
    known = Counter(LABELS[index] for index in split.labeled + split.calibration)
    assert set(known.values()) == {per_class}
    held = Counter(LABELS[index] for index in split.calibration)
    assert len(split.calibration) == held_out
    if held:
        assert max(held.values()) - min(held[label] for label in range(4)) <= 1


def test_methods_share_labels_and_pool_whether_they_calibrate_or_not():
    plain, held = (make_split("made-up", LABELS, budget=40, seed=3, held_out=count) for count in (0, 8))
    assert set(held.labeled) | set(held.calibration) == set(plain.labeled)
    assert held.unlabeled == plain.unlabeled


def test_larger_budgets_contain_smaller_ones():
    small, large = (make_split("made-up", LABELS, budget=budget, seed=0) for budget in (8, 40))
    assert set(small.labeled) < set(large.labeled)


def test_another_seed_gives_another_split():
    first, second = (make_split("made-up", LABELS, budget=8, seed=seed) for seed in (0, 1))
    assert first.labeled != second.labeled
    assert first.digest != second.digest


def test_splits_never_change():
    """Written down once: a library update must not move a single image."""
    split = make_split("made-up", LABELS, budget=8, seed=0, held_out=4)
    assert split.labeled == (1, 39, 62, 108)
    assert split.calibration == (2, 69, 79, 80)


def test_folds_part_the_labeled_images_evenly():
    split = make_split("made-up", LABELS, budget=40, seed=0)
    folds = make_folds(split.labeled, [LABELS[index] for index in split.labeled], folds=5, name="made-up", seed=0)
    assert sorted(sum(folds, ())) == list(split.labeled)
    for fold in folds:
        assert Counter(LABELS[index] for index in fold) == dict.fromkeys(range(4), 2)


def test_validation_comes_out_of_the_training_images():
    data = Digits().load(None)  # type: ignore[arg-type]
    validation = with_validation(data)
    assert len(validation.train_labels) + len(validation.test_labels) == len(data.train_labels)
    train = {image.numpy().tobytes() for image in data.train_images}
    assert all(image.numpy().tobytes() in train for image in validation.test_images)


def test_digits_are_what_is_declared():
    data = Digits().load(None)  # type: ignore[arg-type]
    assert (len(data.train_labels), len(data.test_labels)) == (Digits.train_size, Digits.test_size)
    assert data.train_images.shape[1:] == (1, 8, 8)
    assert data.train_images.max() == 255
    assert set(data.train_labels.tolist()) == set(range(10)) == set(data.test_labels.tolist())
    shares = torch.bincount(data.test_labels) / torch.bincount(torch.cat([data.train_labels, data.test_labels]))
    assert ((shares - 1 / 3).abs() < 0.01).all()


def test_a_dataset_checks_its_shapes():
    images, labels = torch.zeros(4, 1, 2, 2, dtype=torch.uint8), torch.zeros(4, dtype=torch.int64)
    good = {"train_images": images, "train_labels": labels, "test_images": images, "test_labels": labels}
    Dataset("fine", 2, **good)
    for broken in (
        {"train_images": images.float()},
        {"test_labels": labels[:3]},
        {"train_labels": labels.float()},
    ):
        with pytest.raises(Exception, match=next(iter(broken)).split("_")[0]):
            Dataset("broken", 2, **{**good, **broken})


# Long-tailed data


def tailed(counts=(100, 100, 100, 100, 100)):
    labels = torch.cat([torch.full((count,), label) for label, count in enumerate(counts)])
    images = torch.arange(len(labels)).view(-1, 1).float()
    return Dataset("made-up", len(counts), images, labels, images[:10], labels[:10])


@pytest.mark.parametrize("imbalance", [0.01, 0.1, 0.5])
def test_classes_keep_the_share_of_their_rank(imbalance):
    data = with_imbalance(tailed(), imbalance)
    expected = [round(100 * imbalance ** (rank / 4)) for rank in range(5)]
    assert torch.bincount(data.train_labels).tolist() == expected
    assert torch.equal(data.test_images, tailed().test_images)
    assert all(tailed().train_labels[int(image)] == label for image, label in zip(*training(data), strict=True))


def training(data):
    return data.train_images[:, 0], data.train_labels


def test_a_longer_tail_is_part_of_a_shorter_one():
    kept = [set(with_imbalance(tailed(), share).train_images[:, 0].tolist()) for share in (0.01, 0.1, 0.9)]
    assert kept[0] < kept[1] < kept[2]
    assert len(set(with_imbalance(tailed((3, 3, 3)), 0.01).train_labels.tolist())) == 3  # one at least


@given(st.integers(5, 60), st.floats(0.005, 0.99), st.integers(0, 3), st.floats(0, 0.5))
@settings(deadline=None)
def test_labels_are_as_long_tailed_as_the_samples(budget, imbalance, seed, share):
    strata = with_imbalance(tailed(), imbalance).strata
    try:
        check_budget("made-up", strata, budget, imbalance)
    except BenchError:
        return
    held = min(round(share * budget), budget - 5)
    split = make_split("made-up", strata, budget=budget, seed=seed, held_out=held, imbalance=imbalance)
    assert len(split.labeled) + len(split.calibration) == budget or budget == len(strata)
    assert len(split.calibration) == held
    known = Counter(strata[index] for index in split.labeled + split.calibration)
    trained = Counter(strata[index] for index in split.labeled)
    assert set(trained) == set(range(5))
    assert all(known[rank] >= known[rank + 1] for rank in range(4))
    if budget != len(strata):
        total = sum(imbalance ** (rank / 4) for rank in range(5))
        quotas = [budget * imbalance ** (rank / 4) / total for rank in range(5)]
        assert all(known[rank] <= max(quota + 2, 1) for rank, quota in enumerate(quotas))


def test_seats_of_a_parliament():
    """The example of Sainte-Lague's method in the handbooks: 53,000, 24,000 and 23,000 votes for 7 seats."""
    assert apportion(7, {0: 53_000, 1: 24_000, 2: 23_000}) == {0: 3, 1: 2, 2: 2}
    assert apportion(7, {0: 53_000, 1: 24_000, 2: 23_000}, at_most={0: 2, 1: 9, 2: 9}) == {0: 2, 1: 3, 2: 2}
    assert apportion(4, {0: 1000, 1: 1, 2: 1}, at_least=1) == {0: 2, 1: 1, 2: 1}


def test_imbalance_is_part_of_a_run_and_old_run_ids_stay(registry):
    plain, tail = (
        resolve(registry, method="pl", dataset="digits", seed=0, settings=settings)
        for settings in ({}, {"data.imbalance": 0.1})
    )
    assert "data" not in plain.settings
    assert tail.settings["data"] == {"imbalance": 0.1}
    assert plain.run_id != tail.run_id
    data = Digits().load(None)
    before, after = (split_for(spec, evaluated(spec, data)) for spec in (plain, tail))
    assert before.digest != after.digest
    assert before == make_split("digits", data.strata, budget=40, seed=0)


def test_runs_on_long_tailed_data(bench):
    digits = ("run", "--preset", "smoke", "--seeds", "1", "--methods", "supervised,pl,ups-raps", "--imbalance")
    outcome = bench(*digits, "0.05", "--labels", "60")
    assert outcome.code == 0, outcome.err
    assert "data.imbalance=0.05" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--imbalance", "2"), r"data.imbalance: '2' is not a number in (0, 1) or none"),
        (("--imbalance", "0"), r"data.imbalance: '0' is not a number in (0, 1) or none"),
        (("--imbalance", "0.1", "--dataset", "digits-grid"), "a sample of digits-grid can have several classes"),
        (("--imbalance", "0.01", "--labels", "1000"), "--labels 1000: with --imbalance 0.01 class 0 of digits keeps"),
        (("--imbalance", "0.1", "--methods", "supervised,pl", "--labels", "491"), "all of digits is labeled, and 'pl'"),
        (("--imbalance", "0.01", "--labels", "5"), "digits has 10 classes and each needs a label"),
    ],
)
def test_long_tails_that_can_not_be(bench, arguments, message):
    outcome = bench("run", *(() if "--methods" in arguments else ("--methods", "pl")), *arguments)
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.count("\n") == 1
