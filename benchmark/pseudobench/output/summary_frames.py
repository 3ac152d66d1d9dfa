"""Summaries and comparisons as pandas DataFrames, for notebooks, CSV and JSON.

Shares are fractions, as in the records; with ``scaled`` they are percent, as everything that commands show.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pseudobench.analysis.dataframe import typed
from pseudobench.analysis.run_facts import Place, column_name
from pseudobench.maths.significance import mean_of
from pseudobench.output.sentences import sentence
from pseudobench.output.table_words import settings_words

if TYPE_CHECKING:
    import pandas as pd

    from pseudobench.analysis.arms import Arm
    from pseudobench.analysis.comparisons import Comparison
    from pseudobench.analysis.rankings import Ranking
    from pseudobench.analysis.tables import Cell, Heading, Row, Table

_PLACE = {key: "int" if key == "labels" else "str" for key in Place._fields}


def table_frame(table: Table, *, scaled: bool = False) -> pd.DataFrame:
    """A row for each of the table's: its place, names and settings, how many runs, and for each heading

    the mean, half of its 95 % interval (``_half95``), the number of seeds (``_n``), whether it is in the best tier
    (``_best``), letters (``_letters``: rows that share one were not found different) and the p-value of the difference
    from the best (``_p``).
    """
    kinds = {} if table.pivoted else dict(_PLACE)
    kinds |= {"method": "str", "arm": "str", "settings": "str", "runs": "int", "not_done": "int"}
    parts = {"": "float", "_half95": "float", "_n": "int", "_best": "bool", "_letters": "str", "_p": "float"}
    names = [_heading_name(heading) for heading in table.headings]
    kinds |= {f"{name}{part}": kind for name in names for part, kind in parts.items()}
    rows = []
    for row in table.rows:
        held = _about(row, table.pivoted)
        for name, cell, heading in zip(names, row.cells, table.headings, strict=True):
            scale = heading.column.scale if scaled else 1
            held |= {f"{name}{part}": value for part, value in zip(parts, _parts(cell, scale), strict=True)}
        rows.append(held)
    return typed(rows, kinds)


def _heading_name(heading: Heading) -> str:
    return column_name(f"{heading.group} {heading.column.name}".strip())


def _about(row: Row, pivoted: bool) -> dict[str, Any]:
    arm = row.arms[0]
    held: dict[str, Any] = {} if pivoted else arm.place._asdict()
    settings = "" if pivoted else _settings(arm)
    return held | {
        "method": arm.method,
        "arm": row.name,
        "settings": settings or None,
        "runs": row.done,
        "not_done": row.missing,
    }


def _settings(arm: Arm) -> str:
    """All settings of an arm that are worth showing."""
    return settings_words({key: value for key, value in arm.settings.items() if key in arm.shown})


def _parts(cell: Cell | None, scale: float) -> tuple[Any, ...]:
    if cell is None:
        none = mean_of([])
        return none.mean, none.half, 0, None, None, None
    return scale * cell.value.mean, scale * cell.value.half, cell.value.n, cell.best, cell.letters or None, cell.p


def comparison_frame(comparisons: Sequence[Comparison], *, scaled: bool = False) -> pd.DataFrame:
    """One row per comparison; ``difference`` is the method's value minus the baseline's, ``p`` is corrected."""
    words = ("method", "baseline", "metric")
    numbers = ("mean", "baseline_mean", "difference", "low95", "high95", "p_alone", "p")
    kinds = {**_PLACE, **dict.fromkeys(words, "str"), **dict.fromkeys(("seeds", "unpaired"), "int")}
    kinds |= {**dict.fromkeys(numbers, "float"), "pairs": "int", "different": "bool", "interval_over": "str"}
    kinds |= dict.fromkeys(("settings", "baseline_settings", "says"), "str")
    rows = []
    for each in comparisons:
        pair = each.pair
        low, high = pair.interval
        scale = each.column.scale if scaled else 1
        rows.append(
            {
                **each.arm.place._asdict(),
                "method": each.arm.name,
                "baseline": each.baseline.name,
                "metric": each.column.name,
                "seeds": pair.n,
                "unpaired": pair.unpaired,
                "mean": scale * pair.means[0].mean,
                "baseline_mean": scale * pair.means[1].mean,
                "difference": scale * pair.mean,
                "low95": scale * low,
                "high95": scale * high,
                "interval_over": "seeds and test samples" if pair.over_samples else "seeds",
                "p_alone": pair.alone,
                "p": pair.p,
                "pairs": pair.tests,
                "different": pair.different,
                "settings": _settings(each.arm) or None,
                "baseline_settings": _settings(each.baseline) or None,
                "says": sentence(each),
            }
        )
    return typed(rows, kinds)


def ranking_frame(ranking: Ranking, *, scaled: bool = False) -> pd.DataFrame:
    """One row per arm: its average rank, its mean on each dataset (``mean_digits``), and the test of all ranks."""
    ranks = ranking.ranks
    names = [f"mean_{column_name(dataset)}" for dataset in ranking.datasets]
    test = {"chi2": ranks.statistic, "p": ranks.p, "critical_difference": ranks.critical}
    kinds = {"arm": "str", "average_rank": "float", **dict.fromkeys((*names, *test), "float")}
    rows = [
        {"arm": name, "average_rank": float(ranks.average[index]), **test}
        | {
            key: means[index] * (ranking.column.scale if scaled else 1)
            for key, means in zip(names, ranking.means, strict=True)
        }
        for index, name in enumerate(ranking.names)
    ]
    return typed(rows, kinds)
