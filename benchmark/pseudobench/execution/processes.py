"""Runs in processes of their own, several at a time. One that dies (a segfault, no memory) is one failed run."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar

from pseudobench.base.machine import cores, free_memory
from pseudobench.contracts.executing import Batch, Ended, Message, Runner, Setup
from pseudobench.contracts.hookspecs import hookimpl
from pseudobench.contracts.run_spec import RunSpec
from pseudobench.contracts.settings import Recipe
from pseudobench.errors import Abandoned, BenchError, one_line
from pseudobench.execution.environment import pick_device
from pseudobench.execution.workers import attempt, prints_sent, warnings_sent
from pseudobench.registry.components import installed
from pseudobench.registry.plugins import FILE

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


#: Seconds until a run has begun in its process, before its own time counts.
_STARTING = 120.0
#: Environment variable of Python: if set, the current folder is not where modules are looked for first.
_SAFE_PATH = "PYTHONSAFEPATH"
#: Bytes that a run with a small network and a dataset such as CIFAR takes, features included.
_MEMORY = 2 << 30


@dataclass(frozen=True)
class Processes:
    """Processes on this machine, each with its share of the cores; --jobs says how many, or all cores decide."""

    name: ClassVar[str] = "processes"

    def execute(self, batch: Batch) -> Iterator[Ended]:
        """One long-lived process per job: importing torch anew would cost more than a small run."""
        from multiprocessing.connection import wait

        allowed = batch.jobs or automatic_jobs(batch.specs, batch.setup.config.device)
        jobs = min(allowed, len(batch.specs))
        setup = batch.setup.with_threads(cores() // allowed)
        waiting = deque(batch.specs)
        warm_up(batch.specs)
        workers = [Worker(setup) for _ in range(jobs)]
        try:
            while waiting or any(worker.spec for worker in workers):
                for position, worker in enumerate(workers):
                    if worker.spec is None and waiting:
                        if not worker.process.is_alive():
                            worker.stop()
                            workers[position] = worker = Worker(setup)  # noqa: PLW2901 - a new one in its place
                        worker.start(waiting.popleft())
                busy = [worker for worker in workers if worker.spec]
                for ready in wait([worker.connection for worker in busy], _patience(busy)):
                    worker = next(each for each in workers if each.connection is ready)
                    yield from worker.hear(batch)
                for worker in workers:
                    yield from worker.expire()
        finally:
            for worker in workers:
                worker.stop()


@hookimpl
def bench_executors() -> list[type[Processes]]:
    """Offer processes on this machine."""
    return [Processes]


def automatic_jobs(specs: Iterable[RunSpec], device: str) -> int:
    """The number of runs at a time that keeps this machine busy: ``--jobs auto``.

    On the CPU each core gets a run if runs take one thread each, and memory is enough; a run that takes all cores, or
    the device, has it for itself.
    """
    if pick_device(device).type != "cpu":
        return 1
    threads = max((spec.group(Recipe).threads or cores() for spec in specs), default=1)
    return max(min(cores() // threads, free_memory() // _MEMORY), 1)


def warm_up(specs: Iterable[RunSpec]) -> None:
    """Start the process that workers are forked from; it imports torch while this process does.

    It imports the modules that the first run needs: the runner, and the modules of the backbones of plugins; not those
    of plugin files, which may be edited while it lives.
    """
    context = _context()
    if context.get_start_method() == "forkserver":
        from multiprocessing import forkserver

        wanted = {spec.backbone for spec in specs}
        plugins, registry = installed()
        used = [entry for entry in registry.of("backbones") if entry.name in wanted]
        lasting = [entry for entry in used if plugins.infos[entry.plugin].distribution != FILE]
        modules = dict.fromkeys(entry.component.module for entry in lasting)
        context.set_forkserver_preload(["pseudobench.execution.runner", *modules])
        with _ignoring_interrupts(), _without_this_folder():  # Ctrl-C is for this process; it would print a traceback
            forkserver.ensure_running()


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Processes started in this context ignore Ctrl-C. Only the main thread can arrange this."""
    try:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _without_this_folder() -> Iterator[None]:
    """Processes started in this context import nothing from the current folder: a random.py there is not Python's own.

    They still get the import path of this process, and with it the folders of plugin files.
    """
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        os.environ.pop(_SAFE_PATH)
        if before is not None:
            os.environ[_SAFE_PATH] = before


