"""Packed runs are read like files: the same records, the same tables, the same verdicts."""

from __future__ import annotations

import json
import math
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up import record as made_up_record

from pseudobench import BenchError
from pseudobench.contracts.predictions import Predictions
from pseudobench.errors import BenchWarning
from pseudobench.storage.packing import loose_runs, pack_runs
from pseudobench.storage.packs import packs_of
from pseudobench.storage.predictions import load_correct, load_predictions, save_predictions
from pseudobench.storage.records import Store


def put(folder, run_id, predicted=None, **changed):
    """A finished run in a folder, with predictions of which those of class 0 are right."""
    record = {**made_up_record("pl", 0, 0.5), "run_id": run_id, **changed}
    if predicted is not None:
        found = np.asarray(predicted)
        right = found == 0 if found.ndim == 1 else found.all(1)
        record["predictions"] = save_predictions(
            folder, run_id, Predictions(found, np.full(found.shape, 0.5, np.float32), right)
        )
    Store(folder).save(record)
    return record


def pack(folder):
    return [pack_runs(*each) for each in loose_runs([Store(folder)]).items()]


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 400)), min_size=1, max_size=6), st.integers(0, 2**32 - 1))
def test_every_record_and_prediction_comes_back(tmp_path_factory, runs, seed):
    """Any mixture of runs: single-label with few or many classes, several labels, and no predictions."""
    folder, random = tmp_path_factory.mktemp("runs"), np.random.default_rng(seed)
    put_in = {}
    for at, (kind, samples) in enumerate(runs):
        shapes = [
            None,
            random.integers(0, 10, samples),
            random.integers(0, 999, samples),
            random.random((samples, 11)) < 0.3,
        ]
        put_in[f"run-{at}"] = put(folder, f"run-{at}", shapes[kind]), shapes[kind]
    before = list(Store(folder).records())
    pack(folder)
    assert not list(folder.glob("*.json")) + list(folder.glob("*.npz"))
    assert list(Store(folder).records()) == before
    assert Store(folder).run_ids() == sorted(put_in)
    for run_id, (record, predicted) in put_in.items():
        assert Store(folder).load(run_id) == record
        if predicted is not None:
            found = load_predictions(folder, record["predictions"])
            assert np.array_equal(found.predicted, predicted)
            assert found.predicted.dtype == predicted.dtype
            assert np.array_equal(load_correct(folder, record["predictions"]), found.correct)
            assert np.isnan(found.probability).all()


