"""Is a difference between methods real? Paired over seeds, within one dataset, label count, network and preset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from pseudobench.analysis.arms import Arm, arms_of, shared_settings
from pseudobench.analysis.dataframe import PLACE, frame, judged_by, ordered, pick_columns
from pseudobench.analysis.filtering import Record, matching, parse_where
from pseudobench.analysis.sentences import sentence
from pseudobench.errors import BenchError
from pseudobench.maths.significance import Mean, Paired, compare_pairs, holm, mean_of, seeds_needed

if TYPE_CHECKING:
    from pseudobench.contracts.columns import Column
    from pseudobench.registry.components import Registry


@dataclass(frozen=True)
class Side:
    """A method, and if ``where`` says so only its runs with certain settings."""

    method: str
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Comparison:
    """A method against a baseline. ``p`` is corrected for the ``family`` of comparisons made together."""

    place: Mapping[str, str]
    names: tuple[str, str]  # method, baseline
    arms: tuple[Arm, Arm]
    column: Column
    means: tuple[Mean, Mean]
    paired: Paired
    unpaired: int  # seeds that only one of them has a value for
    p: float | None = None
    family: int = 1

    @property
    def enough(self) -> bool:
        """Whether its seeds could show a difference at all, in this company."""
        return self.paired.difference.n >= seeds_needed(self.family)


def parse_side(text: str) -> Side:
    """``ups-raps``, or with settings ``ups-raps:calibration=cross:platt.smoothing=false``."""
    method, *pairs = text.split(":")
    return Side(method, parse_where(pairs))


def compare_records(
    records: Iterable[Record], names: Sequence[str], metric: str | None, registry: Registry
) -> list[Comparison]:
    """Every other method named against the first; with one name, every method that there is against it.

    Runs of one method with different settings are compared each by themselves, never mixed. Methods that were not
    trained with the same recipe and network are compared only if the settings of either are named.
    """
    kept: list[Record] = []  # without their rounds, which are most of them
    runs = ordered(frame(_keeping(records, kept), registry), registry)
    if runs.empty:
        raise BenchError("there are no run records to compare; `bench run` makes some")
    (column,) = pick_columns(registry, [metric or judged_by(runs)])
    baseline, *others = [parse_side(name) for name in names]
    if not others:
        budget = runs[runs["trains on"] == "budget"]
        others = [Side(method) for method in dict.fromkeys(budget["method"]) if method != baseline.method]
    picked = [
        [record["run_id"] for record in matching(kept, {**side.where, "method": (side.method,)})]
        for side in (baseline, *others)
    ]
    sides = [arms_of(runs[runs["run_id"].isin(ids)], [column.name]) for ids in picked]
    everybody = arms_of(runs, [])
    found: dict[tuple[Any, ...], Comparison] = {}
    for base in sides[0]:
        for side, arms in zip(others, sides[1:], strict=True):
            for arm in arms:
                fair = arm.training == base.training or side.where or baseline.where
                if arm.place == base.place and arm.identity != base.identity and fair:
                    named = _name(arm, everybody), _name(base, everybody)
                    found.setdefault((arm.run_ids, base.run_ids), _compare(arm, base, named, column))
    if not found:
        raise BenchError(_why_nothing(baseline, others, sides))
    return _corrected(list(found.values()))


def _keeping(records: Iterable[Record], kept: list[Record]) -> Iterator[Record]:
    for record in records:
        kept.append({key: record[key] for key in ("run_id", "spec", "status")})
        yield record


def _name(arm: Arm, arms: Sequence[Arm]) -> str:
    """The method, and where it has several arms in one place what tells this one from them."""
    method, calibration = arm.identity["method"], arm.identity["calibration"]
    alike = [other for other in arms if other.place == arm.place and other.identity["method"] == method]
    if len(alike) == 1:
        return method
    shared = shared_settings(alike)
    told = [f"calibration={calibration}"] if calibration != "none" else []
    told += [each for each in arm.settings if each not in shared]
    return f"{method} ({', '.join(told) or 'as it comes'})"


def _compare(arm: Arm, base: Arm, names: tuple[str, str], column: Column) -> Comparison:
    values, others = arm.values[column.name], base.values[column.name]
    seeds = sorted(values.keys() & others.keys())
    for seed in seeds:
        _check_split(arm, base, seed)
    pairs = [values[seed] for seed in seeds], [others[seed] for seed in seeds]
    return Comparison(
        dict(zip(PLACE, arm.place, strict=True)),
        names,
        (arm, base),
        column,
        (mean_of(pairs[0]), mean_of(pairs[1])),
        compare_pairs(*pairs),
        len(values.keys() ^ others.keys()),
    )


def _check_split(arm: Arm, base: Arm, seed: int) -> None:
    """Two runs that trained and calibrated on as many labels must have had the same ones."""
    one, other = arm.splits[seed], base.splits[seed]
    if one and other and one.split()[0] == other.split()[0] and one != other:
        what = f"{arm.identity['method']} and {base.identity['method']} on {arm.identity['dataset']}"
        raise BenchError(f"{what}: their runs with seed {seed} had different images labeled, so they are no pair")


def _corrected(comparisons: list[Comparison]) -> list[Comparison]:
    """Holm's correction over all that are compared. Those with too few seeds for a test are not among them."""
    tested = [each for each in comparisons if each.paired.p is not None]
    p_values = iter(holm([each.paired.p for each in tested if each.paired.p is not None]))
    return [
        replace(each, p=None if each.paired.p is None else next(p_values), family=max(len(tested), 1))
        for each in comparisons
    ]


def _why_nothing(baseline: Side, others: Sequence[Side], sides: Sequence[Sequence[Arm]]) -> str:
    names = f"{baseline.method} and {', '.join(side.method for side in others) or 'no other method'}"
    for arm in (arm for arms in sides[1:] for arm in arms):
        for base in sides[0]:
            if arm.place == base.place and arm.identity != base.identity:
                one, other = (
                    ":".join([each.identity["method"], *each.training.split(", ")]).rstrip(":") for each in (base, arm)
                )
                return (
                    f"{names} were trained differently, so that their difference is not the methods' alone; to compare "
                    f"them all the same, say so: bench compare {one} {other}"
                )
    return f"{names} have no runs that differ in the method alone, with the same dataset, labels, backbone and preset"


def to_values(comparisons: Sequence[Comparison]) -> pd.DataFrame:
    """One row per comparison, unscaled; ``difference`` is the method's value minus the baseline's."""
    rows = []
    for each in comparisons:
        (arm, base), difference = each.arms, each.paired.difference
        rows.append(
            {
                **each.place,
                "method": each.names[0],
                "baseline": each.names[1],
                "metric": each.column.name,
                "seeds": difference.n,
                "unpaired": each.unpaired,
                "mean": each.means[0].mean,
                "baseline_mean": each.means[1].mean,
                "difference": difference.mean,
                "low95": difference.mean - difference.half,
                "high95": difference.mean + difference.half,
                "p": each.paired.p,
                "p_holm": each.p,
                "p_t": each.paired.p_t,
                "settings": arm.identity["settings"],
                "baseline_settings": base.identity["settings"],
                "says": sentence(each),
            }
        )
    return pd.DataFrame(rows)
