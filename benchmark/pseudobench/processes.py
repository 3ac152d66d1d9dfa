"""Runs in processes of their own, several at a time. One that dies (a segfault, no memory) is one failed run."""

from __future__ import annotations

import multiprocessing
import os
import signal
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any

from pseudobench.errors import BenchError, BenchWarning
from pseudobench.listeners import Listener, Progress
from pseudobench.loading import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pseudobench.runner import Runner
    from pseudobench.spec import RunSpec

#: What a process imports before the first run, once for all of them where the system can copy processes.
_PRELOAD = ["pseudobench.runner", "pseudobench_vision.networks"]


@dataclass(frozen=True)
class Setup:
    """What a process needs to make a runner like ours: everything but plugins and registry, which it loads itself."""

    parts: Mapping[str, Any]

    def runner(self, listener: Listener) -> Runner:
        """A runner in this process."""
        from pseudobench.registry import installed
        from pseudobench.runner import Runner

        plugins, registry = installed()
        return Runner(registry, plugins, listener=listener, **self.parts)


class Forwarding(Listener):
    """Sends what it hears to the process that started this one."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def run_started(self, spec: RunSpec) -> None:
        """A run starts."""
        self._connection.send(("run_started", spec))

    def epoch_finished(self, spec: RunSpec, progress: Progress) -> None:
        """An epoch of some training has ended."""
        self._connection.send(("epoch_finished", spec, progress))

    def round_finished(self, spec: RunSpec, round_: Mapping[str, Any]) -> None:
        """A round is recorded."""
        self._connection.send(("round_finished", spec, round_))

    def run_finished(self, spec: RunSpec, record: Mapping[str, Any]) -> None:
        """A run has ended, well or not."""
        self._connection.send(("run_finished", spec, record))


def work(connection: Connection, setup: Setup) -> None:
    """What a process does: run what it is sent, one after another, until nothing more comes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", BenchWarning)
        warnings.showwarning = lambda message, *_: connection.send(("warning", str(message)))
        runner = setup.runner(Forwarding(connection))
        while (spec := connection.recv()) is not None:
            try:
                runner.run([spec])
                connection.send(("ended", None))
            except Exception as error:
                connection.send(("ended", one_line(error)))


class Worker:
    """A process, and the run that it is at."""

    def __init__(self, setup: Setup) -> None:
        methods = multiprocessing.get_all_start_methods()
        context: Any = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
        if "forkserver" in methods:
            context.set_forkserver_preload(_PRELOAD)
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(theirs, setup), daemon=True)
        self.process.start()
        theirs.close()
        self.spec: RunSpec | None = None

    def start(self, spec: RunSpec) -> None:
        """Give it a run."""
        self.spec = spec
        self.connection.send(spec)

    def stop(self) -> None:
        """End it, whatever it is at."""
        self.process.kill()
        self.process.join()
        self.connection.close()


def run_in_processes(
    runner: Runner, specs: Sequence[RunSpec], jobs: int, bury: Callable[[RunSpec, str], dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    """The records of ``specs`` by run id. ``bury`` makes the record of a run whose process failed it."""
    share = max((os.cpu_count() or 1) // jobs, 1)
    theirs = replace(runner, threads=runner.threads or share, jobs=1)
    parts = {key: value for key, value in vars(theirs).items() if key not in ("registry", "plugins", "listener")}
    setup = Setup(parts)
    waiting, records = deque(specs), dict[str, dict[str, Any]]()
    workers = [Worker(setup) for _ in range(min(jobs, len(specs)))]
    try:
        while waiting or any(worker.spec for worker in workers):
            for place, worker in enumerate(workers):
                if worker.spec is None and waiting:
                    if not worker.process.is_alive():
                        worker.stop()
                        workers[place] = worker = Worker(setup)  # noqa: PLW2901 - a new one in its place
                    worker.start(waiting.popleft())
            for ready in wait([worker.connection for worker in workers if worker.spec]):
                worker = next(each for each in workers if each.connection is ready)
                _hear(worker, runner.listener, records, bury)
    finally:
        for worker in workers:
            worker.stop()
    return records


def _hear(
    worker: Worker,
    listener: Listener,
    records: dict[str, dict[str, Any]],
    bury: Callable[[RunSpec, str], dict[str, Any]],
) -> None:
    """One message of a process, or its end."""
    spec = worker.spec
    assert spec is not None
    try:
        what, *details = worker.connection.recv()
    except (EOFError, OSError):
        worker.process.join()
        what, details = "ended", [_cause(worker.process.exitcode)]
    if what == "warning":
        warnings.warn(details[0], BenchWarning, stacklevel=2)
    elif what == "ended":
        worker.spec = None
        if spec.run_id not in records:
            records[spec.run_id] = bury(spec, details[0] or "it left no record")
            listener.run_finished(spec, records[spec.run_id])
    else:
        if what == "run_finished":
            records[spec.run_id] = details[1]
        getattr(listener, what)(*details)


def _cause(exitcode: int | None) -> str:
    """Why a process ended, in words."""
    if exitcode is not None and exitcode < 0:
        name = signal.Signals(-exitcode).name
        hint = ", as happens when memory runs out" if name == "SIGKILL" else ""
        return f"its process was ended by {name}{hint}"
    return f"its process ended with exit code {exitcode}"


def check_jobs(jobs: int) -> int:
    """``--jobs`` as it can be."""
    if jobs < 1:
        raise BenchError(f"--jobs {jobs}: at least 1")
    return jobs
