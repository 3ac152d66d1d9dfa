"""Runs as tasks of a real Ray cluster of two nodes, on loopback."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
import ray
from ray.cluster_utils import Cluster

from harness import make_runner
from pseudobench.analysis.arms import arms_of
from pseudobench.analysis.run_facts import pick_columns, read_facts
from pseudobench.analysis.tables import summarize
from pseudobench.contracts.events import Listener
from pseudobench.experiments.resolving import resolve
from pseudobench.output.formats import to_markdown
from pseudobench.output.text_tables import table_grid
from pseudobench.registry.components import installed
from pseudobench.storage.records import without_times
from pseudobench_ray import Ray

QUICK = {"recipe.epochs": 30, "recipe.steps": 20, "recipe.threads": 1, "loop.rounds": 1}


def runner(folder, listener=None, executor=None):
    plugins, registry = installed()
    settings = {"cache": folder / "cache", "checkpoint_seconds": 0.1}
    return make_runner(folder, registry, plugins, listener, executor, **settings)


def specs(registry, seeds=2):
    return [
        resolve(registry, method=method, dataset="digits", seed=seed, settings=QUICK)
        for seed in range(seeds)
        for method in ("supervised", "pl", "ups-raps")
    ]


@pytest.fixture
def cluster(monkeypatch):
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_worker_niceness", "0")
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    made.add_node(num_cpus=1)
    assert made.address.startswith("127.0.0.1:")
    yield made
    ray.shutdown()
    made.shutdown()


def workers() -> list[int]:
    """The processes that are at a run."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "cmdline").read_bytes().startswith(b"ray::work"):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


class Killing(Listener):
    """Kills a worker at the first epoch that it hears of, and a whole node some runs later."""

    def __init__(self, cluster):
        self.cluster, self.killed, self.ended, self.epochs = cluster, [], 0, 0

    def epoch_finished(self, spec, progress):
        self.epochs += 1
        if not self.killed:
            self.killed.append("worker")
            os.kill(workers()[0], signal.SIGKILL)

    def run_finished(self, spec, record):
        self.ended += 1
        if self.ended == 2:
            self.killed.append("node")
            self.cluster.remove_node(next(iter(self.cluster.worker_nodes)), allow_graceful=False)


def test_a_killed_worker_and_a_killed_node_change_nothing(cluster, tmp_path, registry):
    asked = specs(registry)
    expected = runner(tmp_path / "serial").run(asked)
    listener = Killing(cluster)
    records = runner(tmp_path / "ray", listener, Ray(address=cluster.address)).run(asked)
    assert listener.killed == ["worker", "node"]
    assert listener.ended == len(asked)
    assert [without_times(each) for each in records] == [without_times(each) for each in expected]
    columns = pick_columns(registry, ("accuracy", "selected", "coverage"))
    arms = [arms_of(read_facts(each, registry), registry) for each in (records, expected)]
    tables = [to_markdown(table_grid(summarize(each, columns))) for each in arms]
    assert tables[0] == tables[1]


def test_a_run_that_no_node_can_take_is_refused(cluster, tmp_path, registry):
    started = time.monotonic()
    with pytest.raises(Exception, match="no node of the cluster has 64 CPUs and 0 GPUs for a run"):
        runner(tmp_path, executor=Ray(address=cluster.address, cpus=64)).run(specs(registry, 1))
    assert time.monotonic() > started


def test_no_cluster_at_an_address_is_one_line(bench):
    asked = ("run", "--preset", "smoke", "--methods", "supervised", "--seeds", "1")
    outcome = bench(*asked, "--executor", "ray", "--ray-address", "127.0.0.1:1")
    assert outcome.code == 2
    assert "no Ray cluster answers at 127.0.0.1:1" in outcome.err
