"""Every hook. A plugin implements those it needs, decorated with ``pseudobench.hookimpl``.

The first group *offers* named components: nothing is computed in a hook, so no plugin can take over
another's run. A component is a frozen dataclass with a ``name`` (see `pseudobench.protocols`); hooks return
the classes. Modules with hooks should not import torch at their top: `bench list` reads them.
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
    """Offer ways to calibrate probabilities, such as Platt scaling."""


@hookspec
def bench_set_predictors() -> list[type[protocols.SetPredictor]]:
    """Offer conformal set predictors."""


@hookspec
def bench_estimators() -> list[type[protocols.Estimator]]:
    """Offer uncertainty estimators."""


@hookspec
def bench_labelers() -> list[type[protocols.Labeler]]:
    """Offer pseudo-labelers."""


@hookspec
def bench_selectors() -> list[type[protocols.Selector]]:
    """Offer selectors."""


@hookspec
def bench_objectives() -> list[type[steps.Objective]]:
    """Offer objectives: losses of a training step."""


@hookspec
def bench_methods() -> list[Method]:
    """Offer methods: compositions of components, as `Method` values."""


@hookspec
def bench_datasets() -> list[type[protocols.DatasetSource]]:
    """Offer datasets."""


@hookspec
def bench_backbones() -> list[protocols.Backbone]:
    """Offer networks beyond timm's own, as `Backbone` values that name the module which registers them."""


@hookspec
def bench_executors() -> list[type[protocols.Executor]]:
    """Offer places where runs execute, such as a cluster."""


@hookspec
def bench_columns() -> list[Column]:
    """Offer columns of the results tables, as `Column` values."""


@hookspec
def bench_commands(cli: click.Group) -> None:
    """Add subcommands to ``bench`` with ``cli.add_command``."""


# Events. What a listener raises is a warning, never a failed run.


@hookspec
def bench_run_started(spec: RunSpec) -> None:
    """A run starts."""


@hookspec
def bench_round_finished(spec: RunSpec, round: dict[str, Any]) -> None:
    """A round is in the record; ``round`` is what was recorded of it."""


@hookspec
def bench_run_finished(spec: RunSpec, record: dict[str, Any]) -> None:
    """A run has ended, well or not; ``record["status"]`` says which."""