def test_a_pack_is_the_same_for_the_same_runs(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        for run_id in ("x", "y") if name == "a" else ("y", "x"):
            put(tmp_path / name, run_id, [0, 1, 2])
        pack(tmp_path / name)
    (a,), (b,) = packs_of(tmp_path / "a"), packs_of(tmp_path / "b")
    assert (a.path.name, a.content) == (b.path.name, b.content)
    assert zipfile.ZipFile(a.path).testzip() is None


def test_a_file_counts_before_the_pack_until_it_is_packed_itself(tmp_path):
    put(tmp_path, "x", [0, 0], seconds=1.0)
    put(tmp_path, "y", [1, 1], seconds=1.0)
    pack(tmp_path)
    again = put(tmp_path, "x", [1, 0], seconds=2.0)
    assert Store(tmp_path).load("x")["seconds"] == 2.0
    assert [record["seconds"] for record in Store(tmp_path).records()] == [2.0, 1.0]
    assert load_correct(tmp_path, again["predictions"]).tolist() == [False, True]
    pack(tmp_path)
    (only,) = packs_of(tmp_path)  # the older pack was taken into the new one
    assert sorted(only.records) == ["x", "y"]
    assert Store(tmp_path).load("x")["seconds"] == 2.0
    assert load_correct(tmp_path, again["predictions"]).tolist() == [False, True]


def test_a_run_that_was_begun_again_while_others_are_packed_stays_as_it_is(tmp_path):
    """Packing thousands of runs takes minutes, and `bench run --force` may replace one of them meanwhile."""
    put(tmp_path, "x", [0, 0])
    put(tmp_path, "y", [1, 1])
    ((folder, found),) = loose_runs([Store(tmp_path)]).items()
    running = {**found[0], "status": "running", "rounds": [], "seconds": 0.0}
    Store(tmp_path).save(running)
    assert pack_runs(folder, found).runs == 1
    assert Store(tmp_path).load("x") == running
    assert sorted(path.name for path in tmp_path.glob("*.*")) == ["x.json", "x.predictions.npz"]


def test_of_two_packs_with_a_run_the_first_counts_also_after_packing_again(tmp_path):
    runs = tmp_path / "runs"
    (runs / "packs").mkdir(parents=True)
    for name, seconds in (("a", 1.0), ("b", 2.0)):
        (tmp_path / name).mkdir()
        put(tmp_path / name, "x", [0, 1], seconds=seconds)
        put(tmp_path / name, name)
        pack(tmp_path / name)
        (held,) = packs_of(tmp_path / name)
        held.path.rename(runs / "packs" / f"{name}.pack")
    assert Store(runs).load("x")["seconds"] == 1.0
    for name in ("a", "b"):  # so that both packs are taken into the new one
        put(runs, name)
    pack(runs)
    assert len(packs_of(runs)) == 1
    assert Store(runs).load("x")["seconds"] == 1.0


def test_runs_that_come_later_get_a_pack_of_their_own(tmp_path):
    for name in ("x", "y", "z"):
        put(tmp_path, name, [0, 1])
        pack(tmp_path)
    assert len(packs_of(tmp_path)) == 3
    assert Store(tmp_path).run_ids() == ["x", "y", "z"]


def test_what_is_not_finished_or_has_logits_stays_a_file(tmp_path):
    put(tmp_path, "running", status="running")
    put(tmp_path, "failed", status="failed", error={"message": "no", "type": "E", "traceback": ""})
    put(tmp_path, "logits", [0], logits={"file": "logits.logits.npz", "sha256": "0" * 64})
    put(tmp_path, "done", [0])
    pack(tmp_path)
    assert sorted(path.stem for path in tmp_path.glob("*.json")) == ["failed", "logits", "running"]
    assert Store(tmp_path).load("done")["status"] == "done"


def test_a_damaged_pack_is_one_line_and_the_rest_is_read(tmp_path):
    put(tmp_path, "x", [0, 1])
    pack(tmp_path)
    (held,) = packs_of(tmp_path)
    put(tmp_path, "y")
    for content in (
        b"",
        b"no pack",
        held.content[: len(held.content) // 2],
        held.content.replace(b"records.jsonl", b"x" * 13),
    ):
        held.path.write_bytes(content)
        with pytest.warns(BenchWarning, match="is no pack of runs, or damaged"):
            assert [record["run_id"] for record in Store(tmp_path).records()] == ["y"]
        with pytest.raises(BenchError, match="is no pack of runs, or damaged"):
            Store(tmp_path).load("x")


def test_damaged_predictions_are_refused(tmp_path):
    record = put(tmp_path, "x", np.random.default_rng(0).integers(0, 10, 500))
    pack(tmp_path)
    (held,) = packs_of(tmp_path)
    with zipfile.ZipFile(held.path) as members:
        at = members.getinfo("correct-0.npy").header_offset + 60
    held.path.write_bytes(held.content[:at] + bytes([held.content[at] ^ 255]) + held.content[at + 1 :])
    with pytest.raises(BenchError, match="is no pack of runs, or damaged"):
        load_correct(tmp_path, record["predictions"])


def test_commands_read_packed_runs_like_files(bench, tmp_path):
    asked = ("run", "--preset", "smoke", "--methods", "supervised,pl", "--seeds", "2", "--set", "recipe.threads=1")
    assert bench(*asked).code == 0
    shown = [("table", "--runs"), ("table",), ("compare",), ("status",), ("show", "pl-s1")]
    before = [bench(*each).out for each in shown]
    scores = [record["scores"] for record in Store(tmp_path / "runs").records()]
    outcome = bench("pack", "runs", "runs")
    assert (outcome.code, outcome.out.count("packed, "), "runs: 4 runs packed, " in outcome.out) == (0, 1, True)
    assert not list((tmp_path / "runs").glob("*.json")) + list((tmp_path / "runs").glob("*.npz"))
    assert [bench(*each).out for each in shown] == before
    assert bench(*asked).code == 0
    assert not list((tmp_path / "runs").glob("*.json")), "a packed run is not run again"
    assert "nothing to pack" in bench("pack").out
    assert bench("rescore").code == 0
    again = [record["scores"] for record in Store(tmp_path / "runs").records()]
    assert again == scores
    assert all(math.isfinite(each["accuracy-50"]) for each in again)


def test_packed_predictions_take_a_fraction_of_the_space(tmp_path):
    """Forty networks that agree on nine samples of ten: a tenth of the space, as in the committed results."""
    random = np.random.default_rng(0)
    usual = random.integers(0, 10, 2000)
    for run in range(40):
        put(tmp_path, f"run-{run}", np.where(random.random(2000) < 0.9, usual, random.integers(0, 10, 2000)))
    (done,) = pack(tmp_path)
    assert done.after < done.before / 4
    assert json.loads(packs_of(tmp_path)[0].records["run-7"])["run_id"] == "run-7"
