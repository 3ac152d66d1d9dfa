"""Benchmark ways of choosing pseudo-labels for semi-supervised learning.

Everything a plugin needs is here, or in the modules `pseudobench.conformal`, `pseudobench.selection` and
`pseudobench.estimation` (tensor maths; importing them imports torch), and for executors `pseudobench.executors` and
`pseudobench.queue`. `run`, `load_results` and `compare` are for notebooks.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pseudobench.api import compare, load_results, run
    from pseudobench.columns import Column, last_round, numbers_of
    from pseudobench.errors import BenchError, BenchWarning, Detached, PluginError, RunError
    from pseudobench.hookspecs import hookimpl
    from pseudobench.methods import Method
    from pseudobench.parameters import Value, param
    from pseudobench.protocols import (
        Backbone,
        CalibratedSets,
        DatasetSource,
        Estimator,
        Executor,
        FittedScaling,
        Fold,
        Labeler,
        Pool,
        Scaling,
        Selector,
        SetPredictor,
    )
    from pseudobench.spec import RunSpec, choices_of
    from pseudobench.splits import shuffled
    from pseudobench.types import MULTI, SINGLE, Context, Dataset, Estimate, PredictionSets, PseudoLabels, Selection

#: Module to what of it is offered here. Each is imported when it is asked for: `bench --help` needs none of them.
_OFFERED = {
    "api": "compare load_results run",
    "columns": "Column last_round numbers_of",
    "errors": "BenchError BenchWarning Detached PluginError RunError",
    "hookspecs": "hookimpl",
    "methods": "Method",
    "parameters": "Value param",
    "protocols": "Backbone CalibratedSets DatasetSource Estimator Executor FittedScaling "
    "Fold Labeler Pool Scaling Selector SetPredictor",
    "spec": "RunSpec choices_of",
    "splits": "shuffled",
    "types": "MULTI SINGLE Context Dataset Estimate PredictionSets PseudoLabels Selection",
}
_MODULES = {name: module for module, names in _OFFERED.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


__all__ = [
    "MULTI",
    "SINGLE",
    "Backbone",
    "BenchError",
    "BenchWarning",
    "CalibratedSets",
    "Column",
    "Context",
    "Dataset",
    "DatasetSource",
    "Detached",
    "Estimate",
    "Estimator",
    "Executor",
    "FittedScaling",
    "Fold",
    "Labeler",
    "Method",
    "PluginError",
    "Pool",
    "PredictionSets",
    "PseudoLabels",
    "RunError",
    "RunSpec",
    "Scaling",
    "Selection",
    "Selector",
    "SetPredictor",
    "Value",
    "choices_of",
    "compare",
    "hookimpl",
    "last_round",
    "load_results",
    "numbers_of",
    "param",
    "run",
    "shuffled",
]