def _patience(workers: Iterable[Worker]) -> float | None:
    """Seconds until the first deadline of the workers; None without deadlines."""
    ends = [worker.deadline for worker in workers if worker.deadline is not None]
    return max(min(ends) - time.monotonic(), 0.0) if ends else None


def _context() -> Any:
    import multiprocessing

    methods = multiprocessing.get_all_start_methods()
    return multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")


class Worker:
    """A process and its current run."""

    def __init__(self, setup: Setup) -> None:
        context = _context()
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(theirs, setup), daemon=True)
        try:
            with _without_this_folder():
                self.process.start()
        except (EOFError, OSError) as error:  # click would take the former for an interruption
            raise BenchError(f"no process can be started ({one_line(error)}); --in-process does without") from error
        theirs.close()
        self.spec: RunSpec | None = None
        self.deadline: float | None = None
        self._timeout = setup.config.timeout

    def start(self, spec: RunSpec) -> None:
        """Give it a run."""
        self.spec = spec
        self._allow(_STARTING)  # it may have to import torch and read its dataset first
        with suppress(OSError):  # it has died; its end is heard next
            self.connection.send(spec)

    def _allow(self, more: float = 0.0) -> None:
        """Set the deadline of its run: --timeout from now, plus ``more`` seconds."""
        self.deadline = None if self._timeout is None else time.monotonic() + self._timeout + more

    def expire(self) -> Iterator[Ended]:
        """End the process if the deadline of its run has passed; yields that run."""
        if self.spec is not None and self.deadline is not None and time.monotonic() >= self.deadline:
            spec, self.spec = self.spec, None
            self.process.kill()
            self.process.join()  # so that is_alive() is false from here on
            yield spec, f"it took longer than the {self._timeout:g} s of --timeout"

    def hear(self, batch: Batch) -> Iterator[Ended]:
        """Handle one message of the process, or its death; yields the run if it has ended."""
        spec = self.spec
        assert spec is not None
        try:
            what, *details = self.connection.recv()
        except (EOFError, OSError):
            self.process.join()
            what, details = "ended", [_cause(self.process.exitcode)]
        if what == "ended":
            self.spec = self.deadline = None
            yield spec, details[0]
        else:
            if what == "run_started":
                self._allow()
            batch.hear((what, *details))

    def stop(self) -> None:
        """End the process, even in the middle of a run."""
        self.process.kill()
        self.process.join()
        self.connection.close()


def work(connection: Connection, setup: Setup) -> None:
    """The main function of a worker process: do each run that it receives, until it receives None."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # standard output is the command's: a library may write to it
    turn = RLock()

    def send(message: Message) -> None:
        with turn:  # threads of a plugin may print
            connection.send(message)

    with suppress(Abandoned, EOFError, OSError), warnings_sent(send), prints_sent(send):
        runner = _runner(send, setup)
        while (spec := connection.recv()) is not None:
            send(("ended", runner if isinstance(runner, str) else attempt(runner, spec)))


def _runner(send: Callable[[Message], None], setup: Setup) -> Runner | str:
    """The runner of a process, or why there is none."""
    try:
        return setup.runner(send)
    except BenchError as error:
        return one_line(error)


def _cause(exitcode: int | None) -> str:
    """Why a process ended, in words."""
    if exitcode is not None and exitcode < 0:
        known = {each.value: each.name for each in signal.Signals}
        name = known.get(-exitcode, f"signal {-exitcode}")
        hint = ", as happens when memory runs out" if name == "SIGKILL" else ""
        return f"its process was ended by {name}{hint}"
    return f"its process ended with exit code {exitcode}"
