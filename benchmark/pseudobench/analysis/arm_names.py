"""Short names of arms: the method, and what tells it from the others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pseudobench.analysis.arm_settings import grouped, shared_settings, telling_settings
from pseudobench.analysis.run_facts import POLICY, Place, plain
from pseudobench.contracts.parameters import Value

if TYPE_CHECKING:
    from pseudobench.analysis.arms import Arm

#: A name with more settings than ``_MOST`` says ``_LEAST`` of them, or as many as make it unique.
_MOST, _LEAST = 4, 2
_GREEK = {"alpha": "α", "lam": "λ", "tau": "τ"}


def named(arms: Sequence[Arm]) -> list[Arm]:
    """The arms with names: the method, and its settings that are neither its defaults nor those of a whole place.

    A default is the value that an arm of the method has where its user did not set any. Where a method's arms differ in
    a single setting, every one of them says it. So no two arms of a place have the same name.
    """
    keys = telling_settings(arms)
    shared = {place: shared_settings(members) for place, members in grouped(arms, lambda arm: arm.place).items()}
    for arm in arms:
        own = (key for key in arm.settings if key in arm.overridden & arm.shown and key not in shared[arm.place])
        keys[arm.method] = list(dict.fromkeys([*keys[arm.method], *own]))
    default: dict[tuple[Place, str, str], Value] = {}
    for arm in sorted(arms, key=lambda arm: (len(arm.overridden), repr(arm.settings))):
        for key in keys[arm.method]:
            if key not in arm.overridden:
                default.setdefault((arm.place, arm.method, key), arm.settings.get(key))
    taken: set[tuple[Place, str]] = set()
    made = []
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
        made.append(replace(arm, name=name, usual=usual, untold=len(said) - len(told)))
    return made


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
