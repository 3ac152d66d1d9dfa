"""MLflow: with PSEUDOBENCH_MLFLOW set to a tracking URI, every run is a run of an MLflow experiment."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from pseudobench import BenchError, choices_of, hookimpl, numbers_of

if TYPE_CHECKING:
    from mlflow import MlflowClient

    from pseudobench import RunSpec

#: The environment variable with the tracking URI: ``sqlite:///mlflow.db``, or the address of a server.
URI = "PSEUDOBENCH_MLFLOW"
#: MLflow's experiment for the runs, unless MLFLOW_EXPERIMENT_NAME names another.
EXPERIMENT = "pseudobench"

#: Attempts to reach the database, with pauses of 1/4, 1/2, 1 and 2 seconds between them.
_ATTEMPTS = 5

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

    Of two processes that make the tables of a new database at the same moment one fails: it tries again.
    """
    for attempt in range(_ATTEMPTS):
        try:
            client = _client()
            return client, _experiment(client)
        except BenchError:
            raise
        except Exception:  # sqlalchemy's errors, some of them inside MLflow's
            if attempt == _ATTEMPTS - 1:
                raise
            time.sleep(2**attempt / 4)
    raise AssertionError


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
