"""A runner in another process: how it is set up there, and how it reports back."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pseudobench.base.paths import is_remote
from pseudobench.contracts.events import Listener, Progress
from pseudobench.contracts.executing import Message, RunnerConfig
from pseudobench.contracts.executing import Runner as AnyRunner
from pseudobench.contracts.run_spec import RunSpec
from pseudobench.errors import Abandoned, BenchError, BenchWarning, one_line
from pseudobench.registry.components import as_of_now
from pseudobench.registry.edited_files import code_in
from pseudobench.registry.plugin_files import plugin_files

if TYPE_CHECKING:
    from pseudobench.execution.runner import Runner


@dataclass(frozen=True)
class WorkerSetup:
    """Everything another process needs to make the same runner: configuration, and our environment variables.

    Plugins and registry are not sent: each process loads them itself. ``variables`` name plugin files, and configure
    plugins; ``code`` is a hash of those files, so that no process runs an edited one in the name of what it was.
    """

    config: RunnerConfig
    variables: tuple[tuple[str, str], ...]
    code: str = ""

    @classmethod
    def of(cls, config: RunnerConfig) -> WorkerSetup:
        """A setup for one run after another, with absolute folders: other processes may work elsewhere."""
        ours = sorted((name, value) for name, value in os.environ.items() if name.startswith("PSEUDOBENCH_"))
        alone = replace(
            config,
            jobs=None,
            plans=False,
            results=_absolute(config.results),
            data=_absolute(config.data),
            cache=None if config.cache is None else _absolute(config.cache),
        )
        return cls(alone, tuple(ours), code_in(plugin_files()))

    def with_threads(self, threads: int) -> WorkerSetup:
        """The same setup, with ``threads`` threads for runs whose recipe names no number."""
        return replace(self, config=replace(self.config, threads=self.config.threads or max(threads, 1)))

    def runner(self, send: Callable[[Message], None]) -> Runner:
        """A runner in this process that sends its events with ``send``."""
        from pseudobench.execution.runner import Runner

        os.environ.update(self.variables)
        if code_in(plugin_files()) != self.code:
            raise BenchError("a plugin file has changed since the runs were ordered; order them again")
        plugins, registry = as_of_now()
        return Runner(self.config, registry, plugins, Forwarding(send))


def _absolute(path: Path) -> Path:
    return path if is_remote(path) else path.absolute()


class Forwarding(Listener):
    """Sends the events of a run, except its end, which the executor reports.

    If nobody receives them any more, the run is abandoned, and can be resumed.
    """

    def __init__(self, send: Callable[[Message], None]) -> None:
        self._to = send

    def _send(self, message: Message) -> None:
        try:
            self._to(message)
        except OSError:
            raise Abandoned from None

    def run_started(self, spec: RunSpec) -> None:
        """A run starts."""
        self._send(("run_started", spec))

    def epoch_finished(self, spec: RunSpec, progress: Progress) -> None:
        """An epoch of some training has ended."""
        self._send(("epoch_finished", spec, progress))

    def round_finished(self, spec: RunSpec, round_: Mapping[str, Any]) -> None:
        """A round is recorded."""
        self._send(("round_finished", spec, round_))


class Lines(io.TextIOBase):
    """A stream that sends what is printed to it, line by line, for the process that shows progress to print."""

    def __init__(self, send: Callable[[Message], None]) -> None:
        self._send = send
        self._begun = ""

    def writable(self) -> bool:
        """Print can write to it."""
        return True

    def fileno(self) -> int:
        """Where programs that a plugin starts may write: the standard error of this process."""
        return 2

    def write(self, text: str) -> int:
        """Send the lines that are whole now."""
        *lines, self._begun = (self._begun + text).split("\n")
        for line in lines:
            with suppress(OSError):  # nobody listens any more; the run's next event says so
                self._send(("printed", line))
        return len(text)

    def close(self) -> None:
        """Send what is left."""
        if self._begun:
            self.write("\n")
        super().close()


@contextmanager
def prints_sent(send: Callable[[Message], None]) -> Iterator[None]:
    """Send what is printed, to either stream: standard output is the command's, and bars may be where it would go."""
    lines = Lines(send)
    with redirect_stdout(lines), redirect_stderr(lines):
        yield
    lines.close()


@contextmanager
def warnings_sent(send: Callable[[Message], None]) -> Iterator[None]:
    """Send warnings of pseudobench; hide those of libraries."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", BenchWarning)
        warnings.showwarning = lambda message, *_: send(("warning", str(message)))
        yield


def attempt(runner: AnyRunner, spec: RunSpec) -> str | None:
    """Do one run in this process: None if it left a record, else the reason why not."""
    try:
        runner.run([spec])
    except (KeyboardInterrupt, Abandoned):
        raise
    except BaseException as error:  # sys.exit in a plugin too
        return one_line(error)
    return None
