"""Which cells of a table are best, and which the data cannot tell from the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pseudobench.analysis.arms import Arm
from pseudobench.maths.significance import LEVEL, holm, mean_of, seeds_needed, sign_flip_test

Mark = Literal["", "best", "near"]
#: What a cell that is not significantly worse than the best is marked with.
NEAR = "†"


@dataclass(frozen=True)
class Verdict:
    """A mark for every rival. ``needed`` seeds would do for a test where ``seeds`` are too few; otherwise None."""

    marks: tuple[Mark, ...]
    seeds: int = 0
    needed: int | None = None
    incomplete: bool = False  # some lack a seed that others have, and were not compared


def judge(rivals: Sequence[Mapping[int, float]], higher_is_better: bool | None) -> Verdict:
    """Compare rivals, each with its values by seed.

    Only those are compared that have a value for every seed that some rival has: means over other seeds are other
    means. ``near`` are those that a paired test does not find different from the best, after Holm over these tests.
    """
    seeds = sorted(set().union(*rivals))
    complete = [place for place, values in enumerate(rivals) if values and len(values) == len(seeds)]
    incomplete = len(complete) < sum(bool(values) for values in rivals)
    marks: list[Mark] = [""] * len(rivals)
    if higher_is_better is None or len(complete) < 2:
        return Verdict(tuple(marks), incomplete=incomplete and higher_is_better is not None)
    columns = {place: [rivals[place][seed] for seed in seeds] for place in complete}
    means = {place: mean_of(values).mean for place, values in columns.items()}
    top = (max if higher_is_better else min)(means.values())
    best = next(place for place, mean in means.items() if mean == top)
    others = [place for place in complete if place != best]
    needed = seeds_needed(len(others))
    if len(seeds) >= needed:
        tests = [sign_flip_test(np.subtract(columns[place], columns[best])) for place in others]
        for place, p in zip(others, holm(tests), strict=True):
            marks[place] = "near" if p > LEVEL else ""
    for place, mean in means.items():
        if mean == top:
            marks[place] = "best"
    return Verdict(tuple(marks), len(seeds), None if len(seeds) >= needed else needed, incomplete)


def reading(arms: Sequence[Arm], verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """How to read the marks, in sentences; where nothing can be marked, why. BEST stands for how the best are shown."""
    judged = [verdict for verdict in verdicts if verdict.seeds]
    if not judged:
        return ()
    several = len({arm.place for arm in arms}) > 1
    notes = [
        "BEST: best mean of its column" + (", among rows that differ in method and settings alone" if several else "")
    ]
    if any(verdict.needed is None for verdict in judged):
        how = f"sign-flip test paired over seeds, {100 * LEVEL:g} %, Holm over the tests with the same best"
        notes.append(f"{NEAR}: not significantly worse ({how})")
    needed: dict[int, int] = {}
    for verdict in judged:
        if verdict.needed is not None:
            needed[verdict.seeds] = max(verdict.needed, needed.get(verdict.seeds, 0))
    if needed:
        counts = ", ".join(f"{seeds} of {enough}" for seeds, enough in sorted(needed.items()))
        notes.append(f"Nothing else is marked where seeds are too few for a test ({counts} needed)")
    ceilings = dict.fromkeys(arm.identity["method"] for arm in arms if arm.ceiling)
    notes += [f"{name} has all labels and is not compared" for name in ceilings]
    if any(verdict.incomplete for verdict in verdicts):
        notes.append("Rows that lack a seed are not compared")
    return tuple(notes)
