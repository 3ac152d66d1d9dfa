"""Runs that are executed elsewhere, as a plugin's executor sees them."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import ClassVar

import pytest

from harness import make_runner
from pseudobench import PluginError, param
from pseudobench.cli import run as run_module
from pseudobench.contracts.events import Listener
from pseudobench.contracts.kinds import kind_named
from pseudobench.execution.runner import in_waves
from pseudobench.execution.workers import attempt
from pseudobench.experiments.resolving import resolve
from pseudobench.registry.components import Registry, installed
from pseudobench.storage.records import Store, without_times

QUICK = {"recipe.epochs": 2, "recipe.steps": 5, "recipe.threads": 1, "loop.rounds": 1}


@dataclass(frozen=True)
class Elsewhere:
    """Every run in this process, but through everything that another machine would need."""

    name: ClassVar[str] = "elsewhere"
    losing: str | None = param(None, "a method whose runs never come back")

    def execute(self, batch):
        setup = pickle.loads(pickle.dumps(batch.setup))
        for spec in reversed(batch.specs):
            if spec.method == self.losing:
                yield spec, "the building burnt down"
            else:
                yield spec, attempt(setup.runner(batch.hear), spec)


class Hearing(Listener):
    def __init__(self):
        self.heard = []

    def run_started(self, spec):
        self.heard.append("started")

    def epoch_finished(self, spec, progress):
        self.heard.append("epoch")

    def run_finished(self, spec, record):
        self.heard.append(record["status"])


def runner(folder, listener, executor=None, **parts):
    plugins, registry = installed()
    return make_runner(folder, registry, plugins, listener, executor, **parts)


def specs(registry):
    return [resolve(registry, method=name, dataset="digits", seed=0, settings=QUICK) for name in ("supervised", "pl")]


def test_records_and_progress_come_back(tmp_path, registry, monkeypatch):
    monkeypatch.chdir(tmp_path)  # folders are given relative to it, and must still be found from elsewhere
    expected = runner(tmp_path / "here", Listener()).run(specs(registry))
    listener = Hearing()
    cache = tmp_path.relative_to(tmp_path) / "cache"
    records = runner(tmp_path.relative_to(tmp_path) / "there", listener, Elsewhere(), cache=cache).run(specs(registry))
    assert [without_times(each) for each in records] == [without_times(each) for each in expected]
    epochs = ["epoch", "epoch"]  # the first network of the second run is there already: it is told of once
    assert listener.heard == ["started", *epochs, *epochs, "done", "started", "epoch", "done"]
    assert runner(tmp_path / "there", Listener(), Elsewhere("pl")).run(specs(registry)) == records  # nothing is left


def test_runs_that_share_their_first_network_do_not_start_side_by_side(registry):
    asked = [
        resolve(registry, method=method, dataset="digits", seed=seed, preset="smoke")
        for seed in (0, 1)
        for method in ("supervised", "pl", "ups")
    ]
    order = [(spec.method, spec.seed) for spec in in_waves(asked)]
    assert order == [("supervised", 0), ("supervised", 1), ("pl", 0), ("pl", 1), ("ups", 0), ("ups", 1)]
    methods = ("supervised", "pl", "ups-raps-held-out", "ups-raps-size")  # the last two begin with fewer labels
    one_seed = [resolve(registry, method=method, dataset="digits", seed=0) for method in methods]
    assert [spec.method for spec in in_waves(one_seed)] == ["supervised", "ups-raps-held-out", "pl", "ups-raps-size"]


def test_a_run_that_never_comes_back_is_a_failed_one(tmp_path, registry):
    listener = Hearing()
    done, lost = runner(tmp_path, listener, Elsewhere("pl")).run(specs(registry))
    assert (done["status"], lost["status"]) == ("done", "failed")
    assert lost["error"]["message"] == "the building burnt down"
    assert Store(tmp_path).load(lost["run_id"]) == lost
    assert sorted(listener.heard) == ["done", "epoch", "epoch", "failed", "started"]


def test_an_executor_that_says_nothing_of_a_run_is_named(tmp_path, registry):
    class Forgetful(Elsewhere):
        def execute(self, batch):
            return list(super().execute(batch))[:1]

    with pytest.raises(PluginError, match=r"executor 'elsewhere' .*1 run, such as digits-.*-supervised-s0"):
        runner(tmp_path, Listener(), Forgetful()).run(specs(registry))


def test_an_executor_with_a_hyphen_takes_options(monkeypatch, bench, registry):
    @dataclass(frozen=True)
    class FarAway(Elsewhere):
        """Elsewhere, by a longer name."""

        name: ClassVar[str] = "far-away"

    more = Registry()
    for entry in registry:
        more.add(kind_named(entry.kind), entry.component, entry.plugin)
    more.add(kind_named("executors"), FarAway, "someone")
    monkeypatch.setattr(run_module, "installed", lambda: (installed()[0], more))
    asked = ("run", "--preset", "smoke", "--methods", "supervised,pl", "--seeds", "1", "--executor", "far-away")
    outcome = bench(*asked, "--far-away-losing", "pl")
    assert outcome.code == 1
    assert "the building burnt down" in outcome.err


def test_a_plugins_executor_is_an_option_with_its_parameters(monkeypatch, bench, registry):
    more = Registry()
    for entry in registry:
        more.add(kind_named(entry.kind), entry.component, entry.plugin)
    more.add(kind_named("executors"), Elsewhere, "someone")
    monkeypatch.setattr(run_module, "installed", lambda: (installed()[0], more))
    assert "--elsewhere-losing" in bench("run", "--help").out
    asked = ("run", "--preset", "smoke", "--methods", "supervised,pl", "--seeds", "1", "--executor", "elsewhere")
    assert bench(*asked).code == 0
    outcome = bench(*asked, "--elsewhere-losing", "pl", "--force")
    assert outcome.code == 1
    assert "the building burnt down" in outcome.err


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--executor", "rya"], "error: there is no executor 'rya'; did you mean 'ray'?"),
        (["--ray-cpus", "2"], "error: --ray-cpus is for --executor ray"),
        (["--executor", "ray", "--ray-cpus", "x"], "error: ray.cpus: 'x' is not a whole number of at least 1"),
        (
            ["--executor", "slurm", "--slurm-cluster", "local", "--results", "memory://runs"],
            "error: jobs leave notes beside the records",
        ),
    ],
)
def test_wrong_executors_are_one_line(bench, options, line):
    outcome = bench("run", "--preset", "smoke", "--methods", "supervised", "--seeds", "1", *options)
    assert outcome.code == 2
    assert outcome.err.splitlines()[-1].startswith(line)
