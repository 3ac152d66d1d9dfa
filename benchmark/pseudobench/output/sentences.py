"""What a comparison says, in one line of plain English."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pseudobench.analysis.arm_settings import training_differences
from pseudobench.base.text import counted
from pseudobench.maths.significance import LEVEL, SEEDS_NEEDED
from pseudobench.output.table_words import settings_words

if TYPE_CHECKING:
    from pseudobench.analysis.comparisons import Comparison
    from pseudobench.contracts.columns import Column


def sentences(comparisons: Sequence[Comparison]) -> list[str]:
    """One sentence per comparison, prefixed with backbone, preset and device where these vary."""
    places = [each.arm.place._asdict() for each in comparisons]
    keys = [key for key in ("backbone", "preset", "device") if len({place[key] for place in places}) > 1]
    before = [", ".join(str(place[key]) for key in keys) for place in places]
    return [(f"{text}: " if text else "") + sentence(each) for text, each in zip(before, comparisons, strict=True)]


def sentence(comparison: Comparison) -> str:
    """What was found, in one line of plain English."""
    arm, base, column, pair = comparison.arm, comparison.baseline, comparison.column, comparison.pair
    place = f"on {arm.place.dataset} with {arm.place.labels} labels"
    if arm.place.evaluated_on != "test":
        place += f" ({arm.place.evaluated_on} images)"
    if not pair.n:
        return (
            f"{arm.name} and {base.name} have no seed {place} for which both have a {column.name}: nothing can be said."
        )
    seeds = counted(pair.n, "seed")
    over = f"{seeds} and the test samples" if pair.over_samples else seeds
    details = [f"{_interval(comparison)} over {over}" if pair.n > 1 else seeds]
    if pair.p is not None:
        corrected = f" over {pair.tests} pairs" if pair.tests > 1 else ""
        details.append(f"p = {pair.p:.2g}{corrected}")
        details += [f"the smallest that {seeds} can reach"] if pair.smallest else []
    says = f"The {column.name} of {arm.name} is {_size(pair.mean, column)} that of {base.name} {place} "
    return (
        says + f"({', '.join(details)}): {_verdict(comparison)}" + "".join(f" {each}." for each in _remarks(comparison))
    )


def _size(value: float, column: Column) -> str:
    if value == 0:
        return "exactly"
    unit = " points" if column.scale == 100 else ""
    return f"{abs(value) * column.scale:.{column.digits}f}{unit} {'above' if value > 0 else 'below'}"


def _interval(comparison: Comparison) -> str:
    """The interval in the direction that the sentence speaks of."""
    column, (low, high) = comparison.column, comparison.pair.interval
    if low <= 0 <= high:
        down, up = (f"{abs(end) * column.scale:.{column.digits}f}" for end in (low, high))
        return f"95 % interval {down} below to {up} above"
    ends = sorted((abs(low), abs(high)))
    return "95 % interval " + " to ".join(f"{end * column.scale:.{column.digits}f}" for end in ends)


def _verdict(comparison: Comparison) -> str:
    column, pair = comparison.column, comparison.pair
    if comparison.arm.ceiling or comparison.baseline.ceiling:
        return "not tested, as all labels are no rival of some."
    if pair.p is None:
        return f"too few seeds for a test, {SEEDS_NEEDED} are needed."
    if pair.different:
        better = None if column.higher_is_better is None else (pair.mean > 0) == column.higher_is_better
        return (
            "a real difference at this budget"
            + {None: ".", True: ", for the better.", False: ", for the worse."}[better]
        )
    if pair.p <= LEVEL:
        return "no difference that both the test and the interval show."
    return "no difference that these seeds can show."


def _remarks(comparison: Comparison) -> list[str]:
    remarks = []
    arm, base, pair = comparison.arm, comparison.baseline, comparison.pair
    if pair.unpaired:
        remarks.append(f"Seeds left out because only one of the two has a value: {pair.unpaired}")
    if keys := training_differences(arm, base):
        one, other = (settings_words({key: each.settings.get(key) for key in keys}) for each in (arm, base))
        remarks.append(f"They were also trained differently: {one} against {other}")
    remarks += [f"{each.name} has all labels" for each in (arm, base) if each.ceiling]
    return remarks
