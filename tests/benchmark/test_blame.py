"""What goes wrong in a plugin while it is used is blamed on it, and the rest works."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest
from strangers import Anything, load, plugin

from harness import make_runner
from pseudobench import Backbone, BenchError, BenchWarning, Column, Estimate, Selection, param
from pseudobench.analysis.dataframe import frame
from pseudobench.analysis.run_facts import read_facts
from pseudobench.experiments.resolving import resolve
from pseudobench.learning.networks import check_backbone


@dataclass(frozen=True)
class Faulty(Anything):
    """A selector that does what it is told."""

    name: ClassVar[str] = "faulty"
    fault: str = param("raises", "what is wrong with it", choices=("raises", "shape", "type", "both"))

    def select(self, estimate, labels, sets, context):
        if self.fault == "raises":
            raise IndexError("out of\nreach")
        if self.fault == "type":
            return labels.target
        if self.fault == "both":
            return Selection(labels.target, labels.target)
        return Selection(labels.target[:3], labels.target[:3] & False)


@dataclass(frozen=True)
class Nan:
    """An estimator that knows nothing."""

    name: ClassVar[str] = "nan"
    needs_sets: ClassVar[bool] = False

    def estimate(self, pool, sets, context):
        probs = pool.logits() * float("nan")
        return Estimate(probs, probs)


@pytest.mark.parametrize(
    ("method", "fault", "expected"),
    [
        (
            "softmax+hard+faulty",
            "raises",
            "selector 'faulty' of plugin 'stranger' (dist-stranger 1.2): IndexError: out of",
        ),
        ("softmax+hard+faulty", "shape", "returned Selection of shape [3, 10], not [1161, 10]"),
        ("softmax+hard+faulty", "type", "returned Tensor, not Selection"),
        ("softmax+hard+faulty", "both", "Selection holds a class as both positive and negative"),
        (
            "nan+hard+ups",
            "raises",
            "estimator 'nan' of plugin 'stranger' (dist-stranger 1.2): Estimate.probs holds NaN",
        ),
    ],
)
def test_what_goes_wrong_in_a_stage_is_blamed_on_its_plugin(tmp_path, method, fault, expected):
    plugins, registry = load(plugin(bench_selectors=lambda: [Faulty], bench_estimators=lambda: [Nan]))
    settings = {"faulty.fault": fault} if "faulty" in method else {}
    spec = resolve(registry, method=method, dataset="digits", seed=0, preset="smoke", settings=settings)
    (record,) = make_runner(tmp_path, registry, plugins).run([spec])
    assert record["status"] == "failed"
    assert expected in record["error"]["message"]
    assert "\n" not in record["error"]["message"]


def test_a_failing_listener_is_a_warning_and_the_others_hear():
    heard = []

    def fails(spec):
        raise ValueError("deaf")

    def hears(spec):
        heard.append(spec)

    plugins, _ = load(plugin("first", bench_run_started=fails), plugin("second", bench_run_started=hears))
    with pytest.warns(BenchWarning, match=r"'first' \(dist-first 1.2\) failed in bench_run_started: ValueError: deaf"):
        plugins.notify("bench_run_started", spec="the spec")
    assert heard == ["the spec"]


def test_one_strangers_backbone_that_does_not_import_harms_no_other():
    _, registry = load(plugin(bench_backbones=lambda: [Backbone("ghost_net", "a_module_that_is_not_there", "boo")]))
    check_backbone(registry, "digits_cnn")
    with pytest.raises(BenchError, match=r"backbone 'ghost_net' of plugin 'stranger' \(dist-stranger 1.2\) can't be"):
        check_backbone(registry, "ghost_net")


def test_one_strangers_column_that_fails_is_named_and_empty(tmp_path):
    def fails(record):
        raise KeyError("nothing there")

    plugins, registry = load(plugin(bench_columns=lambda: [Column("ghost", "fails", fails)]))
    spec = resolve(registry, method="supervised", dataset="digits", seed=0, preset="smoke")
    records = make_runner(tmp_path, registry, plugins).run([spec])
    with pytest.warns(BenchWarning, match=r"column 'ghost' of plugin 'stranger' \(dist-stranger 1.2\) can't read"):
        runs = frame(read_facts(records, registry), registry)
    assert runs["ghost"].isna().all()
    assert runs["accuracy"].notna().all()
