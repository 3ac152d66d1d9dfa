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
    """Tasks of a Ray cluster, or of a Ray started on this machine; needs the extra `ray`."""

    name: ClassVar[str] = "ray"
    address: str | None = param(None, "host:port of a running cluster; auto: the one on this machine; none: start one")
    cpus: int = param(1, "CPUs of a run, and its number of threads", low=1)
    gpus: float = param(0, "GPUs of a run; with a fraction, several runs share one", low=0)
    retries: int = param(3, "number of restarts of a run whose worker or node dies", low=0)

    def execute(self, batch: Batch) -> Iterator[Ended]:
        """Execute as many runs at a time as the cluster has room for; a restarted run goes on where it stood."""
        if self.address is None:  # read by Ray at import: keeps a Ray of our own on loopback
            os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        try:
            import ray  # noqa: F401
        except ImportError:
            raise BenchError("--executor ray needs Ray: pip install 'pseudobench[ray]'") from None
        from pseudobench_ray.tasks import execute

        return execute(self, batch)


@hookimpl
def bench_executors() -> list[type]:
    """Offer Ray."""
    return [Ray]
