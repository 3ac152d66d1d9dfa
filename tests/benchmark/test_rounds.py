"""The rounds of a run on real images: what is recorded, what methods share, what stays hidden."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from digits_runs import DATA, run, spec_for

from pseudobench.experiments.splits import split_for

METHODS = [
    "supervised",
    "fully-supervised",
    "pl",
    "ups",
    "ups-raps",
    "ups-raps-held-out",
    "ups-raps-tuned",
    "ups-raps-size",
    "ups-raps-complement",
    "raps-singleton",
]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs_and_records(registry, method):
    rounds = run(registry, spec_for(registry, method))
    json.dumps(rounds, allow_nan=False)
    trains_only = registry.method(method).selector is None
    assert len(rounds) == (1 if trains_only else 3)
    for place, each in enumerate(rounds):
        assert each["round"] == place
        assert 0.1 < each["test"]["accuracy"] <= 1
        assert each["seconds"]["fit"] > 0
        assert (each["selection"] is None) == (place == 0)
    selection = rounds[-1]["selection"]
    if selection is None:
        return
    assert 0 <= selection["positive_share"] <= 1
    assert sum(selection["positives_per_class"]) == selection["positives"]
    uses_sets = registry.method(method).sets is not None
    assert ("coverage" in selection) == uses_sets
    if uses_sets:
        before = rounds[-2]["selection"]
        trained_on = 100 + before["positives"] if method == "ups-raps" else 20
        assert selection["calibration_points"] == trained_on
        assert sum(selection["sizes"]) == selection["pool"] == 1101
        assert selection["scaling"]["temperature"] > 0


@pytest.mark.parametrize("policy", ["held-out", "train", "cross"])
def test_calibration_policies(registry, policy):
    spec = spec_for(registry, "ups-raps", calibration__policy=policy, calibration__folds=3, loop__rounds=1)
    split = split_for(spec, DATA)
    held, train = (20, 80) if policy == "held-out" else (0, 100)
    assert (len(split.calibration), len(split.labeled), len(split.unlabeled)) == (held, train, 1101)
    selection = run(registry, spec)[1]["selection"]
    assert selection["calibration_points"] == {"held-out": 20, "train": 100, "cross": 100}[policy]
    assert 0.5 < selection["coverage"] <= 1
    assert 0.5 < selection["test_coverage"] <= 1
    assert selection["set_size"] > 0


def test_train_policy_calibrates_on_pseudo_labels_too(registry):
    """Algorithm 2 hands RAPS the set that the network was trained on, which grows by the selected samples."""
    spec = spec_for(registry, "raps-singleton", calibration__policy="train")
    first, second = (each["selection"] for each in run(registry, spec)[1:])
    assert first["calibration_points"] == 100
    assert first["positive_samples"] > 0
    assert second["calibration_points"] == 100 + first["positive_samples"]


def test_methods_share_the_first_network_of_a_seed(registry):
    """Same labels, same seed: rounds 0 are equal, so that differences are paired."""
    accuracies = {
        method: run(registry, spec_for(registry, method))[0]["test"] for method in ("supervised", "pl", "ups")
    }
    assert accuracies["supervised"] == accuracies["pl"] == accuracies["ups"]


def test_true_labels_of_the_pool_reach_no_stage(registry):
    """With every pool label wrong, all that is selected and learned stays the same."""
    for method in ("pl", "ups-raps-complement"):
        spec = spec_for(registry, method)
        split = split_for(spec, DATA)
        wrong = DATA.train_labels.clone()
        pool = list(split.unlabeled)
        wrong[pool] = (wrong[pool] + 1) % 10
        lied_to = run(registry, spec, replace(DATA, train_labels=wrong), split)
        told = run(registry, spec, DATA, split)
        assert [each["test"] for each in lied_to] == [each["test"] for each in told]
        for one, other in zip(lied_to[1:], told[1:], strict=True):
            assert one["selection"]["positives_per_class"] == other["selection"]["positives_per_class"]
            assert one["selection"]["positive_precision"] < 0.2
            assert other["selection"]["positive_precision"] > 0.6


def test_sets_leave_plain_labels_alone_unless_they_are_empty(registry):
    """RAPS sets are prefixes of the ranking: Eq. 9 can only take a label away, never change it."""
    rounds = run(registry, spec_for(registry, "softmax+raps+set-argmax+confidence", raps__alpha=0.4))
    for each in rounds[1:]:
        selection = each["selection"]
        assert selection["not_argmax"] == 0
        assert selection["unlabeled"] == selection["sizes"][0]
        assert selection["sizes"][0] > 0


def test_tuning_is_recorded(registry):
    selection = run(registry, spec_for(registry, "ups-raps-held-out", raps__tune=0.5, loop__rounds=1))[1]["selection"]
    assert selection["calibration_points"] == 20
    assert selection["calibrated"]["points"] == 10
    assert selection["calibrated"]["lam"] in (0.001, 0.01, 0.1, 0.2, 0.5)
