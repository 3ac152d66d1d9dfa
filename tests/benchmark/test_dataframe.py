"""Data frames of runs and rounds: a typed column for everything, whatever else was loaded."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pandas as pd
import pytest
from made_up import record, records, save

import pseudobench
from committed import digits_records
from pseudobench.analysis.dataframe import frame, rounds_frame
from pseudobench.analysis.run_facts import read_facts

ROOT = Path(__file__).parents[2]


def runs(registry, *groups):
    return frame(read_facts(itertools.chain(*groups), registry), registry)


def test_every_parameter_is_a_typed_column(registry):
    made = runs(
        registry,
        records("ups-raps", [0.5, 0.75], settings={"ups.tau_p": 0.8, "platt.smoothing": False}),
        records("pl", [None]),
    )
    assert str(made["ups_tau_p"].dtype) == "float64"
    assert made["ups_tau_p"].tolist()[:2] == [0.8, 0.8]
    assert str(made["platt_smoothing"].dtype) == "boolean"
    assert made["platt_smoothing"].tolist() == [False, False, pd.NA]
    assert str(made["ups_balance_rounds"].dtype) == "Int64"
    assert str(made["ups_negatives"].dtype) == "string"
    assert made["ups_negatives"].isna().tolist() == [False, False, True]
    assert str(made["hard_gamma"].dtype) == "float64"  # optional, and nobody set it
    assert made["rounds"].tolist() == [0, 0, 0]  # after the first network, which had no pseudo-labels
    assert str(made["rounds"].dtype) == "Int64"
    assert made["error"].tolist()[2] == "the loss became nan"
    assert made["error"].isna().tolist() == [True, True, False]
    assert made["calibration"].isna().tolist() == [False, False, True]


def test_seeds_that_no_column_of_numbers_holds_are_words(registry):
    """They are below 2^64, and pandas counts to 2^63."""
    found = runs(registry, [record("pl", seed, 0.5) for seed in (7, 2**64 - 1)])["seed"]
    assert found.tolist() == ["7", str(2**64 - 1)]


def test_names_are_python_names(registry):
    made = runs(registry, records("ups-raps", [0.5]), records("mc-dropout+lac+hard+ups", [0.5]))
    assert all(name.isidentifier() for name in made.columns)
    assert {"evaluated_on", "f1_micro", "trains_on", "mc_dropout_passes", "lac_alpha"} <= set(made.columns)


def test_a_column_does_not_depend_on_what_else_was_loaded(registry):
    one = records("ups", [0.5, 0.75])
    others = [
        records("ups", [0.25], settings={"ups.tau_p": 0.9, "recipe.lr": 0.5}, labels=100),
        records("supervised", [None]),
        records("ups", [0.5], backbone="cnn13"),
    ]
    alone, together = runs(registry, one), runs(registry, one, *others)
    pd.testing.assert_frame_equal(alone, together[alone.columns].head(2))


def test_names_that_would_be_the_same_are_both_kept(registry):
    made = [record("pl", 0, 0.5)]
    made[0]["spec"]["settings"] |= {"a:b": {"x": 1}, "a-b": {"x": 2}}
    table = runs(registry, made)
    assert sorted([table["a_b_x"][0], table["a-b.x"][0]]) == [1, 2]


def test_rounds_are_rows_with_every_number_by_its_path(registry):
    found = digits_records("ups-raps")
    table = rounds_frame(found)
    assert len(table) == sum(len(each["rounds"]) for each in found)
    assert not table.duplicated(["run_id", "round"]).any()
    last = table[(table["run_id"] == found[0]["run_id"])].iloc[-1]
    expected = found[0]["rounds"][-1]
    assert last["test_accuracy"] == expected["test"]["accuracy"]
    assert last["selection_positive_precision"] == expected["selection"]["positive_precision"]
    assert last["selection_scaling_temperature"] == expected["selection"]["scaling"]["temperature"]
    assert last["seconds_fit"] == expected["seconds"]["fit"]
    assert str(table["selection_positives"].dtype) == "Int64"
    assert table["selection_positives"].isna().tolist() == [each == 0 for each in table["round"]]


def test_the_functions_read_folders():
    save(Path("runs"), records("pl", [0.5, 0.75]))
    loaded, rounds = pseudobench.load_results("runs"), pseudobench.load_rounds("runs")
    assert loaded["accuracy"].tolist() == rounds["test_accuracy"].tolist() == [0.5, 0.75]


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_comparisons_have_the_same_types():
    save(Path("runs"), records("pl", [0.5, 0.75]), records("ups", [0.5, 0.5]))
    made = pseudobench.compare("pl", "runs")
    kinds = {name: str(kind) for name, kind in made.dtypes.items()}
    assert (kinds["labels"], kinds["seeds"], kinds["different"]) == ("Int64", "Int64", "boolean")
    assert (kinds["method"], kinds["says"], kinds["p"]) == ("string", "string", "float64")
    assert made["p"].isna().all()


@pytest.mark.parametrize("key", ["evaluated-on", "evaluated_on", "evaluated on"])
def test_keys_of_filters_are_those_of_columns(bench, key):
    save(Path("runs"), records("pl", [0.5]), records("ups", [0.5], settings={"ups.tau_p": 0.8}))
    assert len(json.loads(bench("table", "--runs", "--format", "json", "--where", f"{key}=test").out)) == 2
    (row,) = json.loads(bench("table", "--runs", "--format", "json", "--where", "ups_tau_p=0.8").out)
    assert row["ups_tau_p"] == 0.8
