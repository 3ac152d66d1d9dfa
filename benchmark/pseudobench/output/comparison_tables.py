"""Comparisons as a table: a row for each, with its verdict as a sign."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pseudobench.analysis.tables import place_names
from pseudobench.base.text import counted
from pseudobench.output.table_words import key_words, place_words
from pseudobench.output.text_tables import Grid, Shown, number

if TYPE_CHECKING:
    from pseudobench.analysis.comparisons import Comparison
    from pseudobench.analysis.run_facts import Place

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


def comparison_matrix(comparisons: Sequence[Comparison]) -> Grid:
    """A row for each method and a column for each dataset and label count: the verdict, and the difference."""
    places = list(dict.fromkeys(each.arm.place for each in comparisons))
    column, bases = comparisons[0].column, list(dict.fromkeys(each.baseline.name for each in comparisons))
    found: dict[tuple[str, str], dict[Place, Shown]] = {}
    for each in sorted(comparisons, key=lambda each: each.arm.order):
        sign, difference = verdict_sign(each), number(each.pair.mean, column)
        found.setdefault((each.baseline.name, each.arm.name), {})[each.arm.place] = replace(
            sign, main=f"{sign.main} {difference}"
        )
    several = len(bases) > 1
    rows = tuple(
        (*map(Shown, names[not several :]), *(cells.get(place, Shown("no runs")) for place in places))
        for names, cells in found.items()
    )
    headings, words = _headings(places)
    caption = [column.name if several else f"{column.name} against {bases[0]}", *words]
    keys = (*(["baseline"] if several else []), "method")
    legend = _legend(comparisons, interval=False)
    return Grid(", ".join(caption), (*keys, *headings), rows, len(keys), legend=legend)


def _headings(places: Sequence[Place]) -> tuple[list[str], list[str]]:
    """A heading for each place, by dataset and label count if these tell all apart; and words for the caption."""
    further = [key for key in places[0]._fields if key not in ("dataset", "labels")]
    values = {key: list(dict.fromkeys(getattr(place, key) for place in places)) for key in further}
    told = len({(place.dataset, place.labels) for place in places}) == len(places)
    words = place_words({key: held[0] for key, held in values.items() if len(held) == 1 and held[0]})
    if not told:
        return place_names(places), words
    for key, held in values.items():
        of = {value: dict.fromkeys(place.dataset for place in places if getattr(place, key) == value) for value in held}
        if len(held) > 1:
            words.append(" and ".join(f"{key_words(key)} {value} of {', '.join(names)}" for value, names in of.items()))
    return [f"{place.dataset} {place.labels}" for place in places], words


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


def _legend(comparisons: Sequence[Comparison], *, interval: bool = True) -> str:
    """How to read the signs, differences and p-values that there are."""
    over = "seeds and test samples" if all(each.pair.over_samples for each in comparisons) else "seeds"
    tests = sorted({each.pair.tests for each in comparisons if each.pair.tests})
    said = (
        "▲ better, ▼ worse, = no difference that these seeds can show, – not tested. Difference: method minus baseline "
        "over the same seeds"
    )
    said += f", with its own 95 % interval over {over}." if interval else "."
    if tests:
        pairs = " and ".join(filter(None, (", ".join(map(str, tests[:-1])), str(tests[-1]))))
        corrected = f", after Westfall and Young's correction over {pairs} pairs of arms" if tests != [1] else ""
        said += f" {'p' if interval else 'Verdicts'}: sign-flip test over the pairs of seeds{corrected}"
        said += "." if interval else f", and the 95 % interval over {over}."
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
