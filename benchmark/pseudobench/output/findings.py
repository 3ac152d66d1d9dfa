"""What the runs show, in a sentence for each dataset: which method to take, and which can't be told from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pseudobench.analysis.run_facts import Place, judged_by, pick_columns
from pseudobench.analysis.verdicts import Verdict, families, judge
from pseudobench.base.text import counted
from pseudobench.maths.significance import SEEDS_NEEDED

if TYPE_CHECKING:
    from pseudobench.analysis.arms import Arm
    from pseudobench.registry.components import Registry
#: Places without a test that are told one by one.
_FEW = 2


@dataclass(frozen=True)
class Finding:
    """The verdict of one place, in the column that its runs are judged by."""

    place: Place
    verdict: Verdict

    @property
    def floor(self) -> Arm | None:
        """The arm that learns from labels alone, if there is one."""
        return next((arm for arm in self.verdict.arms if "selector" not in arm.settings and not arm.ceiling), None)


def findings(arms: Sequence[Arm], registry: Registry) -> list[Finding]:
    """The verdict of each place with two arms or more."""
    found = []
    for place, members in families(arms).items():
        (column,) = pick_columns(registry, [judged_by(run for arm in members for run in arm.runs)])
        rivals = [arm for arm in members if not arm.ceiling and arm.values[column.name]]
        if len(rivals) > 1:
            found.append(Finding(place, judge(rivals, column)))
    return found


def parts_that_vary(place: Place, places: Iterable[Place]) -> list[str]:
    """The parts of a place, besides its label count, in which the places of its dataset differ."""
    alike = [each for each in places if each.dataset == place.dataset]
    return [str(getattr(place, key)) for key in Place._fields[2:] if len({getattr(each, key) for each in alike}) > 1]


def finding_sentences(found: Sequence[Finding]) -> list[str]:
    """One sentence for each dataset, kind of evaluation, backbone, preset and device."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for each in found:
        groups.setdefault((each.place.dataset, *each.place[2:]), []).append(each)
    said: list[str] = []
    untested: list[tuple[str, Finding]] = []
    for members in groups.values():
        place = members[0].place
        where = ", ".join(parts_that_vary(place, [each.place for each in found]))
        tested = [each for each in members if each.verdict.best is not None]
        name = place.dataset + (f" ({where})" if where else "")
        if tested:
            said.append(_sentence(name, tested))
        untested += [(name, each) for each in members if each not in tested]
    if len(untested) <= _FEW:
        return [*said, *(_untested(name, each) for name, each in untested)]
    return [*said, f"{len(untested)} other datasets and label counts have fewer than {SEEDS_NEEDED} seeds: no test."]


def _untested(name: str, finding: Finding) -> str:
    seeds = counted(finding.verdict.most_seeds, "seed")
    labels = finding.place.labels
    return f"On {name} with {labels} labels {seeds} can't separate these methods: a test needs {SEEDS_NEEDED}."


def _sentence(name: str, tested: Sequence[Finding]) -> str:
    """What to take on a dataset over its label counts."""
    useless = [each for each in tested if each.floor in each.verdict.best_tier]
    level = [each for each in tested if not each.floor and len(each.verdict.best_tier) == len(each.verdict.arms)]
    useful = [each for each in tested if each not in useless and each not in level]
    parts = []
    votes = {arm.name: 0 for each in useful for arm in each.verdict.arms}
    for each in useful:
        for rank, arm in enumerate(each.verdict.best_tier):
            votes[arm.name] += 1000 - rank  # in most best tiers; then with the best means
    taken = max(votes, key=lambda arm: votes[arm], default="")
    fine = [each for each in useful if any(arm.name == taken for arm in each.verdict.best_tier)]
    if fine:
        parts.append(f"take `{taken}`{_gain(taken, fine, alone=len(tested) == 1)}")
    for each in fine:
        if others := [f"`{arm.name}`" for arm in each.verdict.best_tier if arm.name != taken]:
            at = f"at {each.place.labels} labels " if len(tested) > 1 else ""
            parts.append(f"{at}{_listed(others)} can't be told from it")
    for each in useful:
        if each not in fine:
            best = [f"`{arm.name}`" for arm in each.verdict.best_tier]
            parts.append(f"at {each.place.labels} labels take {_listed(best, 'or')}")
    for each in level:
        leader, *others = [f"`{arm.name}`" for arm in each.verdict.best_tier]
        at = f"at {each.place.labels} labels " if len(tested) > 1 else ""
        parts.append(f"{at}{_listed(others)} can't be told from {leader}, which has the best mean")
    for each in useless:
        floor = f"`{each.floor.name}`" if each.floor else "another"
        at = f"with {each.place.labels} labels " if len(tested) > 1 else ""
        parts.append(f"{at}no method is found better than {floor}")
    labels = f" with {tested[0].place.labels} labels" if len(tested) == 1 else ""
    return f"On {name}{labels} {'; '.join(parts)}."


def _gain(taken: str, fine: Sequence[Finding], *, alone: bool) -> str:
    """By how much it is above the floor, where there is one."""
    column = fine[0].verdict.column
    compared = [(each, each.floor) for each in fine if each.floor is not None]
    if not compared:
        return ""
    arms = [next(arm for arm in each.verdict.arms if arm.name == taken) for each, _ in compared]
    pairs = [each.verdict.between(arm, floor) for (each, floor), arm in zip(compared, arms, strict=True)]
    sizes = [f"{abs(pair.mean) * column.scale:.{column.digits}f}" for pair in pairs]
    unit = " points" if column.scale == 100 else ""
    side = "above" if column.higher_is_better else "below"
    labels = "" if alone else f" with {_listed([str(each.place.labels) for each, _ in compared])} labels"
    return f" ({column.name} {_listed(sizes)}{unit} {side} `{compared[0][1].name}`{labels})"


def _listed(names: Sequence[str], word: str = "and") -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"
