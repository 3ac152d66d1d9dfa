"""`bench table` on made-up runs: layouts, filters, single runs, mistakes; nothing is hidden."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from made_up import around, record, records, save


def test_failed_and_missing_runs_are_visible_in_every_layout(bench):
    save(Path("runs"), records("pl", [0.8, 0.9, 1.0, None]), records("ups", [0.8, 0.9], labels=100))
    assert "| 40 | pl | 90.00 ± 24.84 | 3 + 1 not done |" in bench("table", "--format", "markdown").out
    wide = bench("table", "--pivot", "--format", "markdown").out
    assert "| pl | 90.00 ± 24.84 (1 not done) | no runs |" in wide
    assert "| ups | no runs | 85.00 ± 63.53 (n=2) |" in wide
    assert "failed: the loss became nan" in bench("table", "--pivot").out
    assert "| failed | – |" in bench("table", "--runs", "--columns", "accuracy", "--format", "markdown").out


def test_a_pivoted_table_of_failures_shows_them(bench):
    save(Path("runs"), records("pl", [None, None]))
    assert "| pl | – (2 not done) |" in bench("table", "--pivot", "--format", "markdown").out


def test_settings_of_a_whole_dataset_are_said_of_it_and_not_of_its_rows(bench):
    lr = {"recipe.lr": 0.05}
    save(
        Path("runs"),
        records("pl", around(0.9, 2)),
        records("pl", around(0.8, 2), labels=100, settings=lr),
        records("ups", around(0.8, 2), labels=100, settings=lr),
    )
    wide = bench("table", "--pivot", "--format", "markdown").out
    assert "digits 100: recipe.lr=0.05." in wide
    assert "| method | digits 40 | digits 100 |" in wide


def test_rounds_are_shown_where_methods_differ_in_them(bench):
    def rounds(method, count, **further):
        made = records(method, [0.5, 0.6], **further)
        for each in made:
            each["rounds"] = each["rounds"] * count
        return made

    save(Path("runs"), rounds("supervised", 1), rounds("pl", 3), rounds("ups", 3))
    assert "| rounds |" not in bench("table", "--format", "markdown").out
    save(Path("runs"), rounds("curriculum", 2))
    assert "| rounds |" in bench("table", "--format", "markdown").out
    rows = json.loads(bench("table", "--columns", "rounds", "--format", "json").out)
    assert {row["arm"]: row["rounds"] for row in rows} == {"supervised": 0, "pl": 2, "ups": 2, "curriculum": 1}
    runs = json.loads(bench("table", "--runs", "--format", "json").out)
    assert {row["method"]: row["rounds"] for row in runs} == {"supervised": 0, "pl": 2, "ups": 2, "curriculum": 1}


def test_rows_that_are_not_shown_count(bench):
    """The family is what there is, not what is shown: eight equal methods, of which two are picked after the fact."""
    groups = [
        records(method, around(0.8, 7, turn)) for turn, method in enumerate(("pl", "ups", "curriculum", "supervised"))
    ]
    save(Path("runs"), *groups)
    everyone = {row["arm"]: row for row in json.loads(bench("table", "--format", "json").out)}
    some = json.loads(bench("table", "--format", "json", "--methods", "pl,ups").out)
    assert [row["arm"] for row in some] == ["pl", "ups"]
    assert all(row == everyone[row["arm"]] for row in some)
    said = "Judged together with 2 rows that are not shown here"
    assert said in bench("table", "--methods", "pl,ups").out
    assert said not in bench("table").out


def test_runs_that_nothing_tells_apart_are_refused(bench):
    save(Path("runs"), records("pl", [0.9]), [{**record("pl", 0, 0.8), "run_id": "copy"}])
    outcome = bench("table")
    assert outcome.code == 2
    assert "can't be told apart by their settings; move one of them away" in outcome.err


def test_a_record_below_two_folders_counts_once(bench):
    save(Path("runs/a"), records("pl", [0.9, 0.8]))
    (row,) = json.loads(bench("table", "runs", "runs/a", "--format", "json").out)
    assert row["accuracy_n"] == 2


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        (("--labels", "40"), 3),
        (("--labels", "40,100"), 4),
        (("--methods", "ups"), 1),
        (("--where", "seed=0"), 3),
        (("--where", "seed=0", "--where", "method=pl"), 2),
        (("--where", "ups.tau_p=0.80"), 1),
        (("--where", "calibration=none"), 4),
        (("--where", "selector=ups"), 1),
        (("--dataset", "digits", "--where", "evaluated-on=TEST"), 4),
    ],
)
def test_filters(bench, arguments, count):
    save(
        Path("runs"),
        records("pl", [0.9, 0.8]),
        records("ups", [0.9], settings={"ups.tau_p": 0.8}),
        records("pl", [0.7], labels=100),
    )
    rows = json.loads(bench("table", "--runs", "--format", "json", *arguments).out)
    assert len(rows) == count


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--methods", "upps"), "no run record has the method 'upps'; there are: pl"),
        (("--labels", "50"), "no run record has the labels '50'; there are: 40, 100"),
        (("--where", "sede=1"), "no run record says anything of 'sede'; did you mean 'seed'?"),
        (("--where", "seed"), "'seed': a key and its values, such as labels=40,100 or ups.tau_p=0.8"),
        (("--where", "labels=100", "--where", "seed=1"), "none of 3 run records has all of: labels 100, seed 1"),
        (("--columns", "acuracy"), "there is no column 'acuracy'; did you mean 'accuracy'?"),
        (("--pivot", "--runs"), "--runs shows single runs"),
    ],
)
def test_mistakes_are_one_line(bench, arguments, message):
    save(Path("runs"), records("pl", [0.9, 0.8]), [record("pl", 0, 0.7, labels=100)])
    outcome = bench("table", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


def test_runs_honour_columns(bench):
    save(Path("runs"), records("pl", [0.9, 0.8], nll=0.25))
    assert "0.250" in bench("table", "--runs", "--columns", "nll").out
    rows = json.loads(bench("table", "--runs", "--columns", "nll", "--format", "json").out)
    assert [row["nll"] for row in rows] == [0.25, 0.25]
    assert "accuracy" not in rows[0]
    assert "ece" in bench("table", "--runs", "--format", "csv").out.splitlines()[0]


def test_single_runs_are_listed_by_place_method_and_seed(bench):
    save(Path("runs"), records("ups", [0.1, 0.2]), records("supervised", [0.3], labels=100), records("pl", [0.4]))
    rows = json.loads(bench("table", "--runs", "--format", "json").out)
    assert [(row["labels"], row["method"], row["seed"]) for row in rows] == [
        (40, "pl", 0),
        (40, "ups", 0),
        (40, "ups", 1),
        (100, "supervised", 0),
    ]
