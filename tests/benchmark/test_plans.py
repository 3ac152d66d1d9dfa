"""Plans kept with the records, what an experiment would cost, and what `bench run` says at its end."""

from __future__ import annotations

import json

import pytest
from made_up import records, save

from pseudobench.cli.run_words import next_seeds, show_verdict
from pseudobench.execution.forecast import forecast, most_networks
from pseudobench.experiments.experiment import Experiment
from pseudobench.experiments.parsing import experiment_from
from pseudobench.experiments.resolving import resolve
from pseudobench.storage.cache import Cache
from pseudobench.storage.plans import Plans
from pseudobench.storage.records import Store


def specs(registry, methods=("supervised", "pl"), seeds=(0, 1), **options):
    return Experiment(methods=methods, seeds=seeds, **options).specs(registry)


def test_a_plan_comes_back_and_one_with_changed_code_replaces_it(tmp_path, registry):
    asked = specs(registry)
    plans = Plans(tmp_path)
    assert plans.runs() == []
    plans.put(asked)
    plans.put(specs(registry, seeds=(1, 2)))
    assert sorted(run.run_id for run in plans.runs()) == sorted(
        {spec.run_id for spec in (*asked, *specs(registry, seeds=(1, 2)))}
    )
    (path, *_) = sorted((tmp_path / ".plans").iterdir())
    plan = json.loads(path.read_text())
    plan["written"] = "9999"
    plan["runs"][0][1] = "changed"
    path.write_text(json.dumps(plan))
    assert "changed" in {run.run_id for run in plans.runs()}
    assert len(plans.runs()) == 6
    path.write_text("[1]")  # no plan
    assert len(plans.runs()) == 4


