"""Checks of components that are values: methods, columns, backbones."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from pseudobench.contracts.columns import Column
from pseudobench.contracts.datasets import SINGLE
from pseudobench.contracts.methods import Method
from pseudobench.contracts.protocols import Backbone
from pseudobench.errors import PluginError
from pseudobench.experiments.presets import PRESETS
from pseudobench.experiments.resolving import resolve
from pseudobench.storage.record_schema import FORMAT, KIND

if TYPE_CHECKING:
    from pseudobench.registry.components import Registry


def offers(component: Any, registry: Registry | None) -> dict[str, Callable[[], str | None]]:
    """The checks of a value, by name. Methods are resolved with the components of ``registry``, if there is one."""
    if isinstance(component, Method) and registry is not None:
        return {f"can be run with the preset {name}": partial(_resolves, registry, component, name) for name in PRESETS}
    if isinstance(component, Column):
        return {f"reads {what}": partial(_reads, component, record) for what, record in fake_records().items()}
    if isinstance(component, Backbone):
        return {"makes a network": partial(_makes, component)}
    return {}


def _resolves(registry: Registry, method: Method, preset: str) -> None:
    """Raise unless a method's components exist and have the settings it names; tried on the default dataset."""
    for dataset in registry.defaults("datasets")[:1]:
        resolve(registry, method=method.name, dataset=dataset, seed=0, preset=preset)


def _reads(column: Column, record: dict[str, Any]) -> None:
    value = column.value(record)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise PluginError(f"it reads {type(value).__name__}, and should read a number or None")


def _makes(backbone: Backbone) -> None:
    import importlib

    import timm
    import torch

    importlib.import_module(backbone.module)
    if not timm.is_model(backbone.name):
        raise PluginError(f"importing {backbone.module} registers no {backbone.name!r} with timm")
    made = timm.create_model(backbone.name, pretrained=False, num_classes=3, in_chans=1, drop_rate=0.1)
    if not isinstance(made, torch.nn.Module):
        raise PluginError(f"it makes a {type(made).__name__}, and should make a torch.nn.Module")


def fake_records() -> dict[str, dict[str, Any]]:
    """Made-up records of finished runs, by a description of their content. They are valid and have all usual keys."""
    bins = {"count": [0] * 14 + [50], "confidence": [0.0] * 14 + [0.9], "accuracy": [0.0] * 14 + [0.8]}
    seconds = {"fit": 1.0, "evaluate": 0.1, "predict": 0.1, "estimate": 0.1, "label": 0.1, "select": 0.1}
    first = {
        "round": 0,
        "selection": None,
        "test": {"accuracy": 0.8, "nll": 0.6, "ece": 0.1, "reliability": bins},
        "seconds": {"fit": 1.0, "evaluate": 0.1},
        "work": {"trained": 1, "reused": 0, "saved_seconds": 0.0},
    }
    selection = {
        "pool": 100,
        "positives": 60,
        "positive_samples": 60,
        "positive_share": 0.6,
        "positive_precision": 0.9,
        "positives_per_class": [30, 30],
        "negatives": 0,
        "negative_samples": 0,
        "negatives_per_sample": None,
        "negative_precision": None,
        "unlabeled": 0,
        "not_argmax": 0,
        "argmax_accuracy": 0.85,
    }
    second = {**first, "round": 1, "selection": selection, "seconds": seconds}
    spec = {"dataset": "fake", "labels": 20, "method": "fake", "seed": 0, "backbone": "fake", "preset": "cpu"}
    more = {"stages": {}, "trains_on": "budget", "evaluates_on": "test", "settings": {}, "overrides": {}}
    about = {"kind": KIND, "format": FORMAT, "run_id": "fake", "status": "done", "task": SINGLE, "error": None}
    times = {"started": "2026-01-01T00:00:00+00:00", "finished": "2026-01-01T00:00:03+00:00", "seconds": 3.0}
    split = {"sha256": "0" * 64, "labeled": 20, "calibration": 0, "unlabeled": 100, "test": 50}
    environment = {"device": "cpu", "device_name": "fake", "cores": 1, "threads": 1, "versions": {}, "source": None}
    record = {**about, **times, "spec": {**spec, **more}, "split": split, "environment": environment}
    return {
        "a run on labels alone": {**record, "rounds": [first]},
        "a run of two rounds": {**record, "rounds": [first, second]},
    }
