"""Comparisons as a table: a row for each, with its verdict as a sign."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pseudobench.base.text import counted
from pseudobench.output.table_words import key_words, place_words
from pseudobench.output.text_tables import Grid, Shown, number

if TYPE_CHECKING:
    from pseudobench.analysis.comparisons import Comparison

_BASE, _SEEDS = "baseline's", "seeds"


def comparison_grid(comparisons: Sequence[Comparison]) -> Grid:
    """One row per comparison. What all of them share is in the caption, so that the table fits a terminal."""
    places = [each.arm.place._asdict() for each in comparisons]
    varying = [key for key in places[0] if len({place[key] for place in places}) > 1]
    bases = {each.baseline.name for each in comparisons}
    numbers = [_numbers(each) for each in comparisons]
    shared = {name for name in (_BASE, _SEEDS) if len({cells[name].text for cells in numbers}) == 1 == len(bases)}
    header = [name for name in numbers[0] if name not in shared]
    rows = []
    for each, place, cells in zip(comparisons, places, numbers, strict=True):
        words = (*(str(place[key]) for key in varying), *([each.baseline.name] if len(bases) > 1 else []))
        rows.append((*map(Shown, (*words, each.arm.name)), *(cells[name] for name in header)))
    keys = (*map(key_words, varying), *(["baseline"] if len(bases) > 1 else []), "method")
    caption = [comparisons[0].column.name]
    if len(bases) == 1:
        caption[0] += f" against {comparisons[0].baseline.name}"
        caption[0] += f" ({numbers[0][_BASE].text})" if _BASE in shared else ""
    caption += place_words({key: value for key, value in places[0].items() if key not in varying and value})
    caption += [counted(comparisons[0].pair.n, "seed")] if _SEEDS in shared else []
    return Grid(", ".join(caption), (*keys, *header), tuple(rows), len(keys), legend=_legend(comparisons))


def _numbers(comparison: Comparison) -> dict[str, Shown]:
    """The cells of a comparison by their headings."""
    pair, column = comparison.pair, comparison.column
    low, high = (number(end, column) for end in pair.interval)
    value, base = (number(mean.mean, column) for mean in pair.means)
    return {
        "verdict": verdict_sign(comparison),
        "difference": Shown(number(pair.mean, column)),
        "95 % interval": Shown(f"{low} to {high}" if pair.n > 1 else "–"),
        "p": Shown("–" if pair.p is None else f"{pair.p:.2g}"),
        column.name: Shown(value),
        _BASE: Shown(base),
        _SEEDS: Shown(str(pair.n)),
    }


def _legend(comparisons: Sequence[Comparison]) -> str:
    """How to read the signs, differences and p-values that there are."""
    over = "seeds and test samples" if all(each.pair.over_samples for each in comparisons) else "seeds"
    tests = sorted({each.pair.tests for each in comparisons if each.pair.tests})
    said = (
        "▲ better, ▼ worse, = no difference that these seeds can show, – not tested. Difference: method minus baseline "
        f"over the same seeds, with its 95 % interval over {over}."
    )
    if tests:
        pairs = " and ".join(map(str, tests))
        corrected = f", after Westfall and Young's correction over {pairs} pairs of arms" if tests != [1] else ""
        said += f" p: sign-flip test over the pairs of seeds{corrected}."
    return said


def verdict_sign(comparison: Comparison) -> Shown:
    """▲ better, ▼ worse, ≠ different where neither is better, = not found different, – not tested."""
    pair, column = comparison.pair, comparison.column
    if pair.p is None:
        return Shown("–")
    if not pair.different:
        return Shown("=")
    if column.higher_is_better is None:
        return Shown("≠")
    better = (pair.mean > 0) == column.higher_is_better
    return Shown("▲", "better") if better else Shown("▼", "worse")
