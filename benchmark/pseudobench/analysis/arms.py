"""Arms of a comparison: the runs of one method with the same settings, in one place, under one short name."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from pseudobench.analysis.run_facts import POLICY, Place, RunFacts, method_ranks, plain
from pseudobench.contracts.parameters import Value
from pseudobench.errors import BenchError

if TYPE_CHECKING:
    import numpy as np

    from pseudobench.registry.components import Registry

Key = TypeVar("Key")

#: Settings of the harness that methods of one place are expected to share.
TRAINING = ("recipe.", "network.")
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


def varying(members: Sequence[Mapping[str, Value]]) -> set[str]:
    """Settings that have different values, or that only some have."""
    keys = {key for settings in members for key in settings} if len(members) > 1 else set()
    return {key for key in keys if len({repr(settings.get(key, ...)) for settings in members}) > 1}


def _with_shown(arms: Sequence[Arm]) -> list[Arm]:
    """The arms with the settings that are worth showing.

    These are what users set, the calibration policy, whatever tells arms of a method apart, and training that is not
    the same for all arms of a place.
    """
    training = {
        place: {key for key in varying([arm.settings for arm in members]) if key.startswith(TRAINING)}
        for place, members in _grouped(arms, lambda arm: arm.place).items()
    }
    telling = _telling(arms)
    made = []
    for arm in arms:
        keys = {POLICY, *arm.overridden, *training[arm.place], *telling[arm.method]}.difference(_SAID_ELSEWHERE)
        made.append(replace(arm, shown=frozenset(keys & arm.settings.keys())))
    return made


def _grouped(arms: Iterable[Arm], key: Callable[[Arm], Key]) -> dict[Key, list[Arm]]:
    groups: dict[Key, list[Arm]] = {}
    for arm in arms:
        groups.setdefault(key(arm), []).append(arm)
    return groups


def _telling(arms: Sequence[Arm]) -> dict[str, list[str]]:
    """By method, the settings that tell its arms of some place apart."""
    telling: dict[str, list[str]] = {}
    for (_, method), members in _grouped(arms, lambda arm: (arm.place, arm.method)).items():
        keys = varying([arm.settings for arm in members])
        known = dict.fromkeys(key for arm in members for key in arm.settings)
        telling.setdefault(method, []).extend(key for key in known if key in keys)
    return {method: list(dict.fromkeys(keys)) for method, keys in telling.items()}


def _named(arms: Sequence[Arm]) -> list[Arm]:
    """The arms with names: the method, and its settings that are neither its defaults nor those of a whole place.

    A default is the value that an arm of the method has where its user did not set any. Where a method's arms differ in
    a single setting, every one of them says it. So no two arms of a place have the same name.
    """
    keys = _telling(arms)
    shared = {place: shared_settings(members) for place, members in _grouped(arms, lambda arm: arm.place).items()}
    for arm in arms:
        own = (key for key in arm.settings if key in arm.overridden & arm.shown and key not in shared[arm.place])
        keys[arm.method] = list(dict.fromkeys([*keys[arm.method], *own]))
    default: dict[tuple[Place, str, str], Value] = {}
    for arm in sorted(arms, key=lambda arm: (len(arm.overridden), repr(arm.settings))):
        for key in keys[arm.method]:
            if key not in arm.overridden:
                default.setdefault((arm.place, arm.method, key), arm.settings.get(key))
    taken: set[tuple[Place, str]] = set()
    named = []
    for arm in arms:
        known = {key: default.get((arm.place, arm.method, key), ...) for key in keys[arm.method]}
        said = [key for key in known if len(known) == 1 or repr(arm.settings.get(key)) != repr(known[key])]
        told = _enough(arm, said, arms)
        more = [f"(+{len(said) - len(told)})"] if len(told) < len(said) else []
        name = " ".join([arm.method, *(_short(key, arm.settings.get(key), tuple(known)) for key in told), *more])
        while (arm.place, name) in taken:  # values that are printed alike
            name += "'"
        taken.add((arm.place, name))
        rest = dict.fromkeys([*known, *(key for key in arm.settings if key in arm.shown)])
        unsaid = [key for key in rest if key in arm.settings and key not in said and key not in shared[arm.place]]
        usual = {key: arm.settings[key] for key in unsaid}
        named.append(replace(arm, name=name, usual=usual, untold=len(said) - len(told)))
    return named


def _enough(arm: Arm, said: Sequence[str], arms: Sequence[Arm]) -> list[str]:
    """The settings in an arm's name: all that it would say, or of many those that tell it from its method's others.

    Runs of two versions of a recipe in one table differ in a dozen settings.
    """
    if len(said) <= _MOST:
        return list(said)
    told: list[str] = []
    others = [each for each in arms if each is not arm and (each.place, each.method) == (arm.place, arm.method)]
    for key in sorted(said, key=lambda key: key not in arm.overridden):  # what a user set says most
        alike = [each for each in others if repr(each.settings.get(key)) == repr(arm.settings.get(key))]
        if len(alike) < len(others) or len(told) < _LEAST:
            told.append(key)
        others = alike
    return [key for key in said if key in told]


#: A name with more settings than ``_MOST`` says ``_LEAST`` of them, or as many as make it unique.
_MOST, _LEAST = 4, 2
_GREEK = {"alpha": "α", "lam": "λ", "tau": "τ"}


def _short(key: str, value: Value, keys: Sequence[str]) -> str:
    """A setting in a name, by the last part of its own name unless another setting ends like it."""
    if key == POLICY:
        return plain(value)
    last = key.rpartition(".")[2]
    short = key if sum(other.rpartition(".")[2] == last for other in keys) > 1 else last
    short = re.sub(r"(?<![^.])(alpha|lam|tau)(?![^_])", lambda found: _GREEK[found[0]], short)
    if isinstance(value, bool) and value:
        return short
    off = value is False or value == "none" or (isinstance(value, int) and value == 0)
    return f"\N{MINUS SIGN}{short}" if off else f"{short}={plain(value)}"


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
