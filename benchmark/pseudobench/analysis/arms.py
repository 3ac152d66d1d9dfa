"""Arms of a comparison: the runs of one method with the same settings, in one place, under one short name."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from pseudobench.analysis.arm_names import named
from pseudobench.analysis.arm_settings import TRAINING, grouped, telling_settings, varying
from pseudobench.analysis.run_facts import POLICY, Place, RunFacts, method_ranks
from pseudobench.base.text import in_order
from pseudobench.contracts.parameters import Value
from pseudobench.errors import BenchError

if TYPE_CHECKING:
    import numpy as np

    from pseudobench.registry.components import Registry

#: Settings that the place says in words of its own.
_SAID_ELSEWHERE = ("network.tune",)


@dataclass(frozen=True, eq=False)  # two arms have no run in common, so each is equal to itself alone
class Arm:
    """What a table has a row for. ``settings`` are all of its choices by name, ``shown`` the names worth showing.

    ``usual`` are those of them that neither its ``name`` says, as they have the usual value, nor all arms of its place
    share; ``untold`` says how many others the name leaves out. ``values`` are those of the finished runs: column, then
    seed.
    """

    name: str
    method: str
    rank: int  # the method's position in the list of methods
    place: Place
    settings: Mapping[str, Value]
    overridden: frozenset[str]  # names of settings that a user chose
    shown: frozenset[str]
    usual: Mapping[str, Value]
    runs: tuple[RunFacts, ...]
    values: Mapping[str, Mapping[int, float]]
    untold: int = 0

    @property
    def order(self) -> tuple[int, str, tuple[str | float, ...]]:
        """What arms of a place are sorted by: methods as they are listed, then numbers in names by their value."""
        return self.rank, self.method, in_order(self.name)

    @property
    def ceiling(self) -> bool:
        """Whether it was trained on all labels: a bound on the others, not one of them."""
        return self.settings["trains_on"] == "all"

    @property
    def doubled(self) -> bool:
        """Whether its networks see a batch of pseudo-labels beside one of labels: twice the compute of labels alone."""
        return "selector" in self.settings and self.settings.get("recipe.batches") == "beside"

    @cached_property
    def groups(self) -> frozenset[str]:
        """The components and parts of the harness that its settings are of."""
        return frozenset(key.rpartition(".")[0] for key in self.settings)

    @cached_property
    def run_ids(self) -> tuple[str, ...]:
        """Its runs; no other arm has any of them."""
        return tuple(run.run_id for run in self.runs)

    @cached_property
    def correct(self) -> dict[int, np.ndarray]:
        """By seed, whether each test sample was classified correctly, bool [N], where that was stored."""
        return {run.spec["seed"]: run.correct for run in self.runs if run.done and run.correct is not None}

    @cached_property
    def splits(self) -> dict[int, str]:
        """The splits of finished runs, by seed."""
        return {run.spec["seed"]: run.split for run in self.runs if run.done}

    @property
    def done(self) -> int:
        """How many runs have finished."""
        return sum(run.done for run in self.runs)

    @property
    def missing(self) -> int:
        """How many runs failed or have not finished."""
        return len(self.runs) - self.done


def arms_of(runs: Iterable[RunFacts], registry: Registry) -> list[Arm]:
    """The arms of runs, by place; then methods in the order in which they are listed, compositions last."""
    groups: dict[tuple[Place, str, int], list[RunFacts]] = {}
    same: dict[str, int] = {}  # settings that look the same are one
    for run in runs:
        settings = same.setdefault(repr(sorted(run.settings.items())), len(same))
        groups.setdefault((run.place, run.spec["method"], settings), []).append(run)
    ranks = method_ranks(registry)
    unnamed = [_arm(members, ranks.get(method, len(ranks))) for (_, method, _), members in groups.items()]
    return sorted(named(_with_shown(unnamed)), key=lambda arm: (arm.place, *arm.order))


def _arm(runs: Sequence[RunFacts], rank: int) -> Arm:
    by_seed: dict[int, RunFacts] = {}
    for run in runs:
        first = by_seed.setdefault(run.spec["seed"], run)
        if first is not run:
            message = f"{first.run_id} and {run.run_id} can't be told apart by their settings; move one of them away"
            raise BenchError(message)
    by_seed = dict(sorted(by_seed.items()))
    done = {seed: run.values for seed, run in by_seed.items() if run.done}
    values = {
        name: {seed: held[name] for seed, held in done.items() if not math.isnan(held[name])} for name in runs[0].values
    }
    one = runs[0]
    overridden = frozenset.intersection(*(frozenset(run.spec["overrides"]) for run in runs))
    return Arm(
        name="",
        method=one.spec["method"],
        rank=rank,
        place=one.place,
        settings=one.settings,
        overridden=overridden,
        shown=frozenset(),
        usual={},
        runs=tuple(by_seed.values()),
        values=values,
    )


def _with_shown(arms: Sequence[Arm]) -> list[Arm]:
    """The arms with the settings that are worth showing.

    These are what users set, the calibration policy, whatever tells arms of a method apart, and training that is not
    the same for all arms of a place.
    """
    training = {
        place: {key for key in varying([arm.settings for arm in members]) if key.startswith(TRAINING)}
        for place, members in grouped(arms, lambda arm: arm.place).items()
    }
    telling = telling_settings(arms)
    made = []
    for arm in arms:
        keys = {POLICY, *arm.overridden, *training[arm.place], *telling[arm.method]}.difference(_SAID_ELSEWHERE)
        made.append(replace(arm, shown=frozenset(keys & arm.settings.keys())))
    return made
