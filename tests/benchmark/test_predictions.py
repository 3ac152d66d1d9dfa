"""Predictions are kept beside the record, so that new questions can be asked of old runs."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from pseudobench import BenchError, Column, PluginError, PseudoLabels
from pseudobench.contracts.predictions import Predictions
from pseudobench.execution.scoring import Rescorer
from pseudobench.rounds.recorder import Recorder
from pseudobench.storage.predictions import load_correct, load_predictions, save_predictions
from pseudobench.storage.records import Store
from pseudobench_vision import Digits


@given(
    npst.arrays(np.int64, st.integers(0, 50), elements=st.integers(0, 70_000)),
    st.integers(0, 2**32 - 1),
)
def test_what_is_kept_is_read_back(tmp_path_factory, predicted, seed):
    folder = tmp_path_factory.mktemp("kept")
    random = np.random.default_rng(seed)
    found = Predictions(predicted, random.random(len(predicted), dtype=np.float32), random.random(len(predicted)) < 0.5)
    said = save_predictions(folder, "run", found)
    back = load_predictions(folder, said)
    assert np.array_equal(back.predicted, predicted)
    assert np.array_equal(back.correct, found.correct)
    assert np.array_equal(load_correct(folder, said), found.correct)
    assert np.allclose(back.probability, found.probability, atol=5e-4)


def test_several_classes_are_read_back(tmp_path):
    chosen = np.random.default_rng(0).random((7, 11)) < 0.3
    found = Predictions(chosen, np.full((7, 11), 0.25, dtype=np.float32), np.arange(7) % 2 == 0)
    said = save_predictions(tmp_path, "run", found)
    back = load_predictions(tmp_path, said)
    assert np.array_equal(back.predicted, chosen)
    assert np.array_equal(back.correct, found.correct)
    assert np.array_equal(load_correct(tmp_path, said), found.correct)
    assert (back.probability == 0.25).all()


def test_ten_thousand_samples_take_about_twenty_kilobytes(tmp_path):
    random = np.random.default_rng(0)
    probability = random.beta(5, 1, 10_000).astype(np.float32)
    found = Predictions(random.integers(0, 100, 10_000), probability, random.random(10_000) < 0.6)
    save_predictions(tmp_path, "run", found)
    assert (tmp_path / "run.predictions.npz").stat().st_size < 30_000


def test_changed_or_lost_predictions_are_refused(tmp_path):
    said = save_predictions(tmp_path, "run", Predictions(np.zeros(3, int), np.ones(3, np.float32), np.ones(3, bool)))
    path = tmp_path / said["file"]
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    for load in (load_predictions, load_correct):
        with pytest.raises(BenchError, match="is not what its record says"):
            load(tmp_path, said)
    path.unlink()
    for load in (load_predictions, load_correct):
        with pytest.raises(BenchError, match="can't read"):
            load(tmp_path, said)


def test_precision_at_a_share_of_the_pool_by_hand():
    """Ten samples of class 0, labels by falling score right, right, wrong, right, ..., and the last without one."""
    recorder = Recorder(2, torch.zeros(10, dtype=torch.int64), torch.zeros(1, dtype=torch.int64))
    right = torch.tensor([1, 1, 0, 1, 0, 1, 1, 1, 0, 0], dtype=torch.bool)
    target = torch.stack([right, ~right], 1)
    target[9] = False
    found = recorder.precision_at(PseudoLabels(target), torch.arange(10, 0, -1).float())
    assert found == pytest.approx([1, 1, 2 / 3, 3 / 4, 3 / 5, 4 / 6, 5 / 7, 6 / 8, 6 / 9, None])


def test_a_set_of_candidates_is_no_right_label():
    recorder = Recorder(3, torch.tensor([0, 1]), torch.zeros(1, dtype=torch.int64))
    target = torch.tensor([[True, True, False], [False, True, False]])
    assert recorder.precision_at(PseudoLabels(target), torch.tensor([1.0, 0.5]))[-1] == 0.5


@pytest.fixture
def finished(bench, tmp_path):
    asked = ("--preset", "smoke", "--methods", "supervised,pl", "--seeds", "1", "--set", "recipe.threads=1")
    assert bench("run", *asked, "--keep").code == 0
    return Store(tmp_path / "runs")


def test_predictions_agree_with_the_record(finished):
    for record in finished.records():
        found = load_predictions(finished.folder, record["predictions"])
        assert found.correct.mean() == pytest.approx(record["rounds"][-1]["test"]["accuracy"])
        with np.load(finished.folder / record["logits"]["file"]) as logits:
            assert np.array_equal(logits["test"].argmax(1), found.predicted)
            assert len(logits["pool"]) == record["split"]["unlabeled"]
        assert 0 <= record["scores"]["worst-class"] <= found.correct.mean()


def test_rescoring_gives_an_old_run_a_new_column(finished, bench, registry):
    from sklearn.datasets import load_digits

    path = finished.path(next(finished.records())["run_id"])
    record = json.loads(path.read_text())
    scores = record.pop("scores")
    path.write_text(json.dumps(record))
    outcome = bench("rescore")
    assert (outcome.code, "2 of 2 runs rescored: accuracy-50, worst-class" in outcome.out) == (0, True)
    assert json.loads(path.read_text())["scores"] == scores
    assert len(load_digits().target) > 0


def test_rescoring_overwrites_no_run_that_is_done_meanwhile(finished, bench, monkeypatch):
    """Rescoring thousands of runs takes minutes. Here the second is run again while the first is rescored."""
    first, second = map(finished.path, finished.run_ids())
    rescore = Rescorer.rescore

    def slowly(self, record, folder):
        if record["run_id"] == first.stem:
            second.write_text(json.dumps({**json.loads(second.read_text()), "seconds": 1234.5}))
        return rescore(self, record, folder)

    monkeypatch.setattr(Rescorer, "rescore", slowly)
    assert bench("rescore").code == 0
    assert json.loads(second.read_text())["seconds"] == 1234.5


def test_a_dataset_that_is_gone_is_a_reason_why_runs_are_not_rescored(finished, bench, monkeypatch):
    def load(self, data_dir):
        raise KeyError("pixels")

    monkeypatch.setattr(Digits, "load", load)
    outcome = bench("rescore")
    assert outcome.code == 1
    assert "2 runs not rescored: dataset 'digits' of plugin 'vision'" in outcome.err
    assert "can't be loaded: KeyError: 'pixels'" in outcome.err


def test_old_runs_without_predictions_say_so(finished, bench):
    for run_id in finished.run_ids():
        record = json.loads(finished.path(run_id).read_text())
        del record["predictions"]
        finished.path(run_id).write_text(json.dumps(record))
    outcome = bench("rescore")
    assert outcome.code == 1
    assert "2 runs not rescored: a run kept no predictions; run it again with --force" in outcome.err


def test_a_column_reads_or_scores():
    with pytest.raises(PluginError, match="needs either `read` or `score`"):
        Column("nothing", "nothing")
    column = Column("size", "how many", score=lambda found, labels: float(len(labels)))
    assert column.value({"scores": {"size": 3.0}}) == 3.0
    assert column.value({}) is None
