"""Settings of arms beside each other: those that differ, those that tell arms apart, those that all share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from pseudobench.contracts.parameters import Value

if TYPE_CHECKING:
    from pseudobench.analysis.arms import Arm

Key = TypeVar("Key")

#: Settings of the harness that methods of one place are expected to share.
TRAINING = ("recipe.", "network.")


def varying(members: Sequence[Mapping[str, Value]]) -> set[str]:
    """Settings that have different values, or that only some have."""
    keys = {key for settings in members for key in settings} if len(members) > 1 else set()
    return {key for key in keys if len({repr(settings.get(key, ...)) for settings in members}) > 1}


def grouped(arms: Iterable[Arm], key: Callable[[Arm], Key]) -> dict[Key, list[Arm]]:
    """Arms with the same key together, in their order."""
    groups: dict[Key, list[Arm]] = {}
    for arm in arms:
        groups.setdefault(key(arm), []).append(arm)
    return groups


def telling_settings(arms: Sequence[Arm]) -> dict[str, list[str]]:
    """By method, the settings that tell its arms of some place apart."""
    telling: dict[str, list[str]] = {}
    for (_, method), members in grouped(arms, lambda arm: (arm.place, arm.method)).items():
        keys = varying([arm.settings for arm in members])
        known = dict.fromkeys(key for arm in members for key in arm.settings)
        telling.setdefault(method, []).extend(key for key in known if key in keys)
    return {method: list(dict.fromkeys(keys)) for method, keys in telling.items()}


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
