"""Short runs on digits with or without a cache, and how much they trained."""

from __future__ import annotations

from harness import make_runner
from pseudobench.experiments.resolving import resolve
from pseudobench.registry.components import build_registry
from pseudobench.registry.plugins import load_plugins

QUICK = {
    "recipe.epochs": 4,
    "recipe.steps": 10,
    "recipe.threads": 1,
    "recipe.augment": "weak",
    "loop.rounds": 2,
    "loop.settle": 0.0,
    "calibration.fraction": 0.25,
    "calibration.folds": 2,
}


def spec_for(registry, method, seed=0, **settings):
    extra = {key.replace("__", "."): value for key, value in settings.items()}
    return resolve(registry, method=method, dataset="digits", seed=seed, settings={**QUICK, **extra})


def runner(folder, listener=None, *, cache=True, every=60.0, force=False):
    plugins = load_plugins()
    kept = folder / "cache" if cache else None
    settings = {"cache": kept, "checkpoint_seconds": every, "force": force}
    return make_runner(folder / "runs", build_registry(plugins), plugins, listener, **settings)


def work(record):
    return [(each["work"]["trained"], each["work"]["reused"]) for each in record["rounds"]]
