"""What a comparison says, in one line of plain English."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pseudobench.maths.significance import LEVEL, seeds_needed

if TYPE_CHECKING:
    from pseudobench.analysis.comparisons import Comparison
    from pseudobench.contracts.columns import Column


def sentences(comparisons: Sequence[Comparison]) -> list[str]:
    """A line for each; what a line does not say of its place comes before it where this differs."""
    keys = [key for key in ("backbone", "preset") if len({each.place[key] for each in comparisons}) > 1]
    places = [", ".join(each.place[key] for key in keys) for each in comparisons]
    return [(f"{place}: " if place else "") + sentence(each) for place, each in zip(places, comparisons, strict=True)]


def sentence(comparison: Comparison) -> str:
    """What was found, in one line of plain English."""
    method, baseline = comparison.names
    column, difference = comparison.column, comparison.paired.difference
    place = f"on {comparison.place['dataset']} with {comparison.place['labels']} labels"
    if comparison.place["evaluated on"] != "test":
        place += f" ({comparison.place['evaluated on']} images)"
    if not difference.n:
        return f"{method} and {baseline} have no seed {place} for which both have a {column.name}: nothing can be said."
    seeds = f"{difference.n} seed{'s' if difference.n > 1 else ''}"
    details = [*([_interval(comparison)] if difference.n > 1 else []), seeds]
    if comparison.p is not None:
        corrected = f" after Holm over {comparison.family}" if comparison.family > 1 else ""
        details.append(f"p = {comparison.p:.2g}{corrected}")
    how = _size(difference.mean, column)
    says = f"The {column.name} of {method} is {how} that of {baseline} {place} ({', '.join(details)}): "
    return says + _verdict(comparison) + "".join(f" {remark}." for remark in _remarks(comparison))


def _size(value: float, column: Column) -> str:
    if value == 0:
        return "exactly"
    unit = " points" if column.scale == 100 else ""
    return f"{abs(value) * column.scale:.{column.digits}f}{unit} {'above' if value > 0 else 'below'}"


def _interval(comparison: Comparison) -> str:
    """The interval in the direction that the sentence speaks of."""
    column, difference = comparison.column, comparison.paired.difference
    low, high = difference.mean - difference.half, difference.mean + difference.half
    if low <= 0 <= high:
        down, up = (f"{abs(end) * column.scale:.{column.digits}f}" for end in (low, high))
        return f"95 % interval {down} below to {up} above"
    ends = sorted((abs(low), abs(high)))
    return "95 % interval " + " to ".join(f"{end * column.scale:.{column.digits}f}" for end in ends)


def _verdict(comparison: Comparison) -> str:
    column, difference = comparison.column, comparison.paired.difference
    if comparison.p is None:
        return f"too few seeds for a test, {seeds_needed()} are needed."
    if comparison.p <= LEVEL:
        better = None if column.higher_is_better is None else (difference.mean > 0) == column.higher_is_better
        return (
            "a real difference at this budget"
            + {None: ".", True: ", for the better.", False: ", for the worse."}[better]
        )
    if not comparison.enough:
        needed = seeds_needed(comparison.family)
        return f"too few seeds for {comparison.family} comparisons at once, {needed} are needed."
    return "no difference that these seeds can show."


def _remarks(comparison: Comparison) -> list[str]:
    remarks = []
    arm, base = comparison.arms
    if comparison.unpaired:
        remarks.append(f"Seeds left out because only one of the two has a value: {comparison.unpaired}")
    if arm.training != base.training:
        remarks.append(f"They were also trained differently: {arm.training} against {base.training}")
    remarks += [f"{each.identity['method']} has all labels" for each in comparison.arms if each.ceiling]
    return remarks
