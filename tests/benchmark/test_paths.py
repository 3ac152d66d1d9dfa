"""Records and cache at a URL: all that a cluster needs is storage that its nodes see."""

from __future__ import annotations

import json

import pytest
from upath import UPath

from harness import make_runner
from pseudobench import BenchError
from pseudobench.base.paths import is_remote, to_path
from pseudobench.experiments.resolving import resolve
from pseudobench.registry.components import installed
from pseudobench.storage.cache import Cache
from pseudobench.storage.records import Store, without_times

QUICK = {"recipe.epochs": 2, "recipe.steps": 10, "recipe.threads": 1, "loop.rounds": 1}


def run(results, cache, registry):
    specs = [resolve(registry, method=name, dataset="digits", seed=0, settings=QUICK) for name in ("supervised", "pl")]
    return make_runner(results, registry, installed()[0], cache=cache).run(specs)


@pytest.fixture(params=["memory://far/{}", "file://{}"])
def far(request, tmp_path):
    return to_path(request.param.format(tmp_path))


def test_runs_far_away_leave_the_records_of_runs_at_home(far, tmp_path, registry):
    home = run(tmp_path / "home", None, registry)
    store, cache = Store(far / "runs"), Cache(far / "cache")
    records = run(store.folder, cache.folder, registry)
    assert [without_times(each) for each in records] == [without_times(each) for each in home]
    assert [record["rounds"][0]["work"]["reused"] for record in records] == [0, 1]
    assert {record["run_id"] for record in store.records()} == {record["run_id"] for record in home}
    again = run(store.folder, cache.folder, registry)
    assert again == records  # read, not run: even the times are the same
    assert store.find("pl")["spec"]["method"] == "pl"
    assert len(cache.entries()) == 2
    assert len(cache.prune(0)) == 2
    assert cache.entries() == []


def test_a_broken_entry_far_away_is_computed_again(far, tmp_path, registry):
    store, cache = Store(far / "runs"), Cache(far / "cache")
    first = run(store.folder, cache.folder, registry)
    for entry in cache.entries():
        entry.path.write_bytes(entry.path.read_bytes()[:-8])
    with pytest.warns(match="in the cache can't be read"):
        second = run(far / "others", cache.folder, registry)
    assert [without_times(each) for each in first] == [without_times(each) for each in second]


def test_what_can_not_be_reached_is_one_line(bench, tmp_path):
    assert "nowhere://runs can't be reached: ValueError: " in bench("run", "--results", "nowhere://runs").err
    (tmp_path / "a-file").write_text("")
    outcome = bench("run", "--preset", "smoke", "--results", f"file://{tmp_path}/a-file/runs")
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert "can't write to the results folder" in outcome.err
    with pytest.raises(BenchError, match="s3fs"):
        to_path("s3://bucket/runs")


def test_paths_stay_paths(tmp_path):
    assert not is_remote(to_path(tmp_path))
    assert is_remote(UPath("memory://here"))


def test_the_command_line_takes_urls(bench, tmp_path):
    url = f"file://{tmp_path}/far"
    asked = ("--preset", "smoke", "--methods", "supervised", "--seeds", "1")
    assert bench("run", *asked, "--results", url, "--cache-dir", f"{url}-cache").code == 0
    (record,) = (tmp_path / "far").glob("*.json")
    assert json.loads(record.read_text())["status"] == "done"
    assert "supervised" in bench("table", url).out
    assert "all done" in bench("status", "--results", url).out
