"""Who wants to know how an experiment goes. The base class listens and says nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pseudobench.spec import RunSpec


class Listener:
    """Progress of an experiment; the console overrides what it shows."""

    def experiment_started(self, total: int, finished_before: int) -> None:
        """``total`` runs are wanted; ``finished_before`` of them have a finished record already."""

    def run_started(self, spec: RunSpec) -> None:
        """A run starts."""

    def epoch_finished(self, spec: RunSpec, done: float) -> None:
        """An epoch of some training has ended; ``done`` is the share of the run's longest course so far."""

    def round_finished(self, spec: RunSpec, round_: Mapping[str, Any]) -> None:
        """A round is recorded."""

    def run_finished(self, spec: RunSpec, record: Mapping[str, Any]) -> None:
        """A run has ended, well or not."""

    def experiment_finished(self) -> None:
        """Nothing more will come."""
