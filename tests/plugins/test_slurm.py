"""Runs as jobs of a real Slurm where that is installed, and of submitit's local executor anywhere."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import slurm

from harness import make_runner
from pseudobench.errors import Detached
from pseudobench.execution.status import states
from pseudobench.experiments.resolving import resolve
from pseudobench.registry.components import installed
from pseudobench.storage.job_notes import JobNotes
from pseudobench.storage.records import Store, without_times
from pseudobench_slurm import Slurm
from pseudobench_slurm.jobs import Cluster

# Submitit does not wait for its local processes: Python complains when it forgets them.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
QUICK = {"recipe.epochs": 3, "recipe.steps": 10, "recipe.threads": 1, "loop.rounds": 1}


@pytest.fixture(scope="module", params=["local", "slurm"])
def cluster(request, tmp_path_factory):
    if request.param == "local":
        yield "local"
    elif slurm.is_installed():
        with slurm.started(tmp_path_factory.mktemp("slurm")):
            yield "slurm"
    else:
        pytest.skip("Slurm is not installed (as root: apt-get install slurm-wlm munge)")


def on(cluster, **options):
    return Slurm(cluster=cluster, cpus=1, memory=2, **options)


def runner(folder, executor=None):
    plugins, registry = installed()
    return make_runner(folder, registry, plugins, executor=executor, cache=folder / "cache")


def specs(registry, **settings):
    return [
        resolve(registry, method=method, dataset="digits", seed=seed, settings={**QUICK, **settings})
        for seed in (0, 1)
        for method in ("supervised", "pl")
    ]


def until(happened, seconds=120):
    for _ in range(10 * seconds):
        if happened():
            return
        time.sleep(0.1)
    raise AssertionError("it did not happen")


def test_submit_leave_come_back_collect(cluster, tmp_path, registry):
    asked = specs(registry)
    expected = runner(tmp_path / "serial").run(asked)
    folder = tmp_path / "jobs"
    with pytest.raises(Detached, match="4 runs are in the queue"):
        runner(folder, on(cluster, runs=2, wait=False)).run(asked)
    jobs = set(JobNotes(folder).jobs().values())
    assert len(jobs) == 2
    assert {run.state for run in states(Store(folder), asked)} <= {"queued", "running", "done"}
    records = runner(folder, on(cluster)).run(asked)  # as a new `bench run` would: it knows notes alone
    assert [without_times(each) for each in records] == [without_times(each) for each in expected]
    assert {run.state for run in states(Store(folder), asked)} == {"done"}
    assert JobNotes(folder).jobs() == {}
    assert len(list((folder / ".queue").glob("jobs-*/*_submitted.pkl"))) == 2  # nothing was submitted twice


def kill(cluster, job):
    """End a job as a dead node would: all its processes, without a word."""
    if cluster == "slurm":
        subprocess.run(["scancel", "--full", "--signal=KILL", job], check=True)
        subprocess.run(["scancel", job], check=True)
    else:
        children = Path(f"/proc/{job}/task/{job}/children").read_text().split()
        for pid in (job, *children):
            os.kill(int(pid), signal.SIGKILL)


def test_what_a_dead_job_had_begun_is_finished_by_the_next_command(cluster, tmp_path, registry):
    asked = specs(registry, **{"recipe.epochs": 40})[1:2]
    expected = runner(tmp_path / "serial").run(asked)
    folder = tmp_path / "jobs"
    with pytest.raises(Detached):
        runner(folder, on(cluster, wait=False)).run(asked)
    until(lambda: Store(folder).load(asked[0].run_id))
    job = JobNotes(folder).jobs()[asked[0].run_id]
    kill(cluster, job)
    until(lambda: not Cluster(cluster).alive({job}))  # while it is dying, the next command would wait for it
    (record,) = runner(folder, on(cluster)).run(asked)
    assert without_times(record) == without_times(expected[0])


def test_a_job_that_dies_while_it_is_waited_for_is_one_failed_run(cluster, tmp_path, registry):
    endless = {"recipe.epochs": 100_000}  # many minutes
    asked = [*specs(registry, **endless)[:1], *specs(registry)[:1]]
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(runner(tmp_path, on(cluster)).run, asked)
        until(lambda: Store(tmp_path).load(asked[0].run_id))
        kill(cluster, JobNotes(tmp_path).jobs()[asked[0].run_id])
        failed, done = waiting.result(timeout=120)
    assert (failed["status"], done["status"]) == ("failed", "done")
    assert "ended without a word; see its log" in failed["error"]["message"]


def test_without_slurm_it_says_so(bench, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    outcome = bench("run", "--preset", "smoke", "--methods", "supervised", "--seeds", "1", "--executor", "slurm")
    assert outcome.code == 2
    assert "there is no Slurm here (no sbatch); --slurm-cluster local tries it without" in outcome.err
