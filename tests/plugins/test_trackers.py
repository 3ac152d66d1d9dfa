"""Trackers, against what TensorBoard and MLflow read back from their own files."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from harness import make_runner
from pseudobench import BenchWarning
from pseudobench.experiments.resolving import resolve
from pseudobench.registry.plugins import load_plugins

QUICK = ("--preset", "smoke", "--seeds", "1", "--labels", "100", "--set", "loop.rounds=2", "--set", "loop.settle=0")


def records(folder="runs"):
    return {path.stem: json.loads(path.read_text()) for path in Path(folder).glob("*.json")}


def test_tensorboard_reads_every_round(bench, monkeypatch, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    monkeypatch.setenv("PSEUDOBENCH_TENSORBOARD", str(tmp_path / "board"))
    for force in ((), ("--force",)):  # the second attempt takes the place of the first
        assert bench("run", "--methods", "pl,supervised", *QUICK, *force).code == 0
    assert len(records()) == 2
    for run_id, record in records().items():
        events = EventAccumulator(str(tmp_path / "board" / run_id)).Reload()
        accuracies = [(event.step, event.value) for event in events.Scalars("test/accuracy")]
        expected = [(each["round"], each["test"]["accuracy"]) for each in record["rounds"]]
        assert accuracies == [(round_, pytest.approx(value)) for round_, value in expected]
        assert events.Tensors("status/text_summary")[0].tensor_proto.string_val == [b"done"]
        assert "_hparams_/session_start_info" in events.summary_metadata
    pl = next(run_id for run_id in records() if "-pl-" in run_id)
    assert "selection/positive_precision" in EventAccumulator(str(tmp_path / "board" / pl)).Reload().Tags()["scalars"]


# MLflow's own code calls what sqlalchemy has deprecated.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_mlflow_has_a_run_for_each_of_ours(bench, monkeypatch, tmp_path):
    from mlflow import MlflowClient

    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    monkeypatch.setenv("PSEUDOBENCH_MLFLOW", uri)
    assert bench("run", "--methods", "pl,supervised", *QUICK).code == 0
    client = MlflowClient(tracking_uri=uri)
    experiment = client.get_experiment_by_name("pseudobench")
    runs = {run.info.run_name: run for run in client.search_runs([experiment.experiment_id])}
    assert set(runs) == set(records())
    for run_id, record in records().items():
        run = runs[run_id]
        assert run.info.status == "FINISHED"
        assert run.data.params["method"] == record["spec"]["method"]
        assert float(run.data.params["recipe.lr"]) == record["spec"]["settings"]["recipe"]["lr"]
        history = client.get_metric_history(run.info.run_id, "test/accuracy")
        assert [(m.step, m.value) for m in history] == [(e["round"], e["test"]["accuracy"]) for e in record["rounds"]]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_mlflow_says_which_runs_failed_and_why(tmp_path, registry, monkeypatch):
    from mlflow import MlflowClient

    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    monkeypatch.setenv("PSEUDOBENCH_MLFLOW", uri)
    settings = {"recipe.lr": 1e30, "recipe.steps": 30}
    spec = resolve(registry, method="supervised", dataset="digits", seed=0, preset="smoke", settings=settings)
    make_runner(tmp_path, registry, load_plugins()).run([spec])
    client = MlflowClient(tracking_uri=uri)
    (run,) = client.search_runs([client.get_experiment_by_name("pseudobench").experiment_id])
    assert run.info.status == "FAILED"
    assert "loss became" in run.data.tags["pseudobench.error"]


@pytest.mark.parametrize(
    ("variable", "module", "extra"),
    [
        ("PSEUDOBENCH_TENSORBOARD", "torch.utils.tensorboard", "tensorboard"),
        ("PSEUDOBENCH_MLFLOW", "mlflow", "mlflow"),
    ],
)
def test_a_tracker_whose_library_is_missing_says_what_to_install(monkeypatch, tmp_path, variable, module, extra):
    monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.setitem(sys.modules, module, None)  # as if it were not installed
    plugins = load_plugins()
    spec = resolve_any(plugins)
    with pytest.warns(BenchWarning, match=rf"pip install 'pseudobench\[{extra}\]'"):
        plugins.notify("bench_run_started", spec=spec)


def resolve_any(plugins):
    from pseudobench.registry.components import build_registry

    return resolve(build_registry(plugins), method="supervised", dataset="digits", seed=0)


def test_without_its_variable_a_tracker_does_nothing(bench, monkeypatch, tmp_path):
    for variable in ("PSEUDOBENCH_TENSORBOARD", "PSEUDOBENCH_MLFLOW"):
        monkeypatch.delenv(variable, raising=False)
    before = {"tensorboard", "mlflow"} & set(sys.modules)
    assert bench("run", "--methods", "supervised", *QUICK[:4]).code == 0
    assert {"tensorboard", "mlflow"} & set(sys.modules) == before
    assert {path.name for path in tmp_path.iterdir()} == {"runs", "cache"}
