"""Submitting jobs, finding them again after a restart, and the work of a job."""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import submitit

from pseudobench import BenchError, Detached
from pseudobench.executors import Batch, End, Ended, JobNotes, Setup, attempt, warnings_sent

if TYPE_CHECKING:
    from pseudobench.executors import RunSpec
    from pseudobench_slurm import Slurm

#: Largest number of jobs in an array: Slurm's default limit.
_ARRAY = 1000
#: Seconds between two looks at the queue, at first and later: Slurm's controller serves other users too.
_PAUSES = (1.0, 10.0)


class Job:
    """The work of a job. Submitit calls it, and calls `checkpoint` when the time limit is near."""

    def __call__(self, setup: Setup, specs: Sequence[RunSpec], notes: JobNotes) -> None:
        """Execute runs one after another and note their ends. Finished runs are not executed again."""
        with warnings_sent(_print):
            runner = setup.runner(_print)
            for spec in specs:
                notes.put_end(spec.run_id, attempt(runner, spec))

    def checkpoint(self, *arguments: Any) -> submitit.helpers.DelayedSubmission:
        """Queue the job again with the same runs, which go on from their last checkpoint."""
        return submitit.helpers.DelayedSubmission(self, *arguments)


def _print(message: tuple[Any, ...]) -> None:
    """Print warnings and finished rounds to the job's log."""
    kind, *details = message
    if kind in ("warning", "round_finished"):
        print(kind, *details, flush=True)


def execute(options: Slurm, batch: Batch) -> Iterator[Ended]:
    """Submit new runs, and wait for the runs submitted now and by earlier commands."""
    notes, cluster = JobNotes(batch.folder), Cluster(options.cluster)
    notes.prepare()
    _forget_old(batch, notes)
    left = notes.jobs()
    alive = cluster.alive(left.values())
    known = {spec.run_id: spec for spec in batch.specs}
    queued = {run_id: job for run_id, job in left.items() if run_id in known and job in alive}
    new = [spec for spec in batch.specs if spec.run_id not in queued and notes.end(spec.run_id) is None]
    queued |= cluster.submit(options, batch, notes, new)
    if not options.wait:
        raise Detached(
            f"{len(queued)} runs are in the queue; the same command collects them, `bench status` shows them"
        )
    started = time.monotonic()
    waiting = dict(known)
    while waiting:
        alive = cluster.alive(queued.values())  # asked before reading notes: a run that ends in between is not lost
        for run_id in list(waiting):
            ended = notes.end(run_id)
            if ended is None and queued.get(run_id) not in alive:
                ended = notes.end(run_id) or End(f"its job {queued.get(run_id)} ended without a word; see its log")
            if ended is not None:
                notes.forget(run_id)
                yield waiting.pop(run_id), ended.reason
        time.sleep(min(max(_PAUSES[0], (time.monotonic() - started) / 20), _PAUSES[1]) if waiting else 0)


def _forget_old(batch: Batch, notes: JobNotes) -> None:
    """Forget the noted ends of runs to be repeated: with --force, or because their record was deleted."""
    for spec in batch.specs:
        ended = notes.end(spec.run_id)
        gone = ended == End(None) and not (batch.folder / f"{spec.run_id}.json").exists()
        if gone or (ended and batch.setup.config.force):
            notes.forget(spec.run_id)


class Cluster:
    """Slurm, or processes on this machine that stand in for it."""

    def __init__(self, kind: str) -> None:
        if kind == "slurm" and shutil.which("sbatch") is None:
            raise BenchError("there is no Slurm here (no sbatch); --slurm-cluster local tries it without")
        self._kind = kind
        self._own: dict[str, Any] = {}

    def submit(self, options: Slurm, batch: Batch, notes: JobNotes, specs: Sequence[RunSpec]) -> dict[str, str]:
        """Submit jobs for the runs; run id to job id."""
        setup = batch.setup.with_threads(options.cpus)
        pieces = [specs[start : start + options.runs] for start in range(0, len(specs), options.runs)]
        found: dict[str, str] = {}
        for start in range(0, len(pieces), _ARRAY):
            some = pieces[start : start + _ARRAY]
            executor = submitit.AutoExecutor(notes.new_folder(), cluster=self._kind)
            executor.update_parameters(**_limits(options, batch.jobs))
            for piece, job in zip(some, _submit(executor, setup, some, notes), strict=True):
                self._own[job.job_id] = job
                for spec in piece:
                    notes.put(spec.run_id, job.job_id)
                    found[spec.run_id] = job.job_id
        return found

    def alive(self, jobs: Any) -> set[str]:
        """The subset of ``jobs`` that waits or runs, by squeue: not every cluster has Slurm's accounting."""
        if self._kind == "local":
            return {job for job in jobs if (not self._own[job].done() if job in self._own else _is_process(job))}
        command = ["squeue", "--noheader", "--array", "--format=%i", f"--user={getpass.getuser()}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode:
            return set(jobs)  # the controller is busy or restarting: assume that all are alive
        return set(done.stdout.split()) & set(jobs)


def _submit(executor: Any, setup: Setup, pieces: Sequence[Sequence[RunSpec]], notes: JobNotes) -> list[Any]:
    try:
        return list(executor.map_array(Job(), *zip(*((setup, piece, notes) for piece in pieces), strict=True)))
    except submitit.core.utils.FailedJobError as error:
        raise BenchError(f"Slurm does not take the jobs: {str(error).splitlines()[-1]}") from None


def _limits(options: Slurm, jobs: int | None) -> dict[str, Any]:
    limits: dict[str, Any] = {
        "name": "pseudobench",
        "timeout_min": options.time,
        "cpus_per_task": options.cpus,
        "mem_gb": options.memory,
        "slurm_array_parallelism": jobs or _ARRAY,
    }
    if options.gpus:
        limits["gpus_per_node"] = options.gpus
    named = {"slurm_partition": options.partition, "slurm_account": options.account}
    return limits | {key: value for key, value in named.items() if value is not None}


def _is_process(job: str) -> bool:
    """Whether the process that stands in for a job is running; a zombie still has its process id."""
    try:
        os.kill(int(job), 0)
        return Path(f"/proc/{job}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError, ValueError):
        return False
    except PermissionError:
        return True
