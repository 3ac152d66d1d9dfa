"""Tables of made-up runs: what is best, what can't be told from it, and that nothing is mixed or hidden."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import record, records, save
from scipy import stats

from pseudobench.analysis.dataframe import frame, ordered, pick_columns
from pseudobench.analysis.marks import judge
from pseudobench.analysis.tables import pivot, summarize

SPREAD = [0.000, 0.011, -0.012, 0.004, 0.017, -0.009, 0.002, -0.006, 0.013, -0.015]


def around(mean, n=10, turn=0):
    """``n`` values around a mean, the same for everybody or in another order."""
    return [mean + SPREAD[(place + turn) % 10] for place in range(n)]


def seeds(values):
    return dict(enumerate(values))


def table(groups, registry, columns=("accuracy",), make=summarize):
    runs = ordered(frame(chain.from_iterable(groups), registry), registry, methods_first=make is pivot)
    return make(runs, pick_columns(registry, columns))


def marks(made):
    return {row.identity[-1]: tuple(cell and cell.mark for cell in row.cells) for row in made.rows}


def test_the_best_is_marked_and_what_a_paired_test_cannot_tell_from_it():
    """By scipy's exact permutation test and Bonferroni's bound on Holm: clear cases on both sides."""
    best, level, worse = around(0.9), around(0.898, turn=3), around(0.85, turn=5)
    verdict = judge([seeds(best), seeds(level), seeds(worse)], True)
    assert verdict.marks == ("best", "near", "")
    p_values = [
        stats.permutation_test((best, other), lambda a, b: sum(a) - sum(b), permutation_type="samples").pvalue
        for other in (level, worse)
    ]
    assert p_values[0] > 0.05
    assert 2 * p_values[1] < 0.05
    assert judge([seeds(best), seeds(level), seeds(worse)], False).marks == ("", "", "best")
    assert judge([seeds(best), seeds(level), seeds(worse)], None).marks == ("", "", "")


def test_pairs_count_not_intervals():
    """A point apart in every seed is a difference, however much seeds differ among themselves."""
    wide = [0.5 + 0.04 * place for place in range(10)]
    assert judge([seeds(wide), seeds([value - 0.01 for value in wide])], True).marks == ("best", "")


def test_marks_are_corrected_for_their_number():
    """One rival that loses by 1 to 10, but once wins, is worse; two of them are not both shown to be.

    Of differences that are ranks the test is Wilcoxon's.
    """
    behind = [1, 2, 3, 4, 5, 6, 7, -8, 9, 10]
    assert 0.025 < stats.wilcoxon(behind, method="exact").pvalue <= 0.05
    best, rival = seeds([0.5] * 10), seeds([0.5 - each / 1000 for each in behind])
    assert judge([best, rival], True).marks == ("best", "")
    assert judge([best, rival, rival], True).marks == ("best", "near", "near")


def test_with_few_seeds_nothing_but_the_best_is_marked():
    verdict = judge([seeds(around(0.9, 5)), seeds(around(0.9, 5, turn=1)), seeds(around(0.5, 5))], True)
    assert verdict.marks.count("best") == 1
    assert "near" not in verdict.marks
    assert (verdict.seeds, verdict.needed) == (5, 7)


def test_means_over_other_seeds_are_not_compared():
    """The second has the highest mean, of the easy seeds alone."""
    verdict = judge([seeds(around(0.8)), {0: 0.99, 1: 0.98}, seeds(around(0.7))], True)
    assert verdict.marks == ("best", "", "")
    assert verdict.incomplete
    assert judge([seeds(around(0.8)), {}], True).marks == ("", "")


@given(st.lists(st.lists(st.integers(0, 6), min_size=8, max_size=8), min_size=2, max_size=4), st.booleans())
def test_marks_follow_their_rivals_and_turn_with_the_direction(columns, higher):
    rivals = [seeds([value / 8 for value in column]) for column in columns]
    verdict = judge(rivals, higher)
    turned = judge([{seed: -value for seed, value in each.items()} for each in rivals], not higher)
    assert turned.marks == verdict.marks
    sums = [sum(column) for column in columns]
    top = max(sums) if higher else min(sums)
    assert [mark == "best" for mark in verdict.marks] == [each == top for each in sums]


def test_the_ceiling_is_never_the_best(registry):
    made = table([records("supervised", around(0.8)), records("fully-supervised", around(0.99))], registry)
    assert marks(made) == {"supervised": ("",), "fully-supervised": ("",)}
    made = table(
        [records("supervised", around(0.8)), records("pl", around(0.9)), records("fully-supervised", around(0.99))],
        registry,
    )
    assert marks(made) == {"supervised": ("",), "fully-supervised": ("",), "pl": ("best",)}
    assert "fully-supervised has all labels and is not compared" in made.notes


def test_every_dataset_and_label_count_has_its_own_best(registry):
    groups = [
        records("supervised", around(0.8)),
        records("pl", around(0.9)),
        records("supervised", around(0.97), labels=100),
        records("pl", around(0.95), labels=100),
    ]
    made = table(groups, registry)
    assert [(row.identity[0], row.identity[1], row.cells[0].mark) for row in made.rows] == [
        ("40", "supervised", ""),
        ("40", "pl", "best"),
        ("100", "supervised", "best"),
        ("100", "pl", ""),
    ]


def test_a_pivoted_table_has_the_same_cells(registry):
    groups = [
        records("supervised", around(0.8), ece=0.1),
        records("pl", [*around(0.9, 9), None], ece=0.2),
        records("supervised", around(0.97, 3), labels=100, ece=0.3),
        records("ups", around(0.5, 4), labels=100, backbone="cnn13", ece=0.4),
    ]
    columns = ("accuracy", "ece")
    flat, wide = table(groups, registry, columns), table(groups, registry, columns, pivot)
    assert [row.identity for row in wide.rows] == [("supervised",), ("pl",), ("ups",)]
    places = ["digits 40, digits_cnn", "digits 100, cnn13", "digits 100, digits_cnn"]
    assert [heading.name for heading in wide.headings] == [f"{place} {name}" for place in places for name in columns]
    cells = {
        (row.identity[-1], f"digits {row.identity[0]}, {row.identity[1]} {heading.name}"): cell
        for row in flat.rows
        for heading, cell in zip(flat.headings, row.cells, strict=True)
    }
    found = {
        (row.identity[-1], heading.name): cell
        for row in wide.rows
        for heading, cell in zip(wide.headings, row.cells, strict=True)
        if cell is not None
    }
    assert found == cells
    assert len(found) == 8


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


@pytest.mark.parametrize("make", [summarize, pivot])
def test_settings_of_all_rows_are_said_once(registry, make):
    """And those of some rows, of them; together they are all that was set."""
    shared = {"recipe.lr": 0.5}
    groups = [
        records("pl", around(0.8, 2), settings=shared),
        records("ups", around(0.8, 2), settings=shared),
        records("ups", around(0.9, 2), settings={**shared, "ups.tau_p": 0.8}),
    ]
    made = table(groups, registry, make=make)
    assert made.caption["shared settings"] == "recipe.lr=0.5"
    said = [dict(zip(made.keys, row.identity, strict=True)) for row in made.rows]
    assert (said[0]["method"], said[0]["settings"]) == ("pl", "")
    assert sorted(row["settings"] for row in said if row["method"] == "ups") == ["ups.tau_p=0.7", "ups.tau_p=0.8"]
    alike = table(groups[:2], registry, make=make)
    assert alike.caption["settings"] == "recipe.lr=0.5"
    assert "settings" not in alike.keys


def test_methods_that_were_trained_differently_say_so(registry):
    """Neither user asked for anything: a default has changed between their runs."""
    groups = [records("pl", [0.9]), records("ups", [0.8])]
    groups[1][0]["spec"]["settings"]["recipe"]["lr"] = 0.01
    made = table(groups, registry)
    assert [row.identity for row in made.rows] == [("recipe.lr=0.1", "pl"), ("recipe.lr=0.01", "ups")]


def test_runs_that_differ_in_a_component_are_not_averaged(registry):
    """A method of the same name and settings, whose labeler was another then."""
    groups = [records("ups", [0.9, 0.8]), records("ups", [0.5])]
    groups[1][0]["spec"]["stages"] = {**groups[1][0]["spec"]["stages"], "labeler": "another"}
    made = table(groups, registry)
    assert [(*row.identity, row.done) for row in made.rows] == [
        ("labeler=another", "ups", 1),
        ("labeler=hard", "ups", 2),
    ]


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
        (("--labels", "50"), "no run record has the labels '50'; there are: 100, 40"),
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
