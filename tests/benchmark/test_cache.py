"""The cache in runs: nothing is trained twice, and the records are the same bit for bit."""

from __future__ import annotations

import pytest
from cached_runs import runner, spec_for, work

from pseudobench.storage.cache import Cache
from pseudobench.storage.records import without_times


@pytest.mark.parametrize("settings", [{}, {"calibration__policy": "cross"}, {"calibration__policy": "train"}])
def test_records_are_the_same_with_and_without_the_cache(tmp_path, registry, settings):
    specs = [spec_for(registry, "ups-raps", **settings)]
    (plain,) = runner(tmp_path / "a", cache=False).run(specs)
    (first,) = runner(tmp_path / "b").run(specs)
    (again,) = runner(tmp_path / "b", force=True).run(specs)
    assert without_times(plain) == without_times(first) == without_times(again)
    networks = [3, 3, 1] if settings.get("calibration__policy") == "cross" else [1, 1, 1]
    assert work(first) == [(count, 0) for count in networks]  # after the last round nobody asks the folds
    assert work(again) == [(0, count) for count in networks]
    assert all(each["work"]["saved_seconds"] > 0 for each in again["rounds"])


def test_methods_share_the_first_round_and_a_selector_repeats_nothing_before_it(tmp_path, registry):
    specs = [spec_for(registry, name) for name in ("supervised", "pl", "ups")]
    supervised, pl, ups = runner(tmp_path).run(specs)
    assert [work(each)[0] for each in (supervised, pl, ups)] == [(1, 0), (0, 1), (0, 1)]
    (other,) = runner(tmp_path).run([spec_for(registry, "ups", ups__tau_p=0.95)])
    assert work(other)[0] == (0, 1)
    (elsewhere,) = runner(tmp_path).run([spec_for(registry, "supervised", seed=1)])
    assert work(elsewhere) == [(1, 0)]


def test_batches_of_pseudo_labels_do_not_concern_a_training_on_labels(tmp_path, registry):
    mixed, half, small = (
        spec_for(registry, "pl", **settings)
        for settings in ({}, {"recipe__batches": "half"}, {"recipe__halve_below": 50})
    )
    first, second, third = (runner(tmp_path).run([spec])[0] for spec in (mixed, half, small))
    assert first["rounds"][0]["test"] == second["rounds"][0]["test"] != third["rounds"][0]["test"]
    assert [work(each)[0] for each in (first, second, third)] == [(1, 0), (0, 1), (1, 0)]
    assert [work(each)[1] for each in (first, second, third)] == [(1, 0)] * 3


@pytest.mark.parametrize(
    "settings", [{"recipe__lr": 0.05}, {"recipe__epochs": 5}, {"recipe__dropout": 0.2}, {"recipe__augment": "none"}]
)
def test_another_recipe_is_another_network(tmp_path, registry, settings):
    runner(tmp_path).run([spec_for(registry, "supervised")])
    (other,) = runner(tmp_path).run([spec_for(registry, "supervised", **settings)])
    assert work(other) == [(1, 0)]


def test_the_command_shows_what_was_saved_and_prunes_the_oldest_first(bench, tmp_path, registry):
    first, second = spec_for(registry, "supervised"), spec_for(registry, "supervised", seed=1)
    runner(tmp_path).run([first, second])
    runner(tmp_path, force=True).run([first])
    shown = bench("cache")
    row = next(line for line in shown.out.splitlines() if "networks trained" in line)
    assert [cell.strip() for cell in row.split("│")[2:5:2]] == ["2", "1"]
    cache = Cache(tmp_path / "cache")
    older, newer = cache.entries()
    assert newer.used >= older.used
    assert bench("cache", "--prune", f"{newer.size}B").out.startswith("removed 1 entries")
    assert [entry.path for entry in cache.entries()] == [newer.path]
    bench("cache", "--prune", "0")
    assert not cache.entries()
    assert "--prune lots: a size, such as 500MB" in bench("cache", "--prune", "lots").err
