"""Every method that is offered says where it comes from and what it works for, and runs."""

from __future__ import annotations

import json

import pytest

from harness import make_runner
from pseudobench.experiments.resolving import resolve
from pseudobench.registry.components import installed

NEW = {
    "csa": [],
    "fdr": [],
    "fdr-cross": [],
    "flexmatch": [],
    "flexmatch-rule": [],
    "freematch-rule": [],
    "lac-singleton": [],
    "noisy-student": [],
    "pablo": [],
    "pl-folds": ["multi-label"],
    "semi-singleton": [],
    "ups-lac": ["multi-label"],
}


def test_the_list_of_methods_names_sources_and_tasks(bench):
    listed = {each["name"]: each for each in json.loads(bench("list", "methods", "--json").out)}
    for name, further in NEW.items():
        assert listed[name]["tasks"].split(", ") == ["single-label", *further]
        assert listed[name]["source"]
    assert listed["supervised"]["tasks"] == "single-label, multi-label"
    assert "source" in bench("list", "methods").out


@pytest.mark.parametrize("method", sorted(set(NEW) - {"fdr", "fdr-cross", "flexmatch", "pl-folds"}))
def test_each_runs_on_digits(tmp_path, method):
    plugins, registry = installed()
    settings = {"loop.rounds": 1, "recipe.epochs": 1, "recipe.steps": 10, "recipe.threads": 1}
    settings |= {"calibration.folds": 2} if method in ("ups-lac", "lac-singleton") else {}
    spec = resolve(registry, method=method, dataset="digits", seed=0, labels=40, settings=settings)
    (record,) = make_runner(tmp_path, registry, plugins).run([spec])
    assert record["status"] == "done", record["error"]
    assert [each["round"] for each in record["rounds"]] == [0, 1]
