"""Events of an experiment, for whoever shows its progress. The base class listens and does nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pseudobench.contracts.run_spec import RunSpec


@dataclass(frozen=True)
class Progress:
    """Progress of a run: the round of at most so many, the epoch, and the share of the longest possible course."""

    round: int
    rounds: int
    epoch: int
    epochs: int
    share: float


class Listener:
    """Progress of an experiment; the console overrides what it shows."""

    def experiment_started(self, total: int, finished_before: int) -> None:
        """``total`` runs are wanted; ``finished_before`` of them have a finished record already."""

    def runs_outdated(self, count: int, names: Sequence[str]) -> None:
        """``count`` runs have finished records, and are run again because ``names`` have changed since."""

    def features_computed(self, done: int, total: int) -> None:
        """A frozen backbone has seen ``done`` of ``total`` samples, before any run."""

    def run_started(self, spec: RunSpec) -> None:
        """A run starts."""

    def epoch_finished(self, spec: RunSpec, progress: Progress) -> None:
        """An epoch of some training has ended."""

    def round_finished(self, spec: RunSpec, round_: Mapping[str, Any]) -> None:
        """A round is recorded."""

    def run_finished(self, spec: RunSpec, record: Mapping[str, Any]) -> None:
        """A run has ended, well or not."""

    def experiment_finished(self) -> None:
        """Nothing more will come."""
