"""Rate and batches of a training, step by step, against numbers worked out by hand."""

import math

import pytest
import torch

from pseudobench.contracts.datasets import MULTI
from pseudobench.contracts.settings import Recipe
from pseudobench.learning.training_loop import rate_at
from pseudobench.learning.training_set import Part, Stream, TrainingSet, parts_of, steps_in_pass


def made(labeled: int, positives: int, negatives: int) -> TrainingSet:
    """Samples in the order of a round: labeled, selected with a positive, selected with negatives alone."""
    count = labeled + positives + negatives
    positive = torch.zeros(count, 3, dtype=torch.bool)
    positive[: labeled + positives, 0] = True
    negative = torch.zeros_like(positive)
    negative[labeled + positives :, 1:] = True
    images = torch.zeros(count, 1, 8, 8, dtype=torch.uint8)
    return TrainingSet(images, torch.arange(count), positive, negative, labeled=labeled)


def first_pass(parts: tuple[Part, ...], steps: int) -> torch.Tensor:
    """The first batches, ``int64 [steps, batch]``."""
    stream = Stream(parts, torch.Generator().manual_seed(0))
    return torch.stack([next(stream) for _ in range(steps)])


def test_the_rate_of_the_paper_falls_along_seven_sixteenths_of_a_half_period():
    recipe = Recipe(lr=0.03)
    assert [rate_at(recipe, step / 4) for step in range(4)] == pytest.approx(
        [1.0, math.cos(7 * math.pi / 64), math.cos(7 * math.pi / 32), math.cos(21 * math.pi / 64)]
    )
    assert rate_at(recipe, 1.0) == pytest.approx(0.19509, abs=1e-5)  # the rate never reaches zero


def test_a_triangular_rate_rises_and_falls_on_straight_lines():
    recipe = Recipe(warmup=0.25, decay="linear")
    found = [rate_at(recipe, step / 8) for step in range(9)]
    assert found == pytest.approx([0, 1 / 2, 1, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6, 0])


@pytest.mark.parametrize(
    ("counts", "length", "steps"),
    [((40, 0, 0), 40, 5), ((20, 10, 10), 40, 5), ((8, 2, 30), 60, 8)],
)
def test_mixed_batches_repeat_positives_to_match_negatives(counts, length, steps):
    data, positives = made(*counts), counts[0] + counts[1]
    parts = parts_of(data, 8)
    assert [part.length for part in parts] == [length]
    assert steps_in_pass(parts) == steps
    seen = torch.bincount(first_pass(parts_of(data, length), 1)[0], minlength=40)
    assert seen[positives:].tolist() == [1] * counts[2]
    assert seen[:positives].sum() == length - counts[2]
    assert seen[:positives].max() - seen[:positives].min() <= 1


@pytest.mark.parametrize(
    ("counts", "composition", "steps"),
    [
        # 1,000 positives and 500 negatives: 128 * 500 // 1500 = 42 negatives in every batch, 1500 // 128 = 11 steps.
        ((600, 400, 500), (86, 42), 11),
        # 300 positives are repeated to match 900 negatives: half of each batch, 1800 // 128 = 14 steps.
        ((200, 100, 900), (64, 64), 14),
        # Nothing but labels: 1,000 // 128 = 7 steps, the last 104 samples are dropped.
        ((1000, 0, 0), (128,), 7),
    ],
)
def test_batches_of_ups_have_a_fixed_ratio_and_are_full(counts, composition, steps):
    data = made(*counts)
    parts = parts_of(data, 128, "ups")
    assert tuple(part.count for part in parts) == composition
    assert steps_in_pass(parts, "ups") == steps
    without = first_pass(parts, steps) >= counts[0] + counts[1]
    assert without.sum(1).tolist() == [composition[1] if len(composition) == 2 else 0] * steps


@pytest.mark.parametrize(("batches", "size", "composition"), [("half", 64, (32, 32)), ("beside", 64, (64, 64))])
def test_labeled_samples_are_no_fewer_for_negatives(batches, size, composition):
    """However many pseudo-labels of whichever sign there are, labeled samples have their places in every batch."""
    for counts in ((100, 50, 0), (100, 50, 800), (100, 0, 5)):
        parts = parts_of(made(*counts), size, batches)
        labeled = first_pass(parts, 30) < 100
        assert labeled.sum(1).tolist() == [composition[0]] * 30
        assert labeled.shape[1] == sum(composition)
        both = zip((100, sum(counts[1:])), composition, strict=True)
        assert steps_in_pass(parts, batches) == max(math.ceil(count / places) for count, places in both)
        break_even = first_pass(parts, 25).flatten().bincount()[:100]
        assert break_even.max() - break_even.min() <= 1


@pytest.mark.parametrize("batches", ["half", "beside", "ups"])
def test_without_pseudo_labels_a_batch_is_a_batch_of_labels(batches):
    assert [part.count for part in parts_of(made(100, 0, 0), 64, batches)] == [64]


def test_a_pass_over_samples_of_several_classes_takes_each_once():
    known = torch.tensor([[True, False], [False, False], [False, False]])
    data = TrainingSet(torch.zeros(3, 1, 8, 8, dtype=torch.uint8), torch.arange(3), known, ~known, MULTI)
    assert [part.length for part in parts_of(data, 2)] == [3]


def test_a_stream_goes_on_from_its_state():
    parts = parts_of(made(50, 30, 20), 16, "half")
    stream, other = (Stream(parts, torch.Generator().manual_seed(seed)) for seed in (0, 1))
    next(stream)
    other.restore("rows", stream.state("rows"))
    assert torch.equal(next(stream), next(other))  # neither has begun a new pass, which would draw
