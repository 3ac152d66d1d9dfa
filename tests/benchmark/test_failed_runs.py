"""Runs that fail: a record with the reason, the guilty part named, and the other runs finish."""

from __future__ import annotations

import pytest
from digits_runs import runner, spec_for

from pseudobench import BenchError
from pseudobench.storage.records import Store
from pseudobench.testing import fake_dataset
from pseudobench_vision import Digits


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
    assert "test_failed_runs.py" in record["error"]["where"]


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


def test_images_that_are_too_small_to_be_shifted_are_refused_with_the_remedy(tmp_path, registry, monkeypatch):
    monkeypatch.setattr(Digits, "load", lambda self, folder: fake_dataset(200, 40, 10, size=1))
    with pytest.raises(BenchError, match=r"images of 1 x 1 pixels, as digits has, .*--set recipe.augment=none"):
        runner(tmp_path).run([spec_for(registry, "supervised", recipe__augment="weak")])
    (done,) = runner(tmp_path).run([spec_for(registry, "supervised", recipe__augment="none")])
    assert done["status"] == "done", done["error"]