def test_runs_of_an_interrupted_experiment_are_missing_and_not_forgotten(bench, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pseudobench.execution.runner.Runner._in_turn", stop)
    arguments = ("run", "--preset", "smoke", "--seeds", "2", "--methods", "supervised,pl", "--quiet", "--in-process")
    assert bench(*arguments).code == 130
    shown = bench("status").out
    assert shown.splitlines()[-1] == "0 of 4 done, 4 missing, time left not known yet"


@pytest.mark.parametrize(
    ("method", "settings", "expected"),
    [
        ("supervised", {}, 1),
        ("pl", {}, 6),
        ("pl", {"loop.rounds": 0}, 1),
        ("ups-raps", {"calibration.policy": "held-out"}, 6),
        ("ups-raps", {"calibration.policy": "cross", "calibration.folds": 4}, 6 + 5 * 4),
        ("ensemble+hard+ups", {"ensemble.networks": 3}, 6 + 5 * 2),
    ],
)
def test_the_most_networks_of_a_run(registry, method, settings, expected):
    assert most_networks(resolve(registry, method=method, dataset="digits", seed=0, settings=settings)) == expected


def test_networks_are_never_more_than_that(bench, registry, tmp_path):
    """And a dry run executes nothing, knows neither time nor disk before the first run, and both after it."""
    arguments = ("run", "--preset", "smoke", "--seeds", "2", "--methods", "supervised,pl", "--quiet", "--in-process")
    said = bench(*arguments, "--dry-run").out
    assert "4 of 4 runs would be executed; 0 are done." in said
    assert "at most 4 to train, at least 2 to reuse" in said
    assert "time: not known" in said
    assert not (tmp_path / "runs").exists()
    assert bench(*arguments).code == 0
    made = [json.loads(path.read_text()) for path in (tmp_path / "runs").glob("*.json")]
    work = [round_["work"] for record in made for round_ in record["rounds"]]
    assert sum(each["trained"] for each in work) <= 4
    assert sum(each["reused"] for each in work) >= 2
    said = bench(*arguments[:4], "4", *arguments[5:], "--dry-run").out
    assert "4 of 8 runs would be executed; 4 are done." in said
    assert "time: about" in said
    assert "disk: about" in said
    assert "0 of 4 runs would be executed" in bench(*arguments, "--dry-run").out


@pytest.mark.parametrize(
    "arms",
    [
        [{"methods": ["supervised", "noisy-student"]}],  # stronger augmentation from the first network on
        [{"methods": ["supervised", "fixmatch"], "dataset": "cifar10"}],  # another loss
        [{"set": {"recipe.lr": rate}, "methods": ["supervised"]} for rate in (0.01, 0.02)],
        [{"backbone": name, "methods": ["supervised"]} for name in ("small", "resnet18")],
        [{"validation": chosen, "methods": ["supervised"]} for chosen in (False, True)],
        [{"methods": ["ups-raps-held-out"], "set": {"calibration.fraction": share}} for share in (0.2, 0.4)],
    ],
)
def test_networks_are_shared_by_runs_that_begin_alike(registry, tmp_path, arms):
    asked = experiment_from({"seeds": "0,", "arms": arms}).specs(registry)
    assert len(asked) == 2
    cost = forecast(asked, Store(tmp_path), Cache(tmp_path / "none"), force=False, jobs=1)
    assert cost.shared == 0


def test_time_is_that_of_like_runs_and_shared_by_jobs(tmp_path, registry):
    asked = specs(registry, seeds=range(4))
    for spec in asked[:2]:
        made = records(spec.method, [0.5])[0]
        made |= {"run_id": spec.run_id, "seconds": 30.0 if spec.method == "pl" else 10.0}
        save(tmp_path, [made])
    for jobs in (1, 2):
        cost = forecast(asked, Store(tmp_path), None, force=False, jobs=jobs)
        assert (cost.runs, cost.done, cost.shared) == (8, 2, 0)
        assert cost.seconds == pytest.approx(3 * (30 + 10) / jobs)
    assert forecast(asked, Store(tmp_path), Cache(tmp_path / "none"), force=True, jobs=1).done == 0


@pytest.mark.parametrize(
    ("seeds", "expected"), [([0, 1, 2], "6"), ([5, 6, 7], "5-10"), ([0, 4], "0,4,5,6,7,8"), ([3], "3-8")]
)
def test_seeds_to_ask_for(seeds, expected):
    assert next_seeds(seeds) == expected


def verdict(capsys, registry, tmp_path, *groups):
    from pseudobench.analysis.run_facts import read_facts

    runs = read_facts([record for group in groups for record in group], registry)
    show_verdict(runs, registry, tmp_path, 2)
    return capsys.readouterr().out


def test_the_end_of_a_run_says_what_was_found(capsys, registry, tmp_path):
    low = [0.80, 0.81, 0.79, 0.80, 0.82, 0.80, 0.81]
    better = [value + 0.05 for value in low]
    said = verdict(capsys, registry, tmp_path, records("supervised", low), records("pl", better))
    assert "On digits with 40 labels take `pl` (accuracy 5.00 points above `supervised`)." in said
    assert f"next: bench compare supervised --results {tmp_path}" in said
    shuffled = [0.80, 0.79, 0.81, 0.81, 0.79, 0.82, 0.80]
    said = verdict(capsys, registry, tmp_path, records("supervised", low), records("pl", shuffled))
    assert "no method is found better than `supervised`" in said


def test_no_method_is_to_be_taken_where_none_is_shown_to_differ(capsys, registry, tmp_path):
    first = [0.80, 0.81, 0.79, 0.80, 0.82, 0.80, 0.81]
    second = [0.81, 0.79, 0.81, 0.81, 0.79, 0.82, 0.81]
    said = verdict(capsys, registry, tmp_path, records("pl", first), records("ups", second))
    assert "On digits with 40 labels `pl` can't be told from `ups`, which has the best mean." in said
    more = [records(method, values, labels=100) for method, values in (("pl", first), ("ups", [0.9] * 7))]
    said = verdict(capsys, registry, tmp_path, records("pl", first), records("ups", second), *more)
    assert "On digits take `ups`; at 40 labels `pl` can't be told from `ups`, which has the best mean." in said


def test_too_few_seeds_are_said_with_the_cure_and_its_cost(capsys, registry, tmp_path):
    groups = [records(method, [0.8, 0.81, 0.8]) for method in ("supervised", "pl")]
    for group in groups:
        for record in group:
            record["seconds"] = 60.0
    said = verdict(capsys, registry, tmp_path, *groups)
    assert "3 seeds can't separate these methods: a test needs 6." in said
    assert "The same command with `--seeds 6` adds 6 runs, about 3 min." in said
    assert "compare" not in said


def test_enough_seeds_of_which_some_failed_are_not_asked_for_again(capsys, registry, tmp_path):
    """The pair has five seeds, though one of the methods has all six."""
    failed = [0.8, 0.81, 0.8, 0.79, 0.8, None]
    said = verdict(capsys, registry, tmp_path, records("supervised", [0.8] * 6), records("pl", failed))
    assert "5 seeds can't separate these methods: a test needs 6." in said
    assert "--seeds" not in said
    assert "next: bench show digits-pl-s5" in said


def test_smoke_says_that_its_numbers_mean_nothing(bench):
    done = bench("run", "--preset", "smoke", "--seeds", "6", "--methods", "supervised,pl", "--quiet", "--in-process")
    assert "Its numbers mean nothing." in done.out
    assert "take `" not in done.out


def test_the_default_comparison_can_be_tested(registry):
    assert Experiment().seeds == tuple(range(6))
