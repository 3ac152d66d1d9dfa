"""What the figures show, compared with what the records say by another way of computing it."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from committed import digits_records
from pseudobench.output.report import measures
from pseudobench.output.report.sections import sections
from pseudobench.registry.builtin_columns import COLUMNS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def records():
    return digits_records("supervised", "pl", "ups", "ups-raps", "raps-singleton", seeds=10)


@pytest.fixture
def section(registry, records):
    (found,) = sections(records, registry, COLUMNS)
    return found


def of(records, method):
    return [record for record in records if record["spec"]["method"] == method]


def test_intervals_are_those_of_student():
    values = [0.2, 0.5, 0.9, 0.4]
    found = measures.interval([*values, None], 100)
    low, high = stats.t.interval(0.95, 3, np.mean(values), stats.sem(values))
    assert (found["low"], found["high"]) == (pytest.approx(100 * low), pytest.approx(100 * high))
    assert found["n"] == 4
    assert math.isnan(measures.interval([1.0])["low"])


def test_a_settled_run_keeps_its_last_network(section, records):
    table = measures.rounds(section.series)
    for method in ("ups", "raps-singleton", "supervised"):
        runs = of(records, method)
        longest = max(len(run["rounds"]) for run in runs)
        rows = table[table["series"] == method]
        assert list(rows["round"]) == list(range(longest))
        assert set(rows["n"]) == {10}
        assert list(rows["trained"]) == [sum(len(run["rounds"]) > place for run in runs) for place in range(longest)]
        last = np.mean([run["rounds"][-1]["test"]["accuracy"] for run in runs])
        assert rows["mean"].iloc[-1] == pytest.approx(100 * last)
    assert len({len(run["rounds"]) for run in of(records, "raps-singleton")}) > 1  # some did settle early


def test_the_last_round_is_what_the_table_says(section):
    place = [heading.column.name for heading in section.table.headings].index("accuracy")
    cells = {row.name: row.cells[place].value for row in section.table.rows}
    for row in measures.results(section.series, "accuracy").itertuples():
        assert row.mean == pytest.approx(100 * cells[row.series].mean)
        assert row.high - row.mean == pytest.approx(100 * cells[row.series].half)


def test_runs_that_selected_nothing_are_counted(section, records):
    row = measures.selections(section.series).set_index("series").loc["raps-singleton"]
    last = [run["rounds"][-1]["selection"] for run in of(records, "raps-singleton")]
    some = [each for each in last if each["positives"]]
    assert (row["n"], row["without any"]) == (len(some), len(last) - len(some))
    assert row["precision"] == pytest.approx(100 * np.mean([each["positive_precision"] for each in some]))


def test_coverage_and_its_nominal_level(section, records):
    table = measures.coverage(section.series).set_index(["series", "images"])
    assert "ups" not in table.index
    assert set(table["nominal"]) == {90.0}
    expected = np.mean([run["rounds"][-1]["selection"]["test_coverage"] for run in of(records, "ups-raps")])
    assert table.loc[("ups-raps", "test"), "mean"] == pytest.approx(100 * expected)


def test_shares_of_set_sizes_sum_to_all_and_give_the_mean_size(section, records):
    table = measures.sizes(section.series)
    for method, rows in table.groupby("series"):
        assert rows["mean"].sum() == pytest.approx(100)
        size = np.mean([run["rounds"][-1]["selection"]["set_size"] for run in of(records, method)])
        assert (rows["size"] * rows["mean"]).sum() / 100 == pytest.approx(size)


def test_reliability_is_of_the_network_that_chose(section, records):
    """Pooled bins give back the accuracy of that network, which scaling does not change."""
    table = measures.reliability(section.series)
    for method, places in (
        ("ups-raps", {"before": -2, "after": -2}),
        ("ups", {"before": -2}),
        ("supervised", {"before": -1}),
    ):
        rows = table[table["series"] == method]
        assert set(rows["scaling"]) == set(places)
        for scaling, place in places.items():
            bins = rows[rows["scaling"] == scaling]
            expected = np.mean([run["rounds"][place]["test"]["accuracy"] for run in of(records, method)])
            assert bins["n"].sum() == 10 * 596
            assert (bins["accuracy"] * bins["n"]).sum() / bins["n"].sum() == pytest.approx(100 * expected)
    scaled = table[(table["series"] == "ups-raps") & (table["scaling"] == "after")]
    confident = np.mean(
        [
            np.dot(each["confidence"], each["count"]) / 596
            for each in (
                run["rounds"][-1]["selection"]["scaled_test"]["reliability"] for run in of(records, "ups-raps")
            )
        ]
    )
    assert (scaled["confidence"] * scaled["n"]).sum() / scaled["n"].sum() == pytest.approx(100 * confident)


def test_seconds_are_summed_over_rounds_and_unused_stages_left_out(section, records):
    table = measures.seconds(section.series).set_index(["series", "stage"])
    expected = np.mean([sum(each["seconds"]["fit"] for each in run["rounds"]) for run in of(records, "ups")])
    assert table.loc[("ups", "fit"), "mean"] == pytest.approx(expected)
    assert ("ups", "sets") not in table.index
    assert ("ups-raps", "sets") in table.index
