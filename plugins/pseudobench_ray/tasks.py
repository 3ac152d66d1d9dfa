"""Executing runs as Ray tasks: the driver's loop, and the task on a worker."""

from __future__ import annotations

import logging
import os
import socket
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from pseudobench import BenchError
from pseudobench.executors import Batch, Ended, Message, Setup, attempt, warnings_sent

if TYPE_CHECKING:
    from pseudobench.executors import Runner, RunSpec
    from pseudobench_ray import Ray

_ray: Any = ray  # some functions of Ray have no types
#: Seconds between two looks at messages and ended tasks.
_PAUSE = 0.5


class Mailbox:
    """An actor on the driver's node. Runs put messages into it, and the driver takes them out."""

    def __init__(self) -> None:
        self._messages: list[Message] = []

    def put(self, message: Message) -> None:
        """Add a message."""
        self._messages.append(message)

    def take(self) -> list[Message]:
        """Remove and return all messages."""
        taken, self._messages = self._messages, []
        return taken


def work(setup: Setup, spec: RunSpec, mailbox: Any) -> str | None:
    """The task: one run. Ray reuses its workers, so that each imports torch and loads the data once."""
    for name, value in _REFUSING.items():  # what a run asks for itself is its own affair
        if os.environ.get(name) == value:
            del os.environ[name]
    _addressed["to"] = mailbox
    with warnings_sent(_send):
        return attempt(_runner(setup), spec)


#: The mailbox of this worker. Kept apart from the cached runner: two handles of one actor are not equal.
_addressed: dict[str, Any] = {}


def _send(message: Message) -> None:
    _addressed["to"].put.remote(message)


@lru_cache(maxsize=1)  # a worker keeps the runner of the last setup, and with it the loaded data
def _runner(setup: Setup) -> Runner:
    return setup.runner(_send)


def execute(options: Ray, batch: Batch) -> Iterator[Ended]:
    """Execute runs as tasks; a few more are submitted than the cluster can execute at once."""
    _connect(options.address)
    try:
        yield from _execute(options, batch)
    finally:
        ray.shutdown()


def _connect(address: str | None) -> None:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if address is None:
            with _requests_refused():
                ray.init(address="local", include_dashboard=False, **quiet)
        else:
            _knock(address)
            ray.init(address=address, **quiet)
    except (OSError, ValueError, RuntimeError) as error:
        raise BenchError(f"no Ray cluster answers at {address}: {' '.join(str(error).split())}") from None


#: A proxy that refuses everything: nothing listens at this port of this machine.
_REFUSING = {
    **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9"),
    **dict.fromkeys(("no_proxy", "NO_PROXY"), "127.0.0.1,localhost,::1"),
}


@contextmanager
def _requests_refused() -> Iterator[None]:
    """Let nothing that Ray starts inside ask the outside world.

    With its usage statistics off it still looks for a cloud's metadata server, and reports that they are off.
    """
    before = {name: os.environ.get(name) for name in _REFUSING}
    os.environ.update(_REFUSING)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _knock(address: str) -> None:
    """Raise if nothing listens at ``address``: Ray itself would try for minutes."""
    host, colon, port = address.rpartition("://")[2].rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=10).close()


def _execute(options: Ray, batch: Batch) -> Iterator[Ended]:
    _check_room(options)
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    mailbox: Any = ray.remote(Mailbox).options(num_cpus=0, scheduling_strategy=here).remote()
    task: Any = ray.remote(work).options(num_cpus=options.cpus, num_gpus=options.gpus, max_retries=options.retries)
    setup = batch.setup.with_threads(options.cpus)
    waiting, running = deque(batch.specs), dict[Any, Any]()
    while waiting or running:
        room = batch.jobs or 2 * int(_ray.cluster_resources().get("CPU", 1) // options.cpus) + 1
        while waiting and len(running) < room:
            spec = waiting.popleft()
            running[task.remote(setup, spec, mailbox)] = spec
        ray.wait(list(running), num_returns=1, timeout=_PAUSE)
        ended, _ = ray.wait(list(running), num_returns=len(running), timeout=0)
        for message in ray.get(mailbox.take.remote()):
            batch.hear(message)
        for each in ended:
            yield running.pop(each), _outcome(each)


def _outcome(task: Any) -> str | None:
    try:
        reason: str | None = ray.get(task)
    except RayError as error:
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"
    return reason


def _check_room(options: Ray) -> None:
    """Raise if no node has the CPUs and GPUs of a run, which would wait for ever."""
    nodes = [node["Resources"] for node in _ray.nodes() if node["Alive"]]
    if not any(node.get("CPU", 0) >= options.cpus and node.get("GPU", 0) >= options.gpus for node in nodes):
        raise BenchError(f"no node of the cluster has {options.cpus} CPUs and {options.gpus:g} GPUs for a run")
