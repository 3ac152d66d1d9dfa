"""Columns of the results tables, and reading numbers off run records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pseudobench.errors import PluginError

if TYPE_CHECKING:
    import numpy as np

    from pseudobench.contracts.predictions import Predictions

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Column:
    """One column. ``read`` returns a number of a run record, or None if the run has no such number.

    A column may instead have a ``score``: a function of the stored predictions of the test samples and their true
    labels (NumPy, ``int64 [N]`` or ``bool [N, C]``). It is computed when a run ends, and for older runs by
    ``bench rescore``. ``scale`` is for display alone: 100 shows a share in percent. Tables mark the best by
    ``higher_is_better``; None: neither direction is better, and nothing is marked.
    """

    name: str
    description: str
    read: Callable[[Record], float | None] | None = None
    higher_is_better: bool | None = None
    scale: float = 1.0
    digits: int = 2
    score: Callable[[Predictions, np.ndarray], float | None] | None = None

    def __post_init__(self) -> None:
        if (self.read is None) == (self.score is None):
            raise PluginError(f"column {self.name!r} needs either `read` or `score`")

    def value(self, record: Record) -> float | None:
        """The column's number for a run."""
        return (record.get("scores") or {}).get(self.name) if self.read is None else self.read(record)


def last_round(record: Record) -> Record:
    """The last round of a record; empty if it has no rounds."""
    rounds = record.get("rounds") or [{}]
    last: Record = rounds[-1]
    return last


def headline(round_: Record) -> tuple[str, float]:
    """Name and value of the round's main measure: accuracy, or in the multi-label task mAP."""
    test = round_["test"]
    return ("accuracy", test["accuracy"]) if "accuracy" in test else ("mAP", test["map"])


def numbers_of(round_: Mapping[str, Any]) -> dict[str, float]:
    """All scalar numbers of a round's record by path, for trackers: ``test/accuracy``, ``seconds/fit``."""
    found: dict[str, float] = {}
    for name, value in round_.items():
        if isinstance(value, Mapping):
            found |= {f"{name}/{inner}": number for inner, number in numbers_of(value).items()}
        elif isinstance(value, int | float) and not isinstance(value, bool) and name != "round":
            found[name] = float(value)
    return found
