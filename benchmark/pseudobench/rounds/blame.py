"""Errors of plugins, put down to the component and its plugin."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pseudobench.contracts.kinds import STAGE_KINDS
from pseudobench.errors import PluginError, RunError

if TYPE_CHECKING:
    from torch import Tensor

    from pseudobench.rounds.run import Run


@contextmanager
def blame(run: Run, stage: str) -> Iterator[None]:
    """Name the component and its plugin in any error raised inside."""
    try:
        yield
    except (RunError, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # a stage that calls sys.exit is one failed run
        name = run.spec.stages[stage]
        owner = run.registry.owner(STAGE_KINDS[stage].name, name)
        reason = str(error) if isinstance(error, PluginError) else f"{type(error).__name__}: {error}"
        raise PluginError(f"{stage} {name!r} of {owner}: {reason}") from error


@contextmanager
def unchanged(*tensors: Tensor) -> Iterator[None]:
    """Raise if any of these is changed in place inside: torch counts the changes of each."""
    before = [tensor._version for tensor in tensors]
    yield
    if before != [tensor._version for tensor in tensors]:
        raise PluginError("it changed a tensor that it was given; work on a copy")
