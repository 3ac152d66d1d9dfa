"""Splits: balanced, disjoint, the same for every method, and fixed for all time."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pseudobench import Dataset
from pseudobench.experiments.splits import make_folds, make_split, with_validation
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
