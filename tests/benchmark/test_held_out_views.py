"""Objectives with views see held-out samples as part of the pool, without labels."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

import pytest
from averaging_objective import Average

from harness import make_runner
from pseudobench import hookimpl
from pseudobench.experiments.resolving import resolve
from pseudobench.registry.components import build_registry
from pseudobench.registry.plugins import PluginInfo, load_plugins

LABELS, TRAINING = 40, 1201  # of digits
SEEN = []


@dataclass(frozen=True)
class Counts(Average):
    """Notes how many samples its views may show."""

    name: ClassVar[str] = "counts"

    def start(self, context, pool):
        SEEN.append(pool)
        return super().start(context, pool)


@pytest.fixture
def ours():
    plugins = load_plugins()
    offers = SimpleNamespace(bench_objectives=hookimpl(lambda: [Counts]))
    plugins.add(offers, PluginInfo("ours", "ours", "1"))
    return plugins, build_registry(plugins)


@pytest.mark.parametrize(
    ("policy", "further"),
    [("held-out", [10, 10]), ("cross", [0, 20, 20, 0])],  # main and two folds; after the last round the main one alone
)
def test_samples_held_out_are_seen_without_labels(tmp_path, ours, policy, further):
    plugins, registry = ours
    SEEN.clear()
    settings = {"recipe.epochs": 1, "recipe.steps": 2, "loop.rounds": 1, "recipe.threads": 1}
    settings |= {"calibration.policy": policy} | ({"calibration.folds": 2} if policy == "cross" else {})
    spec = resolve(
        registry,
        method="softmax+hard+fdr+counts",
        dataset="digits",
        labels=LABELS,
        seed=0,
        settings=settings,
    )
    (record,) = make_runner(tmp_path, registry, plugins).run([spec])
    assert record["status"] == "done", record["error"]
    assert [seen - TRAINING + LABELS for seen in SEEN] == further
