"""Tables of made-up runs: what is best, what can't be told from it, and that nothing is mixed."""

from __future__ import annotations

from itertools import chain

import pytest
from made_up import around, record, records

from pseudobench.analysis.arms import arms_of
from pseudobench.analysis.run_facts import pick_columns, read_facts
from pseudobench.analysis.tables import pivot, summarize
from pseudobench.output.table_words import how_to_read, shared_words
from pseudobench.output.text_tables import table_grid, words_of


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


def test_a_caption_says_which_rows_have_twice_the_compute_of_labels_alone(registry):
    def made(batches):
        return table(
            [records(name, around(0.8), settings={"recipe.batches": batches}) for name in ("supervised", "pl")],
            registry,
        )

    assert how_to_read(made("beside")).count("at twice the compute of labels alone: pl.") == 1
    assert "compute" not in how_to_read(made("half"))


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


def test_a_folder_called_best_is_not_taken_for_a_mark(registry):
    """The word was replaced in finished sentences."""
    made = table(
        [records("pl", around(0.8), settings={"network.weights": "BEST"}), records("ups", around(0.8))], registry
    )
    grid = table_grid(made, "*")
    assert grid.rows[0][0].text == "pl weights=BEST"
