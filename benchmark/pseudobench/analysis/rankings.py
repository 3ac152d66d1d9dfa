"""Arms over several datasets: their ranks on each, and whether these differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pseudobench.analysis.arms import Arm
from pseudobench.analysis.verdicts import families
from pseudobench.errors import BenchError
from pseudobench.maths.ranks import DATASETS_NEEDED, Ranks, rank
from pseudobench.maths.significance import mean_of

if TYPE_CHECKING:
    from pseudobench.contracts.columns import Column


@dataclass(frozen=True)
class Ranking:
    """Arms by name with their means on each dataset, float [N][K], and their ranks."""

    column: Column
    datasets: tuple[str, ...]
    names: tuple[str, ...]
    means: tuple[tuple[float, ...], ...]
    ranks: Ranks
    left_out: tuple[str, ...]  # names that some dataset lacks, or has with fewer seeds than others


def ranking_of(arms: Sequence[Arm], column: Column) -> Ranking:
    """Rank the arms that every dataset has with all of its seeds; ceilings are no rivals."""
    if column.higher_is_better is None:
        raise BenchError(f"no value of {column.name!r} is better than another, so nothing can be ranked by it")
    places = families(arm for arm in arms if not arm.ceiling and arm.values[column.name])
    by_dataset: dict[str, dict[str, float]] = {}
    begun: set[str] = set()  # a mean over some seeds is no rival of one over all
    for place, members in places.items():
        if place.dataset in by_dataset:
            raise BenchError(
                f"{place.dataset} is there with several label counts, backbones, presets or devices, and a dataset "
                "counts once; choose with --labels or --where"
            )
        by_dataset[place.dataset] = {arm.name: mean_of(list(arm.values[column.name].values())).mean for arm in members}
        seeds = max(len(arm.values[column.name]) for arm in members)
        begun.update(arm.name for arm in members if len(arm.values[column.name]) < seeds)
    if len(by_dataset) < DATASETS_NEEDED:
        there = ", ".join(by_dataset) or "none"
        raise BenchError(f"ranks need {DATASETS_NEEDED} datasets or more; there are {len(by_dataset)}: {there}")
    everyone = list(dict.fromkeys(name for values in by_dataset.values() for name in values))
    names = [name for name in everyone if name not in begun and all(name in values for values in by_dataset.values())]
    if len(names) < 2:
        raise BenchError("ranks need two methods or more that every dataset has, with the same number of seeds")
    means = [[values[name] for name in names] for values in by_dataset.values()]
    left_out = tuple(name for name in everyone if name not in names)
    ranks = rank(np.array(means), column.higher_is_better)
    return Ranking(column, tuple(by_dataset), tuple(names), tuple(map(tuple, means)), ranks, left_out)
