"""Benchmark ways of choosing pseudo-labels for semi-supervised learning.

Everything a plugin needs is here, or in the modules `pseudobench.conformal`, `pseudobench.selection` and
`pseudobench.estimation` (tensor maths; importing them imports torch), and for executors `pseudobench.executors` and
`pseudobench.queue`. `run`, `load_results` and `compare` are for notebooks.
"""

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
