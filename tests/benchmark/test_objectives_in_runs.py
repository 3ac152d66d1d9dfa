"""Objectives of plugins in whole runs: blame, interruptions, run ids and keys of networks, refusals."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

import pytest
import torch
from averaging_objective import Average

from harness import make_runner
from pseudobench import BenchError, Method, Selection, hookimpl
from pseudobench.contracts.events import Listener
from pseudobench.experiments.resolving import resolve
from pseudobench.registry.components import build_registry
from pseudobench.registry.plugins import PluginInfo, load_plugins
from pseudobench.storage.cache import Cache
from pseudobench.storage.records import without_times


@dataclass(frozen=True)
class Grows(Average):
    name: ClassVar[str] = "grows"

    def loss(self, step, forward, state):
        found = super().loss(step, forward, state)
        state["more"] = torch.zeros(1)
        return found


@dataclass(frozen=True)
class Holds(Average):
    name: ClassVar[str] = "holds"

    def loss(self, step, forward, state):
        found = forward(step.inputs).square().mean()
        state["probs"] = state["probs"] * found
        return found


@dataclass(frozen=True)
class Vector(Average):
    name: ClassVar[str] = "vector"

    def loss(self, step, forward, state):
        return forward(step.inputs).mean(1)


@dataclass(frozen=True)
class Raises(Average):
    name: ClassVar[str] = "raises"

    def loss(self, step, forward, state):
        return step.labels


@pytest.mark.parametrize(
    ("component", "message"),
    [
        (Grows, "its state was"),
        (Holds, "its state 'probs' holds a gradient; keep value.detach"),
        (Vector, "its loss is no scalar tensor with a gradient"),
        (Raises, "AttributeError: 'Step' object has no attribute 'labels'"),
    ],
)
def test_a_broken_objective_is_blamed_by_name(tmp_path, component, message):
    plugins, registry = world(component)
    method = f"softmax+hard+confidence+{component.name}"
    (record,) = make_runner(tmp_path, registry, plugins).run([spec_for(registry, method)])
    assert record["status"] == "failed"
    said = record["error"]["message"]
    assert said.startswith(f"objective {component.name!r} of plugin 'ours' (ours 1): ")
    assert message in said


QUICK = {
    "recipe.epochs": 2,
    "recipe.steps": 5,
    "recipe.batch_size": 16,
    "recipe.threads": 1,
    "loop.rounds": 2,
    "loop.settle": 0.0,
}


@dataclass(frozen=True)
class Soft:
    """Soft labels: the estimate itself, weighted by its largest probability."""

    name: ClassVar[str] = "soft"
    needs_sets: ClassVar[bool] = False

    def select(self, estimate, labels, sets, context):
        return Selection(labels.target, torch.zeros_like(labels.target), estimate.probs.amax(1), estimate.probs)


def world(*components):
    """Everything that is installed, and these components of a plugin."""
    plugins = load_plugins()

    @hookimpl
    def bench_selectors():
        return [each for each in components if hasattr(each, "select")]

    @hookimpl
    def bench_objectives():
        return [each for each in components if hasattr(each, "loss")]

    @hookimpl
    def bench_methods():
        return [Method(f"{each.name}-alone", objective=each.name) for each in components if hasattr(each, "loss")]

    hooks = {"bench_selectors": bench_selectors, "bench_objectives": bench_objectives, "bench_methods": bench_methods}
    plugins.add(SimpleNamespace(**hooks), PluginInfo("ours", "ours", "1"))
    registry = build_registry(plugins)
    assert plugins.infos["ours"].error is None
    return plugins, registry


def spec_for(registry, method, **settings):
    return resolve(registry, method=method, dataset="digits", seed=0, settings={**QUICK, **settings})


def test_soft_selections_survive_an_interruption(tmp_path):
    plugins, registry = world(Soft)
    spec = spec_for(registry, "softmax+hard+soft")
    (whole,) = make_runner(tmp_path / "whole", registry, plugins).run([spec])
    hard = spec_for(registry, "softmax+hard+confidence", **{"confidence.tau": 0.0})
    (other,) = make_runner(tmp_path / "hard", registry, plugins).run([hard])
    assert [each["selection"] for each in whole["rounds"][1:2]] == [each["selection"] for each in other["rounds"][1:2]]
    assert whole["rounds"][1]["test"] != other["rounds"][1]["test"]  # the same samples, softer
    config = {"cache": tmp_path / "cache", "checkpoint_seconds": 0.0}

    class Plug(Listener):
        def round_finished(self, spec, round_):
            if round_["round"] == 1:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_runner(tmp_path / "cut", registry, plugins, Plug(), **config).run([spec])
    (path,) = (tmp_path / "cache" / "runs").glob("*.safetensors")
    kept = Cache(tmp_path / "cache").load("runs", path.stem, lambda kept: kept).tensors
    assert set(kept) == {"positive", "negative", "weight", "target"}
    (resumed,) = make_runner(tmp_path / "cut", registry, plugins, **config).run([spec])
    assert resumed["resumed_after"] == 1
    assert without_times(resumed) | {"resumed_after": None} == without_times(whole) | {"resumed_after": None}


def test_the_objective_is_part_of_what_identifies_a_run_and_its_networks(tmp_path):
    plugins, registry = world(Average)
    named = spec_for(registry, "softmax+hard+confidence+pseudo-labels")
    assert named.stages == spec_for(registry, "softmax+hard+confidence").stages
    specs = [
        spec_for(registry, "softmax+hard+confidence"),
        spec_for(registry, "softmax+hard+confidence+average"),
        spec_for(registry, "softmax+hard+confidence+average", **{"average.ratio": 0.5}),
        spec_for(registry, "average-alone"),
    ]
    assert len({spec.run_id for spec in specs}) == 4
    runner = make_runner(tmp_path, registry, plugins, cache=tmp_path / "cache")
    records = runner.run(specs)
    assert [each["error"] for each in records] == [None] * 4
    assert [each["rounds"][0]["work"]["trained"] for each in records] == [1, 1, 1, 1]
    assert [len(each["rounds"]) for each in records] == [3, 3, 3, 1]
    (again,) = make_runner(tmp_path, registry, plugins, cache=tmp_path / "cache", force=True).run(specs[1:2])
    assert [each["work"]["reused"] for each in again["rounds"]] == [1, 1, 1]
    assert without_times(again) == without_times(records[1])


def test_what_cannot_be_is_refused_before_anything_is_trained(registry):
    with pytest.raises(BenchError, match="objective 'fixmatch' is not made for multi-label data"):
        resolve(registry, method="fixmatch", dataset="digits-grid", seed=0)
    with pytest.raises(BenchError, match="needs a pool"):
        resolve(registry, method="fixmatch", dataset="digits", labels=1201, seed=0)
    with pytest.raises(BenchError, match="needs a selector"):
        registry.method("softmax+fixmatch")
