"""Is a difference between methods real? The pairs asked for, with the verdicts of their families."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from pseudobench.analysis.arm_settings import training_differences
from pseudobench.analysis.arms import Arm, arms_of
from pseudobench.analysis.filtering import Record, matching, parse_where
from pseudobench.analysis.pairs import Pair, compare_arms, split_differs
from pseudobench.analysis.run_facts import judged_by, pick_columns, plain, read_facts
from pseudobench.analysis.verdicts import families, judge
from pseudobench.errors import BenchError

if TYPE_CHECKING:
    from pseudobench.contracts.columns import Column
    from pseudobench.registry.components import Registry

Family = Literal["all", "baseline"]


@dataclass(frozen=True)
class Side:
    """A method, and if ``where`` says so only its runs with certain settings."""

    method: str
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Comparison:
    """An arm against a baseline in one column."""

    arm: Arm
    baseline: Arm
    column: Column
    pair: Pair


def parse_side(text: str) -> Side:
    """``ups-raps``, or with settings ``ups-raps:calibration=cross:platt.smoothing=false``."""
    method, *pairs = text.split(":")
    return Side(method, parse_where(pairs))


def compare_records(
    records: Iterable[Record], names: Sequence[str], metric: str | None, registry: Registry, family: Family = "all"
) -> list[Comparison]:
    """Every other method named against the first; with one name, every method that there is against it."""
    runs = read_facts(records, registry)
    if not runs:
        raise BenchError("there are no run records to compare; `bench run` makes some")
    (column,) = pick_columns(registry, [metric or judged_by(runs)])
    return compare_sides(arms_of(runs, registry), [parse_side(name) for name in names], column, family)


def compare_sides(
    arms: Sequence[Arm], sides: Sequence[Side], column: Column, family: Family = "all"
) -> list[Comparison]:
    """Every other side against the first; with one side, every method that there is against it.

    P-values are corrected over the family: all pairs of ``arms`` of a place, whichever are asked for; or with
    ``baseline`` the pairs with an arm of the first side. Arms that were not trained with the same recipe and network
    are compared only if the settings of either are named.
    """
    if family not in get_args(Family):
        raise BenchError(f"there is no family {family!r}; known: {', '.join(get_args(Family))}")
    baseline, *others = sides
    if not others:
        methods = dict.fromkeys(arm.method for arm in arms if not arm.ceiling)
        others = [Side(method) for method in methods if method != baseline.method]
    meant = [_arms_of_side(side, arms) for side in (baseline, *others)]
    first = {arm.run_ids for arm in meant[0]} if family == "baseline" else None
    verdicts = {place: judge(members, column, first) for place, members in families(arms).items()}
    found: dict[tuple[tuple[str, ...], ...], Comparison] = {}
    for base in meant[0]:
        for side, members in zip(others, meant[1:], strict=True):
            for arm in members:
                named = bool(side.where or baseline.where)
                if not _pair(arm, base) or (training_differences(arm, base) and not named):
                    continue
                _check_splits(arm, base, column)
                rivals = not (arm.ceiling or base.ceiling)
                pair = verdicts[arm.place].between(arm, base) if rivals else compare_arms(arm, base, column)
                found.setdefault((arm.run_ids, base.run_ids), Comparison(arm, base, column, pair))
    if not found:
        raise BenchError(_why_nothing(baseline, others, meant))
    return list(found.values())


def _arms_of_side(side: Side, arms: Sequence[Arm]) -> list[Arm]:
    """The arms that a side means: those of its method of which some run has the settings named."""
    runs = (run for arm in arms for run in arm.runs)
    light = ({"run_id": run.run_id, "spec": run.spec, "status": run.status} for run in runs)
    ids = {record["run_id"] for record in matching(light, {**side.where, "method": (side.method,)})}
    return [arm for arm in arms if not ids.isdisjoint(arm.run_ids)]


def _pair(arm: Arm, base: Arm) -> bool:
    return arm.place == base.place and arm.run_ids != base.run_ids


def _check_splits(arm: Arm, base: Arm, column: Column) -> None:
    for seed in sorted(arm.values[column.name].keys() & base.values[column.name].keys()):
        if split_differs(arm, base, seed):
            what = f"{arm.name} and {base.name} on {arm.place.dataset}"
            raise BenchError(f"{what}: their runs with seed {seed} had different images labeled, so they are no pair")


def _why_nothing(baseline: Side, others: Sequence[Side], sides: Sequence[Sequence[Arm]]) -> str:
    names = f"{baseline.method} and {', '.join(side.method for side in others) or 'no other method'}"
    for arm in (arm for arms in sides[1:] for arm in arms):
        for base in sides[0]:
            if _pair(arm, base):
                keys = training_differences(arm, base)
                one, other = (
                    ":".join([each.method, *(f"{key}={plain(each.settings.get(key))}" for key in keys)])
                    for each in (base, arm)
                )
                return (
                    f"{names} were trained differently, so that their difference is not the methods' alone; to compare "
                    f"them all the same, say so: bench compare {one} {other}"
                )
    if baseline in others:
        return f"{baseline.method} is named twice, and has no runs that differ in its settings"
    return f"{names} have no runs that differ in the method alone, with the same dataset, labels, backbone and preset"
