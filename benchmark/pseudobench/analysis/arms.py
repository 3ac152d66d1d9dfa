"""Arms of a comparison: the runs of one method with the same settings, in one place, by seed."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pseudobench.analysis.dataframe import IDENTITY, PLACE
from pseudobench.errors import BenchError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Arm:
    """What a table has a row for. ``values`` are those of the finished runs: column, then seed."""

    identity: Mapping[str, str]  # by IDENTITY
    ceiling: bool  # trained on all labels: a bound on the others, not one of them
    training: str  # how its training differs from that of other arms in its place
    run_ids: tuple[str, ...]
    splits: Mapping[int, str]  # by seed
    values: Mapping[str, Mapping[int, float]]
    done: int
    missing: int  # failed, or not finished

    @property
    def place(self) -> tuple[str, ...]:
        """Where it is comparable."""
        return tuple(self.identity[key] for key in PLACE)

    @property
    def settings(self) -> list[str]:
        """What is said of its settings, one by one."""
        return [each for each in re.split(r", (?=[\w. -]+=)", self.identity["settings"]) if each]


def shared_settings(arms: Sequence[Arm]) -> list[str]:
    """The settings that all of them have."""
    return [each for each in arms[0].settings if all(each in arm.settings for arm in arms)]


def arms_of(runs: pd.DataFrame, columns: Iterable[str]) -> list[Arm]:
    """The arms of a frame (see `frames.frame`), in its order."""
    names = list(columns)
    identities = zip(*(runs[key].map(str) for key in IDENTITY), strict=True)
    groups: dict[tuple[str, ...], list[int]] = {}
    for row, identity in enumerate(identities):
        groups.setdefault(identity, []).append(row)
    held = {key: runs[key].tolist() for key in ("run_id", "trains on", "training", "seed", "split", "status", *names)}
    return [_arm(identity, rows, held, names) for identity, rows in groups.items()]


def _arm(identity: tuple[str, ...], rows: list[int], held: Mapping[str, list], names: list[str]) -> Arm:  # type: ignore[type-arg]
    by_seed: dict[int, int] = {}
    for row in rows:
        first = by_seed.setdefault(held["seed"][row], row)
        if first != row:
            one, other = held["run_id"][first], held["run_id"][row]
            raise BenchError(f"{one} and {other} can't be told apart by their settings; move one of them away")
    done = {seed: row for seed, row in by_seed.items() if held["status"][row] == "done"}
    return Arm(
        identity=dict(zip(IDENTITY, identity, strict=True)),
        ceiling=held["trains on"][rows[0]] == "all",
        training=held["training"][rows[0]],
        run_ids=tuple(held["run_id"][row] for row in rows),
        splits={seed: held["split"][row] for seed, row in done.items()},
        values={
            name: {seed: held[name][row] for seed, row in done.items() if not math.isnan(held[name][row])}
            for name in names
        },
        done=len(done),
        missing=len(rows) - len(done),
    )
