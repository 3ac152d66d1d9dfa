"""Stages that ask for calibration points or not, and note which they are given."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

import torch

from harness import make_runner
from pseudobench import Estimate, Method, PseudoLabels, Selection, hookimpl, param
from pseudobench.experiments.resolving import resolve
from pseudobench.registry.components import build_registry
from pseudobench.registry.plugins import PluginInfo, load_plugins

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


def watched_world():
    """Everything that is installed, and these stages and methods of a plugin; nothing noted yet."""
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
