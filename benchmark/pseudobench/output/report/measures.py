"""The numbers of the figures, as tidy tables: means over seeds with 95 % intervals. Shares are in percent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from pseudobench.contracts.columns import Record, headline, last_round
from pseudobench.maths.significance import mean_of
from pseudobench.output.report.sections import Series


def interval(values: Iterable[float | None], scale: float = 1.0) -> dict[str, float]:
    """Mean, ends of its 95 % t interval (NaN for one value) and number of values; None values are left out."""
    found = mean_of([value * scale for value in values if value is not None])
    return {"mean": found.mean, "low": found.mean - found.half, "high": found.mean + found.half, "n": found.n}


def _rows(rows: Iterable[Mapping[str, Any]], *columns: str) -> pd.DataFrame:
    """A table of the rows with at least one value (``n`` above 0)."""
    return pd.DataFrame([row for row in rows if row.get("n", 1)], columns=list(columns))


def each_run(series: Sequence[Series], **values: Callable[[Record], float | None]) -> pd.DataFrame:
    """One row per finished run that has all of ``values``."""
    rows = []
    for each in series:
        for record in each.done:
            found = {name: read(record) for name, read in values.items()}
            if None not in found.values():
                rows.append({"series": each.name, "seed": record["spec"]["seed"], **found})
    return pd.DataFrame(rows, columns=["series", "seed", *values])


def tested(key: str) -> Callable[[Record], float | None]:
    """A reader of one test measure of a run's last network, in percent."""
    return lambda record: _percent(last_round(record).get("test"), key)


def chosen(key: str) -> Callable[[Record], float | None]:
    """A reader of one share of a run's last selection, in percent."""
    return lambda record: _percent(last_round(record).get("selection"), key)


def _percent(part: Mapping[str, Any] | None, key: str) -> float | None:
    value = (part or {}).get(key)
    return None if value is None else 100.0 * float(value)


def results(series: Sequence[Series], key: str) -> pd.DataFrame:
    """Mean of the test measure ``key`` (accuracy, map) of the last networks, one row per series."""
    rows = ({"series": each.name, **interval(map(tested(key), each.done))} for each in series)
    return _rows(rows, "series", "mean", "low", "high", "n")


def rounds(series: Sequence[Series]) -> pd.DataFrame:
    """Accuracy or mAP after each round; a run that settled early counts with its last network in later rounds.

    ``trained`` is the number of runs that trained a network in that round.
    """
    rows = []
    for each in series:
        curves = [[100.0 * headline(done)[1] for done in record["rounds"]] for record in each.done]
        for round_ in range(max(map(len, curves), default=0)):
            values = [curve[min(round_, len(curve) - 1)] for curve in curves if curve]
            trained = sum(round_ < len(curve) for curve in curves)
            rows.append({"series": each.name, "round": round_, **interval(values), "trained": trained})
    return _rows(rows, "series", "round", "mean", "low", "high", "n", "trained")


def selections(series: Sequence[Series]) -> pd.DataFrame:
    """Share of the pool selected, and share of the selected labels that are right, in the last round.

    ``n`` is the number of runs that selected something, ``without any`` the number of runs that did not.
    """
    rows = []
    for each in series:
        pairs = [(chosen("positive_share")(record), chosen("positive_precision")(record)) for record in each.done]
        some = [pair for pair in pairs if None not in pair]
        selected, right = interval(pair[0] for pair in some), interval(pair[1] for pair in some)
        rows.append(
            {
                "series": each.name,
                "selected": selected["mean"],
                "selected low": selected["low"],
                "selected high": selected["high"],
                "precision": right["mean"],
                "precision low": right["low"],
                "precision high": right["high"],
                "n": right["n"],
                "without any": sum(pair == (0.0, None) for pair in pairs),
            }
        )
    return _rows(
        rows,
        *("series", "selected", "selected low", "selected high"),
        *("precision", "precision low", "precision high", "n", "without any"),
    )


