"""Benchmark ways of choosing pseudo-labels for semi-supervised learning.

Everything a plugin needs is here, or in these modules: `pseudobench.conformal`, `pseudobench.selection`,
`pseudobench.estimation` and `pseudobench.maths.losses` (tensor maths; importing them imports torch),
`pseudobench.executors` (for executors), `pseudobench.files` (for datasets) and `pseudobench.testing` (for tests of
plugins). `run`, `load_results`, `load_rounds` and `compare` are for notebooks.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pseudobench.api import compare, load_results, load_rounds, run
    from pseudobench.base.seeds import shuffled
    from pseudobench.contracts.columns import Column, last_round, numbers_of
    from pseudobench.contracts.datasets import MULTI, SINGLE, VECTORS, Dataset
    from pseudobench.contracts.hookspecs import hookimpl
    from pseudobench.contracts.methods import Method
    from pseudobench.contracts.parameters import Value, param
    from pseudobench.contracts.pools import Fold, Pool
    from pseudobench.contracts.protocols import (
        Backbone,
        CalibratedSets,
        DatasetSource,
        Estimator,
        Executor,
        FittedScaling,
        Labeler,
        Scaling,
        Selector,
        SetPredictor,
    )
    from pseudobench.contracts.run_spec import RunSpec, choices_of
    from pseudobench.contracts.steps import Objective, Step
    from pseudobench.contracts.values import Context, Estimate, PredictionSets, PseudoLabels, Selection
    from pseudobench.errors import BenchError, BenchWarning, Detached, PluginError, RunError

#: Module to the names it offers here. Each is imported when it is asked for: `bench --help` needs none of them.
_OFFERED = {
    "api": "compare load_results load_rounds run",
    "base.seeds": "shuffled",
    "contracts.columns": "Column last_round numbers_of",
    "contracts.datasets": "MULTI SINGLE VECTORS Dataset",
    "contracts.hookspecs": "hookimpl",
    "contracts.methods": "Method",
    "contracts.parameters": "Value param",
    "contracts.pools": "Fold Pool",
    "contracts.protocols": "Backbone CalibratedSets DatasetSource Estimator Executor FittedScaling "
    "Labeler Scaling Selector SetPredictor",
    "contracts.run_spec": "RunSpec choices_of",
    "contracts.steps": "Objective Step",
    "contracts.values": "Context Estimate PredictionSets PseudoLabels Selection",
    "errors": "BenchError BenchWarning Detached PluginError RunError",
}
_MODULES = {name: module for module, names in _OFFERED.items() for name in names.split()}
#: Modules that are offered whole.
_WHOLE = ("conformal", "estimation", "executors", "files", "selection", "testing")
#: Modules that older records name (``rebuild``), and where their functions are now.
_FORMER = {"runner": "experiments.splits", "loading": "experiments.splits"}


class _Former(ModuleType):
    """A module that has moved: its names are looked up where they are now."""

    def __getattr__(self, name: str) -> Any:
        former = self.__name__.rpartition(".")[2]
        return getattr(importlib.import_module(f"{__name__}.{_FORMER[former]}"), name)


sys.modules |= {f"{__name__}.{name}": _Former(f"{__name__}.{name}") for name in _FORMER}


def __getattr__(name: str) -> Any:
    if name in (*_WHOLE, *_FORMER):
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, *_WHOLE])


__all__ = [
    "MULTI",
    "SINGLE",
    "VECTORS",
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
    "Objective",
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
    "Step",
    "Value",
    "choices_of",
    "compare",
    "hookimpl",
    "last_round",
    "load_results",
    "load_rounds",
    "numbers_of",
    "param",
    "run",
    "shuffled",
]
