"""Calibration points for every stage that asks for them, and a method's own presets and policy."""

from __future__ import annotations

import pytest
import torch
from watching_stages import SEEN, run, spec_for

from pseudobench import BenchError
from pseudobench.experiments.resolving import check_settings, resolve
from pseudobench.experiments.splits import split_for


@pytest.mark.parametrize(("policy", "points", "folds"), [("held-out", 10, 1), ("train", 40, 1), ("cross", 40, 2)])
def test_who_asks_is_handed_the_calibration_points(tmp_path, world, policy, points, folds):
    spec = spec_for(world[1], "plain+asking+watching", {"calibration.policy": policy})
    assert spec.policy == policy
    (record,) = run(tmp_path, world, spec)
    assert record["status"] == "done", record["error"]
    assert record["split"]["calibration"] == (10 if policy == "held-out" else 0)
    assert SEEN["estimator", 1] is None  # it did not ask
    for stage in ("labeler", "selector"):
        given = SEEN[stage, 1]
        assert len(given) == folds
        assert sum(len(fold.labels) for fold in given) == points
        assert all(len(fold.rest) == record["split"]["unlabeled"] for fold in given)
    assert record["rounds"][1]["selection"]["calibration_points"] == points


def test_the_labels_are_those_of_the_held_out_samples(tmp_path, world):
    spec = spec_for(world[1], "plain+hard+watching")
    run(tmp_path, world, spec)
    data = world[1].dataset("digits").load(tmp_path)
    split = split_for(spec, data)
    (fold,) = SEEN["selector", 1]
    assert torch.equal(fold.labels, data.train_labels[list(split.calibration)])


def test_points_are_scaled_where_there_is_a_scaling(tmp_path, world):
    (record,) = run(tmp_path, world, spec_for(world[1], "platt+plain+asking+watching"))
    scaled = record["rounds"][2]["selection"]["scaling"]
    (fold,) = SEEN["selector", 2]
    assert scaled
    assert fold.pool._transform is not None


def test_a_parameter_can_say_that_no_points_are_needed(world):
    _, registry = world
    quiet = spec_for(registry, "plain+hard+watching", {"watching.watches": "false"})
    assert quiet.policy is None
    check_settings(registry, ["plain+hard+watching"], {"calibration.policy": "cross"})
    with pytest.raises(BenchError, match="none of the methods"):
        check_settings(registry, ["plain+hard+watching"], {"calibration.policy": "cross", "watching.watches": "false"})


def test_a_method_has_a_policy_and_settings_for_a_preset(world):
    _, registry = world
    assert resolve(registry, method="asks", dataset="digits", seed=0).policy == "cross"
    user = {"calibration.policy": "train"}
    assert resolve(registry, method="asks", dataset="digits", seed=0, settings=user).policy == "train"
    smoke = resolve(registry, method="asks", dataset="digits", seed=0, preset="smoke")
    assert smoke.settings["loop"]["rounds"] == 0
    assert smoke.settings["watching"] == {"watches": False}
    assert resolve(registry, method="asks", dataset="digits", seed=0).settings["loop"]["rounds"] == 5
    with pytest.raises(BenchError, match="method 'odd' has settings for a preset 'huge'"):
        resolve(registry, method="odd", dataset="digits", seed=0)
    with pytest.raises(BenchError, match=r"method 'silent' sets calibration\.policy, but has no 'calibration'"):
        resolve(registry, method="silent", dataset="digits", seed=0)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        ("careless", "estimator 'careless' of plugin 'ours' (ours 1): it changed a tensor that it was given"),
        ("subclass", "estimator 'subclass' of plugin 'ours' (ours 1): returned Wider, not Estimate"),
    ],
)
def test_a_run_names_a_stage_that_breaks_the_contract(tmp_path, world, estimator, message):
    (record,) = run(tmp_path, world, spec_for(world[1], f"{estimator}+hard+confidence"))
    assert record["error"]["message"].startswith(message)
