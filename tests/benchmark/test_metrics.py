from __future__ import annotations

import math

import pytest
import torch
from torchmetrics.functional.classification import multiclass_calibration_error

from pseudobench.maths import metrics
from pseudobench.registry.builtin_columns import COLUMNS


def case(n=500, classes=7):
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(n, classes, generator=generator) * 3
    labels = torch.where(torch.rand(n, generator=generator) < 0.6, logits.argmax(1), torch.arange(n) % classes)
    return logits, labels


def test_calibration_error_is_that_of_torchmetrics():
    logits, labels = case()
    ours = metrics.expected_calibration_error(metrics.reliability(logits, labels))
    theirs = multiclass_calibration_error(logits.double().softmax(1), labels, 7, n_bins=15, norm="l1")
    assert ours == pytest.approx(float(theirs), abs=1e-7)


def test_accuracy_and_likelihood():
    logits = torch.tensor([[2.0, 0.0], [0.0, 1.0]])
    labels = torch.tensor([0, 0])
    assert metrics.accuracy(logits, labels) == 0.5
    expected = (math.log(1 + math.exp(-2)) + math.log(1 + math.exp(1))) / 2
    assert metrics.negative_log_likelihood(logits, labels) == pytest.approx(expected)


def test_reliability_bins_hold_every_sample():
    logits, labels = case()
    bins = metrics.reliability(logits, labels)
    assert sum(bins["count"]) == 500
    for place, (count, confidence) in enumerate(zip(bins["count"], bins["confidence"], strict=True)):
        assert not count or place / 15 <= confidence <= (place + 1) / 15


def test_share_of_nothing_is_not_a_number_but_none():
    none = torch.zeros(2, 2, dtype=torch.bool)
    assert metrics.share(none, none) is None
    assert metrics.share(none, ~none) == 0.0


@pytest.mark.parametrize(
    ("selection", "shown"),
    [({"pool": 8, "not_argmax": 2}, 0.25), ({"pool": 8, "not_argmax": None}, None), ({"pool": 0}, None), (None, None)],
)
def test_labels_that_differ_from_the_most_probable_class_are_a_share_of_the_pool(selection, shown):
    column = next(each for each in COLUMNS if each.name == "other-label")
    assert column.read({"rounds": [{"selection": selection}]}) == shown


def test_the_measure_after_a_number_of_rounds_is_the_last_one_where_a_run_has_fewer():
    rounds = [{"test": {"accuracy": value}} for value in (0.1, 0.2, 0.3, 0.4)]
    columns = {each.name: each for each in COLUMNS}
    assert [columns[f"round-{count}"].read({"rounds": rounds}) for count in (1, 3, 5)] == [0.2, 0.4, 0.4]
    assert columns["round-3"].read({"rounds": [{"test": {"map": 0.5}}]}) == 0.5
