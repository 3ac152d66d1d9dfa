"""Runs as Ray tasks, on this machine or on a cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pseudobench import BenchError, hookimpl, param

if TYPE_CHECKING:
    from pseudobench.executors import Batch, Ended


@dataclass(frozen=True)
class Ray:
    """Tasks of a Ray cluster, or of a Ray started for the occasion; needs the extra `ray`."""

    name: ClassVar[str] = "ray"
    address: str | None = param(None, "host:port of a running cluster, or auto for the one here; none: start one")
    cpus: int = param(1, "CPUs that a run takes, and its threads", low=1)
    gpus: float = param(0, "GPUs that a run takes; a fraction shares one", low=0)
    retries: int = param(3, "times that a run is started again when its worker or node dies", low=0)

    def execute(self, batch: Batch) -> Iterator[Ended]:
        """As many runs at a time as the cluster has room for; each goes on where it stood if its node dies."""
        if self.address is None:  # Ray reads it when it is imported: one that is for us alone listens on loopback
            os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        try:
            import ray  # noqa: F401
        except ImportError:
            raise BenchError("--executor ray needs Ray: pip install 'pseudobench[ray]'") from None
        from pseudobench_ray.tasks import execute

        return execute(self, batch)


@hookimpl
def bench_executors() -> list[type]:
    """Ray."""
    return [Ray]
