"""TensorBoard: with PSEUDOBENCH_TENSORBOARD set to a folder, every run logs its rounds there as they end."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pseudobench import BenchError, choices_of, hookimpl, numbers_of

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

    from pseudobench import RunSpec

#: The environment variable that names the folder.
FOLDER = "PSEUDOBENCH_TENSORBOARD"

#: Run id to its writer, for the runs of this process that have not ended.
_writers: dict[str, SummaryWriter] = {}


@hookimpl
def bench_run_started(spec: RunSpec) -> None:
    """Raise at once if the library is missing."""
    if os.environ.get(FOLDER):
        try:
            import torch.utils.tensorboard  # noqa: F401
        except ImportError as error:
            message = f"{FOLDER} is set and TensorBoard is not there; pip install 'pseudobench[tensorboard]'"
            raise BenchError(message) from error


@hookimpl
def bench_round_finished(spec: RunSpec, round: dict[str, Any]) -> None:
    """Log every number of the round; the step is the round."""
    if not os.environ.get(FOLDER):
        return
    if spec.run_id not in _writers:
        _writers[spec.run_id] = _start(spec, round["round"])
    writer = _writers[spec.run_id]
    for name, value in numbers_of(round).items():
        writer.add_scalar(name, value, round["round"])
    writer.flush()


def _start(spec: RunSpec, round_: int) -> SummaryWriter:
    """A writer that begins with this round, and purges later rounds left by an interrupted attempt."""
    from torch.utils.tensorboard import SummaryWriter
    from torch.utils.tensorboard.summary import hparams

    writer = SummaryWriter(str(Path(os.environ[FOLDER]) / spec.run_id), purge_step=round_)
    for part in hparams(choices_of(spec), {"test/accuracy": None}):  # type: ignore[no-untyped-call]
        writer._get_file_writer().add_summary(part)  # type: ignore[no-untyped-call]
    return writer


@hookimpl
def bench_run_finished(spec: RunSpec, record: dict[str, Any]) -> None:
    """Log the run's status; a run that failed before its first round has no writer."""
    if spec.run_id in _writers:
        with _writers.pop(spec.run_id) as writer:
            reason = f": {record['error']['message']}" if record["error"] else ""
            writer.add_text("status", record["status"] + reason, len(record["rounds"]))