def coverage(series: Sequence[Series]) -> pd.DataFrame:
    """Share of sets that hold all true classes, of pool and of test images, and the nominal level 1 - alpha."""
    rows = []
    for each in series:
        for images, key in (("pool", "coverage"), ("test", "test_coverage")):
            found = interval(map(chosen(key), each.done))
            nominal = {_nominal(record) for record in each.done}
            level = nominal.pop() if len(nominal) == 1 else None
            rows.append({"series": each.name, "images": images, **found, "nominal": level})
    return _rows(rows, "series", "images", "mean", "low", "high", "n", "nominal").astype({"nominal": float})


def _nominal(record: Record) -> float | None:
    """1 - alpha of the run's set predictor, in percent."""
    spec = record["spec"]
    alpha = (spec["settings"].get(spec["stages"].get("sets")) or {}).get("alpha")
    return None if alpha is None else round(100.0 * (1 - alpha), 6)


def sizes(series: Sequence[Series]) -> pd.DataFrame:
    """Share of the pool's sets of each size, from 0 to the largest that occurs."""
    rows = []
    for each in series:
        counts = [(last_round(record).get("selection") or {}).get("sizes") for record in each.done]
        found = [count for count in counts if count and sum(count)]
        for size in range(max(map(len, found), default=0)):
            shares = [count[size] / sum(count) if size < len(count) else 0.0 for count in found]
            rows.append({"series": each.name, "size": size, **interval(shares, 100)})
    table = _rows(rows, "series", "size", "mean", "low", "high", "n")
    return table[table["size"] <= table.loc[table["mean"] > 0, "size"].max()] if len(table) else table


def reliability(series: Sequence[Series]) -> pd.DataFrame:
    """Confidence and accuracy on test images of the network behind the last selection, before and after scaling.

    Bins are pooled over runs; ``n`` is their number of predictions. Runs without a selection count with their last
    network, before scaling.
    """
    rows = []
    for each in series:
        pairs = [_before_and_after(record) for record in each.done]
        for index, scaling in enumerate(("before", "after")):
            bins = [pair[index] for pair in pairs if pair[index]]
            for bin_ in range(max((len(each["count"]) for each in bins), default=0)):
                counts = [each["count"][bin_] for each in bins]
                if total := sum(counts):
                    means = {
                        key: 100 * sum(each[key][bin_] * n for each, n in zip(bins, counts, strict=True)) / total
                        for key in ("confidence", "accuracy")
                    }
                    rows.append({"series": each.name, "scaling": scaling, "bin": bin_ + 1, **means, "n": int(total)})
    return _rows(rows, "series", "scaling", "bin", "confidence", "accuracy", "n")


def _before_and_after(record: Record) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Reliability before and after scaling. The network behind the last selection is that of the round before."""
    taken = record["rounds"]
    before = taken[-2] if len(taken) > 1 else last_round(record)
    after = (last_round(record).get("selection") or {}).get("scaled_test") or {}
    return (before.get("test") or {}).get("reliability") or {}, after.get("reliability") or {}


#: Stage of a round to the component that it runs, in order; None: every method has the stage.
STAGES = {
    "fit": None,
    "predict": None,
    "scale": "scaling",
    "sets": "sets",
    "estimate": "estimator",
    "label": "labeler",
    "select": "selector",
    "evaluate": None,
}


def seconds(series: Sequence[Series]) -> pd.DataFrame:
    """Seconds of each stage, summed over the rounds of a run; mean over the runs that have the stage."""
    rows = []
    for each in series:
        for stage, needs in STAGES.items():
            used = [record for record in each.done if needs is None or needs in record["spec"]["stages"]]
            found = [[round_.get("seconds", {}).get(stage) for round_ in record["rounds"]] for record in used]
            sums = [sum(part for part in parts if part is not None) for parts in found if any(parts)]
            rows.append({"series": each.name, "stage": stage, **interval(sums)})
    return _rows(rows, "series", "stage", "mean", "low", "high", "n")
