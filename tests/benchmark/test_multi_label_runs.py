"""Whole runs on samples with any number of classes, their data and refusals."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch

from harness import make_runner
from pseudobench import MULTI, BenchError, PluginError
from pseudobench.contracts.datasets import Dataset
from pseudobench.experiments.resolving import resolve
from pseudobench.experiments.splits import split_for
from pseudobench.registry.plugins import load_plugins
from pseudobench.rounds.recorder import Recorder

QUICK = {"recipe.epochs": 2, "recipe.steps": 20, "recipe.threads": 1, "loop.rounds": 2, "loop.settle": 0}


@pytest.fixture
def runner(tmp_path, registry):
    return make_runner(tmp_path, registry, load_plugins())


@pytest.mark.parametrize("calibration", ["held-out", "train", "cross"])
def test_methods_run_by_the_same_names(runner, registry, calibration):
    methods = ["ups-raps"] if calibration != "held-out" else ["supervised", "fully-supervised", "pl", "ups", "ups-raps"]
    methods += ["ups-raps-size", "scaled+mc-dropout+set-argmax+ups"] if calibration == "held-out" else []
    policy = {} if calibration == "held-out" else {"calibration.policy": calibration, "calibration.folds": 2}
    specs = [
        resolve(registry, method=method, dataset="digits-grid", seed=0, settings={**QUICK, **policy})
        for method in methods
    ]
    for record in runner.run(specs):
        assert record["status"] == "done", record["error"]
        assert record["task"] == MULTI
        json.dumps(record, allow_nan=False)
        last = record["rounds"][-1]
        assert 0.2 < last["test"]["map"] <= 1
        after_first = registry.get("columns", "round-1")
        assert after_first.value(record) == record["rounds"][:2][-1]["test"]["map"]
        if "raps" in record["spec"]["method"]:
            assert 0 <= last["selection"]["coverage"] <= 1
            assert len(last["selection"]["test_class_coverage"]) == 10


def test_grids_show_every_digit_once(registry):
    digits, grids = (registry.dataset(name).load(None) for name in ("digits", "digits-grid"))
    assert grids.task == MULTI
    assert grids.train_images.shape == (300, 1, 16, 16)
    assert (len(grids.test_labels), registry.dataset("digits-grid").train_size) == (149, 300)
    cells = grids.train_images.unfold(2, 8, 8).unfold(3, 8, 8).reshape(-1, 64)
    known = {tuple(image.tolist()) for image in digits.train_images.flatten(1)}
    assert {tuple(cell.tolist()) for cell in cells} <= known
    assert len({tuple(cell.tolist()) for cell in cells}) > 1150  # of 1,200; a few digits are equal to the last pixel
    by_image = {
        tuple(image.tolist()): int(label)
        for image, label in zip(digits.train_images.flatten(1), digits.train_labels, strict=True)
    }
    shown = torch.zeros(300, 10, dtype=torch.bool)
    for place, cell in enumerate(grids.train_images.unfold(2, 8, 8).unfold(3, 8, 8).reshape(300, 4, 64).tolist()):
        shown[place, [by_image[tuple(each)] for each in cell]] = True
    assert torch.equal(shown, grids.train_labels)


def test_labels_need_not_be_a_multiple_of_the_classes(registry):
    spec = resolve(registry, method="ups", dataset="digits-grid", seed=0, labels=57)
    data = registry.dataset("digits-grid").load(None)
    split = split_for(spec, data)
    assert (len(split.labeled), len(split.unlabeled)) == (57, 243)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("curriculum", "selector 'curriculum' is not made for multi-label data; these are: confidence, ups"),
        ("raps-singleton", "selector 'singleton' is not made for multi-label data"),
        ("bald+hard+ups", "estimator 'bald' is not made for multi-label data; these are: softmax, set-size"),
        ("saps+mc-dropout+set-argmax+ups", "sets 'saps' is not made for multi-label data"),
    ],
)
def test_what_makes_no_sense_is_said_before_anything_is_trained(registry, method, message):
    with pytest.raises(BenchError, match=message):
        resolve(registry, method=method, dataset="digits-grid", seed=0)


def test_labels_must_have_the_shape_that_the_classes_say():
    images = torch.zeros(4, 1, 8, 8, dtype=torch.uint8)
    with pytest.raises(PluginError, match=r"train_labels must have shape \[4, 3\]"):
        Dataset("wrong", 3, images, torch.zeros(4, 2).bool(), images, torch.zeros(4, 3).bool())


def test_the_pools_truth_decides_nothing(registry):
    """Other labels of the pool, other measures of precision, the same selection."""
    from pseudobench.rounds.algorithm import Run, run_rounds

    spec = resolve(registry, method="ups-raps", dataset="digits-grid", seed=0, settings=QUICK)
    data = registry.dataset("digits-grid").load(None)
    split = split_for(spec, data)
    counts = []
    for scrambled in (False, True):
        labels = data.train_labels.clone()
        if scrambled:
            labels[list(split.unlabeled)] = ~labels[list(split.unlabeled)]
        seen = replace(data, train_labels=labels)
        recorder = Recorder(10, seen.train_labels[list(split.unlabeled)], seen.test_labels)
        rounds = list(run_rounds(Run(spec, registry, seen.known_to(split), torch.device("cpu")), recorder))
        counts.append([(each.record["selection"] or {}).get("positives_per_class") for each in rounds])
    assert counts[0] == counts[1]
