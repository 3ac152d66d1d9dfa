"""Tables of made-up runs: what is best, what can't be told from it, and that nothing is mixed or hidden."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path

import pytest
from made_up import record, records, save

from pseudobench.analysis.arms import arms_of
from pseudobench.analysis.run_facts import pick_columns, read_facts
from pseudobench.analysis.tables import pivot, summarize
from pseudobench.output.table_words import how_to_read, shared_words
from pseudobench.output.text_tables import table_grid, words_of

SPREAD = [0.000, 0.011, -0.012, 0.004, 0.017, -0.009, 0.002, -0.006, 0.013, -0.015]


def around(mean, n=10, turn=0):
    """``n`` values around a mean, the same for everybody or in another order."""
    return [mean + SPREAD[(place + turn) % 10] for place in range(n)]


def table(groups, registry, columns=("accuracy",), make=summarize):
    arms = arms_of(read_facts(chain.from_iterable(groups), registry), registry)
    return make(arms, pick_columns(registry, columns))


def words(made):
    return [tuple(cell.text for cell in words_of(row, made)) for row in made.rows]


def marks(made):
    return {row.name: tuple(cell and bool(cell.best) for cell in row.cells) for row in made.rows}


def test_the_ceiling_is_never_the_best(registry):
    made = table([records("supervised", around(0.8)), records("fully-supervised", around(0.99))], registry)
    assert marks(made) == {"supervised": (False,), "fully-supervised": (False,)}
    made = table(
        [records("supervised", around(0.8)), records("pl", around(0.9)), records("fully-supervised", around(0.99))],
        registry,
    )
    assert marks(made) == {"supervised": (False,), "fully-supervised": (False,), "pl": (True,)}
    assert "fully-supervised has all labels and is not compared" in how_to_read(made)


def test_every_dataset_and_label_count_has_its_own_best(registry):
    groups = [
        records("supervised", around(0.8)),
        records("pl", around(0.9)),
        records("supervised", around(0.97), labels=100),
        records("pl", around(0.95), labels=100),
    ]
    made = table(groups, registry)
    assert [(*said, row.cells[0].best) for said, row in zip(words(made), made.rows, strict=True)] == [
        ("40", "supervised", False),
        ("40", "pl", True),
        ("100", "supervised", True),
        ("100", "pl", False),
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
    assert words(wide) == [("supervised",), ("pl",), ("ups",)]
    places = ["digits 40, digits_cnn", "digits 100, cnn13", "digits 100, digits_cnn"]
    assert [(each.group, each.column.name) for each in wide.headings] == [
        (place, name) for place in places for name in columns
    ]
    cells = {
        (name, f"digits {labels}, {backbone}", heading.column.name): cell
        for (labels, backbone, name), row in zip(words(flat), flat.rows, strict=True)
        for heading, cell in zip(flat.headings, row.cells, strict=True)
    }
    found = {
        (row.name, heading.group, heading.column.name): cell
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
    assert shared_words(made)["settings"] == "recipe.lr=0.5"
    assert words(made) == [("pl",), ("ups τ_p=0.7",), ("ups τ_p=0.8",)]
    partly = table([*groups[:2], records("curriculum", [0.5], settings={"recipe.lr": 0.25})], registry, make=make)
    assert words(partly) == [("pl lr=0.5",), ("ups lr=0.5",), ("curriculum lr=0.25",)]


def test_methods_that_were_trained_differently_say_so(registry):
    """Neither user asked for anything: a default has changed between their runs."""
    groups = [records("pl", [0.9]), records("ups", [0.8])]
    groups[1][0]["spec"]["settings"]["recipe"]["lr"] = 0.01
    made = table(groups, registry)
    assert words(made) == [("pl",), ("ups",)]
    assert "Where a name says nothing else: pl recipe.lr=0.1; ups recipe.lr=0.01" in how_to_read(made)


def test_runs_that_differ_in_a_component_are_not_averaged(registry):
    """A method of the same name and settings, whose labeler was another then."""
    groups = [records("ups", [0.9, 0.8]), records("ups", [0.5])]
    groups[1][0]["spec"]["stages"] = {**groups[1][0]["spec"]["stages"], "labeler": "another"}
    made = table(groups, registry)
    assert [(row.name, row.done) for row in made.rows] == [("ups labeler=another", 1), ("ups labeler=hard", 2)]


def test_revisions_and_processors_that_differ_are_said(registry):
    def made(*environments):
        groups = [[record("pl", seed, 0.5, environment=each)] for seed, each in enumerate(environments)]
        return how_to_read(table(groups, registry))

    one = {"device": "cpu", "device_name": "A", "source": {"revision": "1234567890ab"}}
    assert "Made by 2 revisions of the code (12345678, fedcba09)" in made(
        one, {**one, "source": {"revision": "fedcba0987"}}
    )
    assert "Run on 2 kinds of processor (A, B)" in made(one, {**one, "device_name": "B"})
    versions = [{**one, "source": None, "versions": {"pseudobench": each}} for each in ("0.1.0", "0.2.0")]
    assert "Made by 2 revisions of the code (0.1.0, 0.2.0)" in made(*versions)
    assert "revision" not in made(one, one)
    assert "processor" not in made(one, one)


def test_runs_on_another_kind_of_device_are_rows_of_their_own(registry):
    groups = [records("pl", around(0.8, 6), environment={"device": device}) for device in ("cpu", "cuda")]
    groups[0] = [{**run, "run_id": f"{run['run_id']}-cpu"} for run in groups[0]]
    made = table([*groups, records("ups", around(0.9, 6), environment={"device": "cuda"})], registry)
    assert words(made) == [("cpu", "pl"), ("cuda", "pl"), ("cuda", "ups")]
    assert [row.cells[0].best for row in made.rows] == [None, False, True]


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


def test_a_folder_called_best_is_not_taken_for_a_mark(registry):
    """The word was replaced in finished sentences."""
    made = table(
        [records("pl", around(0.8), settings={"network.weights": "BEST"}), records("ups", around(0.8))], registry
    )
    grid = table_grid(made, "*")
    assert grid.rows[0][0].text == "pl weights=BEST"


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


def test_single_runs_are_listed_by_place_method_and_seed(bench):
    save(Path("runs"), records("ups", [0.1, 0.2]), records("supervised", [0.3], labels=100), records("pl", [0.4]))
    rows = json.loads(bench("table", "--runs", "--format", "json").out)
    assert [(row["labels"], row["method"], row["seed"]) for row in rows] == [
        (40, "pl", 0),
        (40, "ups", 0),
        (40, "ups", 1),
        (100, "supervised", 0),
    ]
