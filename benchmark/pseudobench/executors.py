"""For executors of plugins: what one is given, what it answers, and what to do where runs execute."""

from pseudobench.contracts.executing import Batch, Ended, Message, Runner, RunnerConfig, Setup
from pseudobench.contracts.run_spec import RunSpec
from pseudobench.execution.workers import attempt, warnings_sent
from pseudobench.storage.job_notes import End, JobNotes

__all__ = [
    "Batch",
    "End",
    "Ended",
    "JobNotes",
    "Message",
    "RunSpec",
    "Runner",
    "RunnerConfig",
    "Setup",
    "attempt",
    "warnings_sent",
]
