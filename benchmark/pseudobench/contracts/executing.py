"""What an executor is given, and what it answers. The machinery is in `pseudobench.execution`."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pseudobench.contracts.events import Listener
from pseudobench.contracts.run_spec import RunSpec
from pseudobench.contracts.settings import Network
from pseudobench.errors import BenchError, BenchWarning

#: What a listener would have heard: the name of its method and the arguments.
Message = tuple[Any, ...]
#: A run that has ended, and why it could not leave a record, if it could not.
Ended = tuple[RunSpec, str | None]


@dataclass(frozen=True)
class RunnerConfig:
    """Everything a runner is told besides which runs to do. Plain values: it can be hashed and sent elsewhere.

    ``cache`` is the folder of cached computations (None: nothing is cached), ``weights`` the files of pretrained
    weights by the text that specs identify them with. ``threads`` are those of a run whose recipe names no number,
    ``jobs`` how many runs happen at a time. ``timeout`` is the most seconds that a run may take (None: any number),
    ``keep`` says that whole logits are kept, and ``checkpoint_seconds`` pass between two checkpoints of a training.
    ``plans`` says that the list of runs is kept beside their records: they are an experiment, not a share of one.
    """

    results: Path
    data: Path
    cache: Path | None = None
    weights: tuple[tuple[str, Path], ...] = ()
    device: str = "auto"
    force: bool = False
    jobs: int | None = None
    threads: int | None = None
    timeout: float | None = None
    keep: bool = False
    checkpoint_seconds: float = 60.0
    plans: bool = False

    def weights_file(self, spec: RunSpec) -> Path | None:
        """The file of a run's pretrained weights; None for a run without, or with timm's own."""
        named = spec.group(Network).weights
        if named in (None, "timm"):
            return None
        for identity, path in self.weights:
            if identity == named:
                return path
        raise BenchError(f"{spec.run_id} starts from the weights {named!r}, and no such file was named")


class Runner(Protocol):
    """Executes runs in the process it was made in."""

    def run(self, specs: Sequence[RunSpec]) -> list[dict[str, Any]]:
        """The records of ``specs``: stored ones where finished, else by running."""
        ...


class Setup(Protocol):
    """How to make a runner like the command's own in another process. Can be pickled, compared and hashed."""

    @property
    def config(self) -> RunnerConfig:
        """What the runner is told."""
        ...

    def __hash__(self) -> int: ...

    def with_threads(self, threads: int) -> Setup:
        """The same with so many threads for a run whose recipe names no number."""
        ...

    def runner(self, send: Callable[[Message], None]) -> Runner:
        """A runner in this process, which sends what its listener hears."""
        ...


@dataclass(frozen=True)
class Batch:
    """An executor's order: runs, at most ``jobs`` at a time (None: as it likes), and who listens.

    ``folder`` is that of the records. An executor may leave notes there, in a folder whose name starts with a dot.
    """

    specs: Sequence[RunSpec]
    setup: Setup
    jobs: int | None
    listener: Listener
    folder: Path

    def hear(self, message: Message) -> None:
        """Pass on what a runner elsewhere has sent."""
        what, *details = message
        if what == "warning":
            warnings.warn(details[0], BenchWarning, stacklevel=2)
        elif what == "printed":
            print(details[0], file=sys.stderr)  # above the bars, if some are shown
        else:
            getattr(self.listener, what)(*details)
