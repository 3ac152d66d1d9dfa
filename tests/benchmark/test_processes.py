"""Runs in processes of their own."""

from __future__ import annotations

import os
import signal
import warnings

import pytest

from harness import make_runner
from pseudobench.contracts.events import Listener
from pseudobench.experiments.resolving import resolve
from pseudobench.registry.components import installed
from pseudobench.storage.records import without_times

QUICK = {"recipe.epochs": 3, "recipe.steps": 10, "recipe.threads": 1, "loop.rounds": 1}


def runner(folder, jobs, listener=None, cache=None):
    plugins, registry = installed()
    return make_runner(folder, registry, plugins, listener, cache=cache, jobs=jobs)


def specs(registry, methods=("supervised", "pl", "ups-raps-held-out"), **settings):
    return [
        resolve(registry, method=method, dataset="digits", seed=seed, settings={**QUICK, **settings})
        for seed in (0, 1)
        for method in methods
    ]


class Counting(Listener):
    def __init__(self):
        self.heard: dict[str, int] = {}

    def _hear(self, what):
        self.heard[what] = self.heard.get(what, 0) + 1

    def run_started(self, spec):
        self._hear("started")

    def epoch_finished(self, spec, progress):
        self._hear("epochs")

    def round_finished(self, spec, round_):
        self._hear("rounds")

    def run_finished(self, spec, record):
        self._hear("finished")


def test_processes_give_the_records_of_one_process_and_tell_how_it_goes(tmp_path, registry):
    asked, listener = specs(registry), Counting()
    expected = runner(tmp_path / "serial", 1).run(asked)
    records = runner(tmp_path / "jobs", 2, listener, tmp_path / "cache").run(asked)
    assert [without_times(each) for each in records] == [without_times(each) for each in expected]
    assert listener.heard == {
        "started": 6,
        "rounds": 10,
        "epochs": 26,
        "finished": 6,
    }
    trained = sum(round_["work"]["trained"] for record in records for round_ in record["rounds"])
    assert trained == 8  # 10 networks, but the first round of supervised and pl is the same


class Killing(Listener):
    """Kills the process of the second run, from outside, after its first epoch."""

    def __init__(self):
        self.victim = None

    def epoch_finished(self, spec, progress):
        import multiprocessing

        if self.victim is None and spec.method == "pl":
            self.victim = spec.run_id
            for process in multiprocessing.active_children():
                os.kill(process.pid, signal.SIGKILL)


def test_a_process_that_dies_is_one_failed_run(tmp_path, registry):
    """With two jobs both processes die here, each with the run that it is at; the rest is done by new ones."""
    asked, listener = specs(registry), Killing()
    records = runner(tmp_path, 2, listener).run(asked)
    failed = [record for record in records if record["status"] == "failed"]
    assert 1 <= len(failed) <= 2
    assert listener.victim in {record["run_id"] for record in failed}
    assert all("ended by SIGKILL, as happens when memory runs out" in each["error"]["message"] for each in failed)
    assert {record["status"] for record in records if record not in failed} == {"done"}
    again = runner(tmp_path, 2).run(asked)
    assert {record["status"] for record in again} == {"done"}


def test_a_failing_run_and_a_warning_come_through(tmp_path, registry):
    (tmp_path / "cache").write_text("a file")
    asked = [*specs(registry, ("supervised",)), *specs(registry, ("supervised",), **{"recipe.lr": 1e30})]
    with pytest.warns(match="nothing can be kept in the cache"):
        records = runner(tmp_path / "runs", 2, cache=tmp_path / "cache").run(asked)
    assert [record["status"] for record in records] == ["done", "done", "failed", "failed"]
    assert "the loss became" in records[3]["error"]["message"]


def test_jobs_from_the_command_line(bench):
    asked = ("run", "--preset", "smoke", "--methods", "supervised,pl", "--seeds", "2")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        outcome = bench(*asked, "--jobs", "2")
    assert outcome.code == 0, outcome.err
    assert "[4/4]" in outcome.err
    assert bench(*asked, "--jobs", "0").err == "error: --jobs 0: at least 1\n"
