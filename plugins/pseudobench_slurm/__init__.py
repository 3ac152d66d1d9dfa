"""Runs as Slurm jobs, through submitit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pseudobench import BenchError, hookimpl, param

if TYPE_CHECKING:
    from pseudobench.executors import Batch, Ended


@dataclass(frozen=True)
class Slurm:
    """Jobs of a Slurm cluster: submit, leave, come back with the same command; needs the extra `slurm`."""

    name: ClassVar[str] = "slurm"
    partition: str | None = param(None, "partition; none: Slurm's default")
    account: str | None = param(None, "account that is charged; none: Slurm's default")
    time: int = param(240, "time limit of a job in minutes; a job that reaches it is queued again and goes on", low=1)
    cpus: int = param(2, "CPUs of a job, and the number of threads of its runs", low=1)
    gpus: int = param(0, "GPUs of a job", low=0)
    memory: float = param(8, "gigabytes of memory of a job", low=0, exclusive=True)
    runs: int = param(1, "runs of a job, one after another; take more if runs are short", low=1)
    wait: bool = param(True, "false: submit, and come back later with the same command")
    cluster: str = param("slurm", "local: processes on this machine, without Slurm", choices=("slurm", "local"))

    def execute(self, batch: Batch) -> Iterator[Ended]:
        """Submit the runs that are not in the queue yet, and wait for all runs."""
        try:
            import submitit  # noqa: F401
        except ImportError:
            raise BenchError("--executor slurm needs submitit: pip install 'pseudobench[slurm]'") from None
        from pseudobench_slurm.jobs import execute

        return execute(self, batch)


@hookimpl
def bench_executors() -> list[type]:
    """Offer Slurm."""
    return [Slurm]
