"""Where runs execute: what an executor is given, and what happens where it takes them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pseudobench.errors import BenchError, BenchWarning, one_line
from pseudobench.listeners import Listener, Progress

if TYPE_CHECKING:
    from pseudobench.runner import Runner as Runner  # noqa: PLC0414 - for executors to name in their types
    from pseudobench.spec import RunSpec as RunSpec  # noqa: PLC0414

#: What a listener would have heard: the name of its method and the arguments.
Message = tuple[Any, ...]
#: A run that has ended, and why it could not leave a record, if it could not.
Ended = tuple["RunSpec", str | None]


@dataclass(frozen=True)
class Setup:
    """What another process needs to make a runner like ours: all but plugins and registry, which it loads itself."""

    parts: Mapping[str, Any]
    variables: Mapping[str, str]  # ours of the environment: plugin files, and what plugins are set with

    @staticmethod
    def of(runner: Runner) -> Setup:
        """What makes up a runner, without where it sends its runs. Folders are absolute: others work elsewhere."""
        store, cache, weights = runner.store, runner.cache, runner.weights
        parts = {
            **vars(replace(runner, executor=None, jobs=None)),
            "store": type(store)(store.folder.absolute()),
            "cache": cache and replace(cache, folder=cache.folder.absolute()),
            "data_dir": runner.data_dir.absolute(),
            "weights": str(Path(weights).absolute()) if weights and Path(weights).is_file() else weights,
        }
        given = {key: value for key, value in parts.items() if key not in ("registry", "plugins", "listener")}
        return Setup(given, {name: value for name, value in os.environ.items() if name.startswith("PSEUDOBENCH_")})

    def with_threads(self, threads: int) -> Setup:
        """The same with so many threads for a run whose recipe does not say."""
        return replace(self, parts={**self.parts, "threads": self.parts["threads"] or max(threads, 1)})

    def runner(self, send: Callable[[Message], None]) -> Runner:
        """A runner in this process, which sends what its listener hears."""
        from pseudobench.registry import installed
        from pseudobench.runner import Runner

        os.environ.update(self.variables)
        plugins, registry = installed()
        return Runner(registry, plugins, listener=Forwarding(send), **self.parts)


@dataclass(frozen=True)
class Batch:
    """What an executor is given: runs, at most ``jobs`` at a time (None: as it likes), and who wants to hear of them.

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
        else:
            getattr(self.listener, what)(*details)


class Forwarding(Listener):
    """Sends what it hears. That a run has ended is not among it: the executor says so."""

    def __init__(self, send: Callable[[Message], None]) -> None:
        self._send = send

    def run_started(self, spec: RunSpec) -> None:
        """A run starts."""
        self._send(("run_started", spec))

    def epoch_finished(self, spec: RunSpec, progress: Progress) -> None:
        """An epoch of some training has ended."""
        self._send(("epoch_finished", spec, progress))

    def round_finished(self, spec: RunSpec, round_: Mapping[str, Any]) -> None:
        """A round is recorded."""
        self._send(("round_finished", spec, round_))


@contextmanager
def warnings_sent(send: Callable[[Message], None]) -> Iterator[None]:
    """Send our own warnings, and no others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", BenchWarning)
        warnings.showwarning = lambda message, *_: send(("warning", str(message)))
        yield


def attempt(runner: Runner, spec: RunSpec) -> str | None:
    """Do one run, in whatever process this is: None if it left a record, else why not."""
    try:
        runner.run([spec])
    except Exception as error:
        return one_line(error)
    return None


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_jobs(jobs: int | None) -> int | None:
    """``--jobs`` as it can be."""
    if jobs is not None and jobs < 1:
        raise BenchError(f"--jobs {jobs}: at least 1")
    return jobs
