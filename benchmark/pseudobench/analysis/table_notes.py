"""Notes on a table: how to read its marks, and what is not the same for all of its runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pseudobench.analysis.arms import Arm
from pseudobench.analysis.run_facts import POLICY, Place
from pseudobench.analysis.verdicts import Verdict
from pseudobench.contracts.parameters import Value


@dataclass(frozen=True)
class Notes:
    """What a reader must know of a table's marks and runs."""

    marked: bool  # some column has a best tier
    pairs: tuple[int, ...]  # how many were tested together in each place, in the column that most rows have
    untested: tuple[int, ...]  # numbers of seeds that were too few for a test
    several: bool  # rows of several places, each with its own best
    ceilings: tuple[str, ...]
    incomplete: tuple[str, ...]  # arms without a value for some seed that others of their place have
    usual: Mapping[str, Mapping[str, tuple[Value, ...]]]  # by method, settings that a name leaves out
    revisions: tuple[str, ...]  # of the code, if several
    processors: tuple[str, ...]  # if several
    groups: Mapping[str, Mapping[str, Value]]  # in a pivoted table, settings that all rows of a group have
    calibrated: Mapping[str, tuple[str, ...]]  # calibration policy to the names of arms
    doubled: tuple[str, ...]  # arms whose networks see twice the samples of a network with labels alone
    hidden: int  # rows that are judged with these and not shown
    untold: bool  # some name leaves out settings of its own


def notes_on(arms: Sequence[Arm], verdicts: Sequence[Verdict], groups: Mapping[str, Mapping[str, Value]]) -> Notes:
    """The notes on a table of these arms, with these verdicts. ``groups`` are settings of groups of columns."""
    judged = [verdict for verdict in verdicts if sum(bool(arm.values[verdict.column.name]) for arm in verdict.arms) > 1]
    usual: dict[str, dict[str, tuple[Value, ...]]] = {}
    for arm in arms:
        for key, value in arm.usual.items():
            held = usual.setdefault(arm.method, {})
            held[key] = tuple(dict.fromkeys((*held.get(key, ()), value)))
    runs = [run for arm in arms for run in arm.runs]
    return Notes(
        marked=any(verdict.best is not None for verdict in judged),
        pairs=_pairs(judged),
        untested=tuple(sorted({verdict.most_seeds for verdict in judged if not verdict.tested})),
        several=len({arm.place for arm in arms}) > 1,
        ceilings=_unique(arm.name for arm in arms if arm.ceiling),
        incomplete=_incomplete(arms, judged),
        usual=usual,
        revisions=_several(run.revision for run in runs),
        processors=_several(run.processor for run in runs),
        groups=groups,
        calibrated={
            policy: _unique(arm.name for arm in arms if arm.settings.get(POLICY) == policy)
            for policy in dict.fromkeys(str(arm.settings[POLICY]) for arm in arms if POLICY in arm.settings)
        },
        doubled=_unique(arm.name for arm in arms if arm.doubled),
        hidden=len({arm.run_ids for verdict in judged for arm in verdict.arms} - {arm.run_ids for arm in arms}),
        untold=any(arm.untold for arm in arms),
    )


def _pairs(verdicts: Sequence[Verdict]) -> tuple[int, ...]:
    most: dict[Place, int] = {}
    for verdict in verdicts:
        place = verdict.arms[0].place
        most[place] = max(most.get(place, 0), verdict.tests)
    return tuple(sorted({count for count in most.values() if count}))


def _incomplete(arms: Sequence[Arm], verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """Names of arms without a value for a seed that another arm of their place has, in some column with a verdict."""
    found = set()
    for verdict in verdicts:
        held = [arm.values[verdict.column.name].keys() for arm in verdict.arms]
        everyone = set().union(*held)
        found |= {arm.run_ids for arm, seeds in zip(verdict.arms, held, strict=True) if 0 < len(seeds) < len(everyone)}
    return _unique(arm.name for arm in arms if arm.run_ids in found)


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _several(values: Iterable[str]) -> tuple[str, ...]:
    """The values, if there is more than one."""
    found = _unique(value for value in values if value)
    return found if len(found) > 1 else ()
