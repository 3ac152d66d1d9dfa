"""All hooks. A plugin implements the hooks it needs, each decorated with ``pseudobench.hookimpl``.

Hooks of the first group *offer* named components and compute nothing, so that no plugin can change a run that does not
name its components. A component is a frozen dataclass with a ``name`` (see `pseudobench.contracts.protocols`); hooks
return the classes. Modules with hooks should not import torch at module level: `bench list` imports them all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    import click

    from pseudobench.contracts import protocols, steps
    from pseudobench.contracts.columns import Column
    from pseudobench.contracts.methods import Method
    from pseudobench.contracts.run_spec import RunSpec

PROJECT = "pseudobench"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def bench_scalings() -> list[type[protocols.Scaling]]:
    """Offer scalings: ways to calibrate logits, such as Platt scaling."""


@hookspec
def bench_set_predictors() -> list[type[protocols.SetPredictor]]:
    """Offer conformal set predictors, such as RAPS."""


@hookspec
def bench_estimators() -> list[type[protocols.Estimator]]:
    """Offer estimators of probabilities and their uncertainty, such as MC-dropout."""


@hookspec
def bench_labelers() -> list[type[protocols.Labeler]]:
    """Offer labelers: rules that give samples pseudo-labels."""


@hookspec
def bench_selectors() -> list[type[protocols.Selector]]:
    """Offer selectors: rules that choose the pseudo-labels to train on."""


@hookspec
def bench_objectives() -> list[type[steps.Objective]]:
    """Offer objectives: losses of a training step."""


@hookspec
def bench_methods() -> list[Method]:
    """Offer methods: compositions of components, as `Method` values."""


@hookspec
def bench_datasets() -> list[type[protocols.DatasetSource]]:
    """Offer sources of datasets."""


@hookspec
def bench_backbones() -> list[protocols.Backbone]:
    """Offer networks that timm does not have, as `Backbone` values naming the module that registers them with timm."""


@hookspec
def bench_executors() -> list[type[protocols.Executor]]:
    """Offer executors: ways to execute runs elsewhere, such as on a cluster."""


@hookspec
def bench_columns() -> list[Column]:
    """Offer columns of the results tables, as `Column` values."""


@hookspec
def bench_commands(cli: click.Group) -> None:
    """Add subcommands to ``bench`` with ``cli.add_command``."""


# Events, called in the process that executes the run. An exception in a listener becomes a warning, never a failed run.


@hookspec
def bench_run_started(spec: RunSpec) -> None:
    """A run starts, or goes on after an interruption."""


@hookspec
def bench_round_finished(spec: RunSpec, round: dict[str, Any]) -> None:
    """A round was added to the record; ``round`` is its part of the record."""


@hookspec
def bench_run_finished(spec: RunSpec, record: dict[str, Any]) -> None:
    """A run has ended; ``record["status"]`` is ``done`` or ``failed``."""
