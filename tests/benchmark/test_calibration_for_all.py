"""Calibration points and features for every stage that asks; backbones by round; a method's own presets and policy."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

import pytest
import torch

from harness import make_runner
from pseudobench import BenchError, Estimate, Method, PseudoLabels, Selection, hookimpl, param
from pseudobench.experiments.resolving import check_settings, resolve
from pseudobench.experiments.splits import split_for
from pseudobench.learning.modules import Head
from pseudobench.learning.networks import NetworkSpec, make_network
from pseudobench.learning.pool import NetworkPool, Normalizer
from pseudobench.registry.components import build_registry
from pseudobench.registry.plugins import PluginInfo, load_plugins

CPU = torch.device("cpu")
QUICK = {
    "recipe.epochs": 2,
    "recipe.steps": 5,
    "recipe.threads": 1,
    "loop.rounds": 2,
    "loop.settle": 0.0,
    "calibration.folds": 2,
}
SEEN = {}


def note(stage, context):
    SEEN[stage, context.round] = context.calibration


@dataclass(frozen=True)
class Watching:
    """Confidence above the mean of the calibration points; notes what it is given."""

    name: ClassVar[str] = "watching"
    needs_sets: ClassVar[bool] = False
    watches: bool = param(True, "whether it asks for calibration points")

    @property
    def needs_calibration(self):
        return self.watches

    def select(self, estimate, labels, sets, context):
        note("selector", context)
        if context.calibration is not None:
            folds = context.calibration
            own = [fold.pool.logits().softmax(1).gather(1, fold.labels[:, None])[:, 0] for fold in folds]
            assert all(fold.pool.features().shape == (len(fold.labels), 64) for fold in folds)
            keep = estimate.probs.amax(1) > torch.cat(own).mean()
            return Selection(labels.target & keep[:, None], torch.zeros_like(labels.target))
        return Selection(labels.target, torch.zeros_like(labels.target))


@dataclass(frozen=True)
class Plain:
    """An estimator that asks for nothing."""

    name: ClassVar[str] = "plain"
    needs_sets: ClassVar[bool] = False

    def estimate(self, pool, sets, context):
        note("estimator", context)
        return Estimate(pool.logits().softmax(1), torch.zeros(len(pool), context.classes))


@dataclass(frozen=True)
class Asking:
    """A labeler that asks for calibration points."""

    name: ClassVar[str] = "asking"
    needs_sets: ClassVar[bool] = False
    needs_calibration: ClassVar[bool] = True

    def label(self, estimate, sets, context):
        note("labeler", context)
        return PseudoLabels(estimate.probs == estimate.probs.amax(1, keepdim=True))


@dataclass(frozen=True)
class Careless(Plain):
    """Changes the network's outputs in place."""

    name: ClassVar[str] = "careless"

    def estimate(self, pool, sets, context):
        pool.logits().div_(2)
        return super().estimate(pool, sets, context)


class Wider(Estimate):
    """An estimate with a field that nobody would read."""

    __slots__ = ()


@dataclass(frozen=True)
class Subclass(Plain):
    """Returns a class of its own."""

    name: ClassVar[str] = "subclass"

    def estimate(self, pool, sets, context):
        found = super().estimate(pool, sets, context)
        return Wider(found.probs, found.uncertainty)


@pytest.fixture
def world():
    SEEN.clear()
    plugins = load_plugins()

    @hookimpl
    def bench_selectors():
        return [Watching]

    @hookimpl
    def bench_labelers():
        return [Asking]

    @hookimpl
    def bench_estimators():
        return [Plain, Careless, Subclass]

    @hookimpl
    def bench_methods():
        quiet = {"loop.rounds": 0, "watching.watches": False}
        parts = {"estimator": "plain", "labeler": "asking", "selector": "watching"}
        return [
            Method("asks", **parts, calibration="cross", presets={"smoke": quiet}),
            Method("odd", **parts, presets={"huge": {}}),
            Method("silent", estimator="plain", labeler="hard", selector="confidence", calibration="cross"),
        ]

    hooks = {name: value for name, value in locals().items() if name.startswith("bench_")}
    plugins.add(SimpleNamespace(**hooks), PluginInfo("ours", "ours", "1"))
    registry = build_registry(plugins)
    assert plugins.infos["ours"].error is None
    return plugins, registry


def spec_for(registry, method, settings=None, **more):
    return resolve(registry, method=method, dataset="digits", seed=0, settings={**QUICK, **(settings or {})}, **more)


def run(folder, world, *specs):
    plugins, registry = world
    return make_runner(folder, registry, plugins).run(specs)


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


# Features


def test_features_are_the_inputs_of_the_last_layer(registry):
    network = make_network(registry, NetworkSpec("digits_cnn", 4, (1, 8, 8), 0.5), seed=0, device=CPU)
    images = torch.randint(0, 256, (300, 1, 8, 8), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    pool = NetworkPool(network, images, Normalizer(((0.5,), (0.25,)), CPU))
    features = pool.features()
    assert features.shape == (300, 64)
    with torch.no_grad():
        torch.testing.assert_close(network.fc(features), pool.logits())
    vectors = torch.randn(7, 12)
    moments = (tuple([0.0] * 12), tuple([2.0] * 12))
    of_head = NetworkPool(Head(12, 4, 0.5), vectors, Normalizer(moments, CPU, pixels=False))
    torch.testing.assert_close(of_head.features(), vectors / 2)


# Backbones by round


def test_each_round_has_its_backbone_and_the_last_one_stays(tmp_path, world):
    settings = {"loop.backbones": "digits_cnn,cifar_cnn"}
    sizes = {}
    plugins, registry = world
    spec = spec_for(registry, "plain+hard+confidence", settings)
    assert spec.backbones == ("digits_cnn", "cifar_cnn")
    runner = make_runner(tmp_path, registry, plugins, cache=tmp_path / "cache")
    (record,) = runner.run([spec])
    assert record["status"] == "done", record["error"]
    from safetensors import safe_open

    for path in (tmp_path / "cache" / "networks").glob("*.safetensors"):
        with safe_open(path, "pt") as file:
            sizes[file.metadata()["note"]] = len(file.keys())
    rounds = {int(part.split('"round": ')[1].rstrip("}")): size for part, size in sizes.items()}
    assert rounds[0] < rounds[1] == rounds[2]
    assert "backbones" not in spec_for(registry, "plain+hard+confidence").settings["loop"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loop.backbones": "digits_cnn,"}, "loop.backbones=digits_cnn,: names separated by commas"),
        ({"loop.backbones": "digits_cnn", "network.weights": "timm"}, "each round trains its backbone from scratch"),
    ],
)
def test_backbones_that_cannot_be_are_refused(registry, settings, message):
    with pytest.raises(BenchError, match=message):
        resolve(registry, method="pl", dataset="digits", seed=0, settings=settings)


def test_an_unknown_backbone_is_refused_before_anything_is_trained(tmp_path, world):
    with pytest.raises(BenchError, match="there is no backbone 'ghost_net'"):
        run(tmp_path, world, spec_for(world[1], "pl", {"loop.backbones": "digits_cnn,ghost_net"}))
