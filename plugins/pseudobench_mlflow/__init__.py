"""MLflow: with PSEUDOBENCH_MLFLOW set to a tracking URI, every run is a run of an MLflow experiment."""

from __future__ import annotations

import os
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from pseudobench import BenchError, choices_of, hookimpl, numbers_of

if TYPE_CHECKING:
    from mlflow import MlflowClient

    from pseudobench import RunSpec

#: The environment variable with the tracking URI: ``sqlite:///mlflow.db``, or the address of a server.
URI = "PSEUDOBENCH_MLFLOW"
#: MLflow's experiment for the runs, unless MLFLOW_EXPERIMENT_NAME names another.
EXPERIMENT = "pseudobench"

#: What the address of a database in a file begins with.
_FILE = "sqlite:///"

#: Run id to MLflow's run id, for the runs of this process that have not ended.
_runs: dict[str, str] = {}


def _client() -> MlflowClient:
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # no request that nobody asked for
    try:
        from mlflow import MlflowClient
    except ImportError as error:
        raise BenchError(f"{URI} is set and MLflow is not there; pip install 'pseudobench[mlflow]'") from error
    return MlflowClient(tracking_uri=os.environ[URI])


def _experiment(client: MlflowClient) -> str:
    """The id of the experiment, created if need be; another process may create it at the same moment."""
    from mlflow.exceptions import MlflowException

    name = os.environ.get("MLFLOW_EXPERIMENT_NAME", EXPERIMENT)
    found = client.get_experiment_by_name(name)
    if found is None:
        try:
            return str(client.create_experiment(name))
        except MlflowException:
            found = client.get_experiment_by_name(name)
            if found is None:
                raise
    return str(found.experiment_id)


def _connected() -> tuple[MlflowClient, str]:
    """A client, and the id of the experiment.

    One process at a time: two that make the tables of a new file at the same moment leave it half made for good.
    """
    uri = os.environ[URI]
    with FileLock(f"{uri.removeprefix(_FILE)}.lock") if uri.startswith(_FILE) else nullcontext():
        client = _client()
        return client, _experiment(client)


@hookimpl
def bench_run_started(spec: RunSpec) -> None:
    """Start an MLflow run of the same name, with every choice of the spec as a parameter."""
    if not os.environ.get(URI):
        return
    client, experiment = _connected()
    from mlflow.entities import Param

    started = client.create_run(experiment, run_name=spec.run_id, tags={"pseudobench.run_id": spec.run_id})
    _runs[spec.run_id] = started.info.run_id
    params = [Param(name, str(value)) for name, value in choices_of(spec).items()]
    client.log_batch(started.info.run_id, params=params)


@hookimpl
def bench_round_finished(spec: RunSpec, round: dict[str, Any]) -> None:
    """Log every number of the round; the step is the round."""
    if spec.run_id not in _runs:
        return
    from mlflow.entities import Metric

    now = int(1000 * time.time())
    metrics = [Metric(name, value, now, round["round"]) for name, value in numbers_of(round).items()]
    _client().log_batch(_runs[spec.run_id], metrics=metrics)


@hookimpl
def bench_run_finished(spec: RunSpec, record: dict[str, Any]) -> None:
    """Set the MLflow run's final status, and its error if it failed."""
    if spec.run_id not in _runs:
        return
    client, run = _client(), _runs.pop(spec.run_id)
    if record["error"]:
        client.set_tag(run, "pseudobench.error", record["error"]["message"])
    client.set_terminated(run, "FINISHED" if record["status"] == "done" else "FAILED")
