"""Short runs on the digits: enough training to select something."""

from __future__ import annotations

import torch

from harness import make_runner
from pseudobench.experiments.resolving import resolve
from pseudobench.experiments.splits import split_for
from pseudobench.registry.components import build_registry
from pseudobench.registry.plugins import load_plugins
from pseudobench.rounds.algorithm import Run, run_rounds
from pseudobench.rounds.recorder import Recorder
from pseudobench_vision import Digits

CPU = torch.device("cpu")
DATA = Digits().load(None)  # type: ignore[arg-type]
#: Enough training to select something, few enough steps for a test.
QUICK = {
    "recipe.epochs": 2,
    "recipe.steps": 30,
    "recipe.batch_size": 32,
    "recipe.threads": 1,
    "loop.rounds": 2,
    "calibration.fraction": 0.2,
}


def spec_for(registry, method, seed=0, **settings):
    extra = {key.replace("__", "."): value for key, value in settings.items()}
    return resolve(registry, method=method, dataset="digits", seed=seed, labels=100, settings={**QUICK, **extra})


def run(registry, spec, data=DATA, split=None):
    split = split or split_for(spec, data)
    made = Run(spec, registry, data.known_to(split), CPU)
    return [each.record for each in run_rounds(made, Recorder.of(data, split))]


def runner(tmp_path, listener=None, force=False):
    plugins = load_plugins()
    registry = build_registry(plugins)
    return make_runner(tmp_path, registry, plugins, listener, force=force)
