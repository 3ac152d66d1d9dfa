"""Arms of a comparison: the runs of one method with the same settings, in one place, under one short name."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from pseudobench.analysis.run_facts import POLICY, Place, RunFacts, method_ranks, plain
from pseudobench.contracts.parameters import Value
from pseudobench.errors import BenchError

if TYPE_CHECKING:
    import numpy as np

    from pseudobench.registry.components import Registry

#: Settings of the harness that methods of one place are expected to share.
TRAINING = ("recipe.", "network.")
#: Settings that the place says in words of its own.
_SAID_ELSEWHERE = ("network.tune",)


@dataclass(frozen=True)
class Arm:
    """What a table has a row for. ``settings`` are all of its choices by name, ``shown`` the names worth showing.

    ``usual`` are settings that tell arms of its method apart and that its ``name`` leaves out, as they have the usual
    value. ``values`` are those of the finished runs: column, then seed.
    """

    name: str
    method: str
    rank: int  # the method's place in the list of methods
    place: Place
    settings: Mapping[str, Value]
    shown: frozenset[str]
    told: frozenset[str]  # settings that the name says, or leaves out as usual
    usual: Mapping[str, Value]
    runs: tuple[RunFacts, ...]
    values: Mapping[str, Mapping[int, float]]

    @property
    def ceiling(self) -> bool:
        """Whether it was trained on all labels: a bound on the others, not one of them."""
        return self.settings["trains_on"] == "all"

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
    return sorted(_named(_with_shown(unnamed)), key=lambda arm: (arm.place, arm.rank, arm.method, arm.name))


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
    shown = frozenset(key for run in runs for key in run.spec["overrides"])
    return Arm(
        "", one.spec["method"], rank, one.place, one.settings, shown, frozenset(), {}, tuple(by_seed.values()), values
    )


def varying(members: Sequence[Mapping[str, Value]]) -> set[str]:
    """Settings that have different values, or that only some have."""
    keys = {key for settings in members for key in settings} if len(members) > 1 else set()
    return {key for key in keys if len({repr(settings.get(key, ...)) for settings in members}) > 1}


def _with_shown(arms: Sequence[Arm]) -> list[Arm]:
    """The arms with the settings that are worth showing.

    These are what users set, the calibration policy, whatever tells arms of a method apart, and training that is not
    the same for all arms of a place.
    """
    by_place: dict[Place, list[Mapping[str, Value]]] = {}
    for arm in arms:
        by_place.setdefault(arm.place, []).append(arm.settings)
    training = {
        place: {key for key in varying(members) if key.startswith(TRAINING)} for place, members in by_place.items()
    }
    telling = _telling(arms)
    made = []
    for arm in arms:
        keys = {POLICY, *arm.shown, *training[arm.place], *telling[arm.method]}.difference(_SAID_ELSEWHERE)
        made.append(replace(arm, shown=frozenset(keys & arm.settings.keys())))
    return made


def _telling(arms: Sequence[Arm]) -> dict[str, list[str]]:
    """By method, the settings that tell its arms of some place apart."""
    groups: dict[tuple[Place, str], list[Arm]] = {}
    for arm in arms:
        groups.setdefault((arm.place, arm.method), []).append(arm)
    telling: dict[str, list[str]] = {}
    for (_, method), members in groups.items():
        keys = varying([arm.settings for arm in members])
        known = dict.fromkeys(key for arm in members for key in arm.settings)
        telling.setdefault(method, []).extend(key for key in known if key in keys)
    return {method: list(dict.fromkeys(keys)) for method, keys in telling.items()}


def _named(arms: Sequence[Arm]) -> list[Arm]:
    """The arms with names: the method, and where it has several arms, their settings that differ from the usual.

    Usual is the arm of the method and place with the fewest settings of a user's own. Where a method's arms differ in a
    single setting, every one of them says it. So no two arms of a place have the same name.
    """
    telling = _telling(arms)
    usual: dict[tuple[Place, str], Arm] = {}
    for arm in sorted(arms, key=lambda arm: (len(arm.runs[0].spec["overrides"]), repr(arm.settings))):
        usual.setdefault((arm.place, arm.method), arm)
    taken: set[tuple[Place, str]] = set()
    named = []
    for arm in arms:
        keys = telling[arm.method]
        own = usual[arm.place, arm.method].settings
        said = [key for key in keys if len(keys) == 1 or repr(arm.settings.get(key)) != repr(own.get(key))]
        name = " ".join([arm.method, *(_short(key, arm.settings.get(key), keys) for key in said)])
        while (arm.place, name) in taken:  # values that are printed alike
            name += "'"
        taken.add((arm.place, name))
        unsaid = {key: arm.settings[key] for key in keys if key not in said and key in arm.settings}
        named.append(replace(arm, name=name, told=frozenset(keys), usual=unsaid))
    return named


def _short(key: str, value: Value, keys: Sequence[str]) -> str:
    """A setting in a name, by the last part of its own name unless another setting ends like it."""
    if key == POLICY:
        return plain(value)
    last = key.rpartition(".")[2]
    short = key if sum(other.rpartition(".")[2] == last for other in keys) > 1 else last
    if isinstance(value, bool):
        return short if value else f"\N{MINUS SIGN}{short}"
    return f"{short}={plain(value)}"


def shared_settings(arms: Sequence[Arm]) -> dict[str, Value]:
    """Settings worth showing that have one value in all arms that they concern."""
    shown = frozenset(key for arm in arms for key in arm.shown)
    found = {key: value for arm in arms for key, value in arm.settings.items() if key in shown}
    return {
        key: value
        for key, value in found.items()
        if all(repr(arm.settings.get(key, ...)) == repr(value) for arm in arms if _concerns(key, arm))
    }


def _concerns(key: str, arm: Arm) -> bool:
    """Whether a setting could be an arm's: a method without sets has no ``raps.alpha``, but every one is trained.

    Parameters that were added later are not in the record where they have their default.
    """
    group = key.rpartition(".")[0]
    return key.startswith(TRAINING) or key in arm.settings or bool(group and group in arm.groups)


def training_differences(arm: Arm, other: Arm) -> list[str]:
    """Settings of the training and the network in which two arms differ."""
    keys = varying([arm.settings, other.settings])
    both = dict.fromkeys([*arm.settings, *other.settings])
    return [key for key in both if key in keys and key.startswith(TRAINING)]
