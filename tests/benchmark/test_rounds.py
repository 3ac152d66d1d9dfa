"""Whole runs on real images: what is recorded, what repeats, what stays hidden."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch

from harness import make_runner
from pseudobench import BenchError, Selection
from pseudobench.contracts.events import Listener
from pseudobench.contracts.run_spec import RunSpec
from pseudobench.experiments.resolving import resolve
from pseudobench.experiments.splits import split_for
from pseudobench.maths.selection import share_changed
from pseudobench.registry.components import build_registry
from pseudobench.registry.plugins import load_plugins
from pseudobench.rounds.algorithm import Run, run_rounds
from pseudobench.rounds.recorder import Recorder
from pseudobench.storage.records import FORMAT, Store, without_times
from pseudobench_vision import Digits

CPU = torch.device("cpu")
DATA = Digits().load(None)  # type: ignore[arg-type]
METHODS = [
    "supervised",
    "fully-supervised",
    "pl",
    "ups",
    "ups-raps",
    "ups-raps-size",
    "ups-raps-complement",
    "raps-singleton",
]
#: Enough training to select something, few enough steps for a test.
QUICK = {
    "recipe.epochs": 2,
    "recipe.steps": 30,
    "recipe.batch_size": 32,
    "recipe.threads": 1,
    "loop.rounds": 2,
    "calibration.fraction": 0.2,
}


def spec_for(registry, method, seed=0, **settings):
    extra = {key.replace("__", "."): value for key, value in settings.items()}
    return resolve(registry, method=method, dataset="digits", seed=seed, labels=100, settings={**QUICK, **extra})


def run(registry, spec, data=DATA, split=None):
    split = split or split_for(spec, data)
    made = Run(spec, registry, data.known_to(split), CPU)
    return [each.record for each in run_rounds(made, Recorder.of(data, split))]


def runner(tmp_path, listener=None, force=False):
    plugins = load_plugins()
    registry = build_registry(plugins)
    return make_runner(tmp_path, registry, plugins, listener, force=force)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs_and_records(registry, method):
    rounds = run(registry, spec_for(registry, method))
    json.dumps(rounds, allow_nan=False)
    trains_only = registry.method(method).selector is None
    assert len(rounds) == (1 if trains_only else 3)
    for place, each in enumerate(rounds):
        assert each["round"] == place
        assert 0.1 < each["test"]["accuracy"] <= 1
        assert each["seconds"]["fit"] > 0
        assert (each["selection"] is None) == (place == 0)
    selection = rounds[-1]["selection"]
    if selection is None:
        return
    assert 0 <= selection["positive_share"] <= 1
    assert sum(selection["positives_per_class"]) == selection["positives"]
    uses_sets = registry.method(method).sets is not None
    assert ("coverage" in selection) == uses_sets
    if uses_sets:
        assert selection["calibration_points"] == 20
        assert sum(selection["sizes"]) == selection["pool"] == 1101
        assert selection["scaling"]["temperature"] > 0


@pytest.mark.parametrize("policy", ["held-out", "train", "cross"])
def test_calibration_policies(registry, policy):
    spec = spec_for(registry, "ups-raps", calibration__policy=policy, calibration__folds=3, loop__rounds=1)
    split = split_for(spec, DATA)
    held, train = (20, 80) if policy == "held-out" else (0, 100)
    assert (len(split.calibration), len(split.labeled), len(split.unlabeled)) == (held, train, 1101)
    selection = run(registry, spec)[1]["selection"]
    assert selection["calibration_points"] == {"held-out": 20, "train": 100, "cross": 100}[policy]
    assert 0.5 < selection["coverage"] <= 1
    assert 0.5 < selection["test_coverage"] <= 1
    assert selection["set_size"] > 0


def test_train_policy_calibrates_on_pseudo_labels_too(registry):
    """Algorithm 2 hands RAPS the set that the network was trained on, which grows by the selected samples."""
    spec = spec_for(registry, "raps-singleton", calibration__policy="train")
    first, second = (each["selection"] for each in run(registry, spec)[1:])
    assert first["calibration_points"] == 100
    assert first["positive_samples"] > 0
    assert second["calibration_points"] == 100 + first["positive_samples"]


def test_methods_share_the_first_network_of_a_seed(registry):
    """Same labels, same seed: rounds 0 are equal, so that differences are paired."""
    accuracies = {
        method: run(registry, spec_for(registry, method))[0]["test"] for method in ("supervised", "pl", "ups")
    }
    assert accuracies["supervised"] == accuracies["pl"] == accuracies["ups"]


def test_true_labels_of_the_pool_reach_no_stage(registry):
    """With every pool label wrong, all that is selected and learned stays the same."""
    for method in ("pl", "ups-raps-complement"):
        spec = spec_for(registry, method)
        split = split_for(spec, DATA)
        wrong = DATA.train_labels.clone()
        pool = list(split.unlabeled)
        wrong[pool] = (wrong[pool] + 1) % 10
        lied_to = run(registry, spec, replace(DATA, train_labels=wrong), split)
        told = run(registry, spec, DATA, split)
        assert [each["test"] for each in lied_to] == [each["test"] for each in told]
        for one, other in zip(lied_to[1:], told[1:], strict=True):
            assert one["selection"]["positives_per_class"] == other["selection"]["positives_per_class"]
            assert one["selection"]["positive_precision"] < 0.2
            assert other["selection"]["positive_precision"] > 0.6


def test_a_constant_share_of_changing_labels_does_not_settle():
    """As many labels as before, and none of them the same: the number alone said that it had converged."""
    none = torch.zeros(4, 3, dtype=torch.bool)
    first, second = none.clone(), none.clone()
    first[0, 0] = first[1, 1] = second[2, 0] = second[3, 1] = True
    assert share_changed(Selection(first, none), Selection(second, none)) == 1.0
    assert share_changed(Selection(first, none), Selection(first, none)) == 0.0
    second[0, 0] = True
    assert share_changed(Selection(first, none), Selection(second, none)) == 3 / 4


def test_negatives_do_not_swamp_positives():
    positive = torch.zeros(10, 10, dtype=torch.bool)
    positive[0, 0] = True
    more = positive.clone()
    more[1, 1] = True
    negative = torch.ones(10, 10, dtype=torch.bool) & ~positive & ~more
    assert share_changed(Selection(positive, negative), Selection(more, negative)) == 0.5
    none = torch.zeros(10, 10, dtype=torch.bool)
    assert share_changed(Selection(none, negative), Selection(none, negative & more.logical_not())) == 0.0
    assert share_changed(Selection(none, negative), Selection(none, none)) == 1.0
    assert share_changed(Selection(none, none), Selection(none, none)) == 0.0


def test_settling_can_be_switched_off(registry):
    never = run(registry, spec_for(registry, "supervised"))
    assert len(never) == 1
    assert len(run(registry, spec_for(registry, "pl", loop__rounds=3, loop__settle="none"))) == 4
    paper = resolve(registry, method="ups", dataset="digits", seed=0, preset="paper")
    assert paper.settings["loop"]["settle"] is None


def test_rounds_end_when_the_selection_settles(registry):
    settled = run(registry, spec_for(registry, "pl", loop__rounds=3, loop__settle=1.0))
    assert len(settled) == 3  # rounds 0 and 1, then the first round that can be compared with one before
    unsettled = run(registry, spec_for(registry, "pl", loop__rounds=3, loop__settle=0.0))
    assert len(unsettled) == 4


def test_sets_leave_plain_labels_alone_unless_they_are_empty(registry):
    """RAPS sets are prefixes of the ranking: Eq. 9 can only take a label away, never change it."""
    rounds = run(registry, spec_for(registry, "softmax+raps+set-argmax+confidence", raps__alpha=0.4))
    for each in rounds[1:]:
        selection = each["selection"]
        assert selection["not_argmax"] == 0
        assert selection["unlabeled"] == selection["sizes"][0]
        assert selection["sizes"][0] > 0


def test_same_spec_same_record_other_seed_other_split(tmp_path, registry):
    specs = [spec_for(registry, "ups-raps", seed) for seed in (0, 1)]
    first = runner(tmp_path / "a").run(specs)
    second = runner(tmp_path / "b").run(specs)
    for one, other in zip(first, second, strict=True):
        assert json.dumps(without_times(one)) == json.dumps(without_times(other))
    assert first[0]["split"]["sha256"] != first[1]["split"]["sha256"]
    assert without_times(first[0]) == without_times(Store(tmp_path / "a").load(first[0]["run_id"]))


def test_a_finished_run_is_not_run_again_unless_forced(tmp_path, registry):
    started = []

    class Count(Listener):
        def run_started(self, spec):
            started.append(spec.run_id)

    specs = [spec_for(registry, "supervised")]
    for force, expected in ((False, 1), (False, 1), (True, 2)):
        runner(tmp_path, Count(), force).run(specs)
        assert len(started) == expected


def test_an_unfinished_record_is_run_again(tmp_path, registry):
    spec = spec_for(registry, "supervised")
    (record,) = runner(tmp_path).run([spec])
    Store(tmp_path).save({**record, "status": "running", "rounds": []})
    (again,) = runner(tmp_path).run([spec])
    assert again["status"] == "done"
    assert without_times(again) == without_times(record)


def test_a_failing_run_is_a_record_with_its_reason_and_the_others_finish(tmp_path, registry, monkeypatch):
    from pseudobench_ups import McDropout

    monkeypatch.delattr(McDropout, "needs_dropout")  # an estimator that does not say so, and is not refused before
    specs = [spec_for(registry, "ups", recipe__dropout=0.0), spec_for(registry, "supervised")]
    failed, done = runner(tmp_path).run(specs)
    assert (failed["status"], done["status"]) == ("failed", "done")
    assert "no active dropout" in failed["error"]["message"]
    assert len(failed["rounds"]) == 1  # the round that went well is kept
    assert Store(tmp_path).load(failed["run_id"])["status"] == "failed"


def test_a_stage_that_returns_nonsense_is_named(tmp_path, monkeypatch):
    from pseudobench_pl import Softmax

    bench = runner(tmp_path)
    monkeypatch.setattr(Softmax, "estimate", lambda self, pool, sets, context: "nonsense")
    (record,) = bench.run([spec_for(bench.registry, "pl")])
    assert (
        record["error"]["message"]
        == "estimator 'softmax' of plugin 'pl' (pseudobench 0.2.0): returned str, not Estimate"
    )


def test_a_stage_that_raises_is_named_with_its_place(tmp_path, monkeypatch):
    from pseudobench_pl import Confidence

    def select(self, estimate, labels, sets, context):
        return 1 / 0

    bench = runner(tmp_path)
    monkeypatch.setattr(Confidence, "select", select)
    (record,) = bench.run([spec_for(bench.registry, "pl")])
    expected = "selector 'confidence' of plugin 'pl' (pseudobench 0.2.0): ZeroDivisionError: division by zero"
    assert record["error"]["message"] == expected
    assert "test_rounds.py" in record["error"]["where"]


def test_a_network_that_blew_up_is_a_failed_run_and_the_others_finish(tmp_path, registry):
    """The loss before the last step can be fine and the network after it not."""
    broken = spec_for(registry, "supervised", recipe__epochs=1, recipe__steps=1, recipe__lr=1e38)
    failed, done = runner(tmp_path).run([broken, spec_for(registry, "supervised")])
    assert (failed["status"], done["status"]) == ("failed", "done")
    assert "not finite" in failed["error"]["message"]


def test_what_json_can_not_hold_is_a_failed_run(tmp_path, monkeypatch):
    from pseudobench_raps.platt import Temperature

    bench = runner(tmp_path)
    monkeypatch.setattr(Temperature, "numbers", {"temperature": float("nan")})
    (record,) = bench.run([spec_for(bench.registry, "ups-raps")])
    assert record["status"] == "failed"
    assert Store(tmp_path).load(record["run_id"]) == record
    assert len(record["rounds"]) == 1


def test_a_dataset_that_can_not_be_loaded_is_one_line(tmp_path, monkeypatch):
    def load(self, data_dir):
        raise KeyError("pixels")

    bench = runner(tmp_path)
    monkeypatch.setattr(Digits, "load", load)
    with pytest.raises(
        BenchError, match=r"dataset 'digits' of plugin 'vision' \(pseudobench .*\) can't be loaded: KeyError: 'pixels'"
    ):
        bench.run([spec_for(bench.registry, "pl")])


def test_a_full_disk_is_one_line(tmp_path, monkeypatch, registry):
    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(BenchError, match="No space left on device"):
        runner(tmp_path).run([spec_for(registry, "supervised")])
    assert [path.name for path in tmp_path.iterdir()] == [".claims"]


def test_tuning_is_recorded(registry):
    selection = run(registry, spec_for(registry, "ups-raps", raps__tune=0.5, loop__rounds=1))[1]["selection"]
    assert selection["calibration_points"] == 20
    assert selection["calibrated"]["points"] == 10
    assert selection["calibrated"]["lam"] in (0.001, 0.01, 0.1, 0.2, 0.5)


def test_a_record_holds_what_made_it(tmp_path, registry):
    spec = spec_for(registry, "ups-raps")
    (record,) = runner(tmp_path).run([spec])
    assert record["format"] == FORMAT
    assert record["spec"]["settings"]["ups"]["tau_p"] == 0.7
    assert record["spec"]["settings"]["recipe"]["steps"] == 30
    assert record["split"]["labeled"] == 80
    assert split_for(RunSpec.from_json(record["spec"]), DATA).digest == record["split"]["sha256"]
    environment = record["environment"]
    assert environment["versions"]["torch"] == torch.__version__.partition("+")[0]
    assert environment["threads"] == 1
    assert environment["plugins"]["ups"] == f"pseudobench {environment['versions']['pseudobench']}"
    assert environment["deterministic"] is True
    assert str(tmp_path) not in json.dumps(record)
