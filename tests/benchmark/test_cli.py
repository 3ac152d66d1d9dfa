"""`bench run`, `table` and `show` as people use them, and the same from Python."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from made_up import record, save

import pseudobench

SMOKE = ("--preset", "smoke", "--seeds", "2", "--methods", "supervised,ups-raps")


def test_run_table_show_and_again(bench):
    first = bench("run", *SMOKE)
    assert first.code == 0
    assert "4 runs, 0 of them finished before" in first.err
    assert first.err.count("round 0") == 4
    assert "ups-raps" in first.out
    assert "±" in first.out
    again = bench("run", *SMOKE)
    assert "4 runs, 4 of them finished before" in again.err
    assert again.out == first.out

    table = bench("table", "runs", "--format", "csv", "--columns", "accuracy,coverage")
    lines = table.out.splitlines()
    assert lines[0] == (
        "dataset,labels,evaluated_on,backbone,preset,device,method,arm,settings,runs,not_done,accuracy,accuracy_half95,"
        "accuracy_n,accuracy_best,accuracy_letters,accuracy_p,coverage,coverage_half95,coverage_n,coverage_best,"
        "coverage_letters,coverage_p"
    )
    assert len(lines) == 3

    shown = bench("show", "ups-raps-s0")
    assert shown.code == 0
    assert "scaling platt, sets raps, estimator mc-dropout, labeler set-argmax, selector ups" in shown.out
    record = json.loads(bench("show", "ups-raps-s0", "--json").out)
    assert record["status"] == "done"

    ambiguous = bench("show", "digits")
    assert ambiguous.code == 2
    assert "4 runs fit 'digits'" in ambiguous.err


def test_show_says_where_a_run_failed_if_it_is_known(bench, tmp_path):
    made = record("pl", 0, None)
    for error, line in (
        ({"message": "no luck", "where": "fit"}, "  no luck (fit)"),
        ({"message": "ended by SIGKILL", "where": ""}, "  ended by SIGKILL"),
        ({"message": "no luck"}, "  no luck"),
    ):
        save(tmp_path / "runs", [{**made, "error": error}])
        shown = bench("show", "pl")
        assert (shown.code, shown.out.splitlines()[1]) == (0, line)


@pytest.mark.parametrize(
    ("method", "heads"),
    [
        ("supervised", ["round", "accuracy", "nll", "ece"]),
        ("pl", ["round", "accuracy", "nll", "ece", "positive", "right", "negative"]),
        (
            "ups-raps",
            ["round", "accuracy", "nll", "ece", "positive", "right", "negative", "right", "coverage", "set size"],
        ),
    ],
)
def test_numbers_that_no_round_has_are_no_columns(bench, method, heads):
    first = str(Path(__file__).parents[2] / "results" / "first")
    shown = bench("show", f"digits-40-{method}-s0", "--results", first).out
    (line,) = [line for line in shown.splitlines() if line.startswith("┃")]
    assert [head.strip() for head in line.strip("┃").split("┃")] == heads


def test_table_numbers_are_the_means_of_the_records(bench):
    bench("run", *SMOKE, "--quiet")
    accuracy = [
        json.loads(path.read_text())["rounds"][-1]["test"]["accuracy"]
        for path in Path("runs").glob("*supervised*.json")
    ]
    rows = json.loads(bench("table", "--format", "json").out)
    (row,) = [row for row in rows if row["method"] == "supervised"]
    assert row["accuracy"] == pytest.approx(100 * sum(accuracy) / 2)
    assert row["accuracy_n"] == 2
    # Half of a t interval of two values: 12.706 times half their distance.
    assert row["accuracy_half95"] == pytest.approx(1270.62 * abs(accuracy[0] - accuracy[1]) / 2, rel=1e-4)
    markdown = bench("table", "--format", "markdown", "--methods", "supervised").out
    assert f"{100 * sum(accuracy) / 2:.2f}" in markdown


def test_json_is_all_there_is_on_standard_output(bench):
    outcome = bench("run", "--preset", "smoke", "--seeds", "1", "--methods", "supervised", "--json", "--quiet")
    (row,) = json.loads(outcome.out)
    assert (row["method"], row["status"], row["error"]) == ("supervised", "done", None)
    assert outcome.err == ""


def test_a_failed_run_is_a_row_and_exit_code_1(bench):
    outcome = bench("run", "--preset", "smoke", "--seeds", "1", "--methods", "supervised", "--set", "recipe.lr=1e30")
    assert outcome.code == 1
    assert "FAILED: the loss became" in outcome.err
    assert "0 + 1 not done" in outcome.out
    assert "failed: the loss became" in outcome.out


def test_settings_make_rows_of_their_own(bench):
    common = ("run", "--preset", "smoke", "--seeds", "1", "--methods", "ups", "--quiet")
    bench(*common)
    bench(*common, "--set", "ups.tau_p=0.8")
    rows = json.loads(bench("table", "--format", "json").out)
    assert {row["settings"] for row in rows} == {"ups.tau_p=0.7", "ups.tau_p=0.8"}


def test_runs_with_other_settings_are_never_averaged(bench, tmp_path):
    """A record made under another default looks the same by its overrides; the table tells them apart."""
    bench("run", "--preset", "smoke", "--seeds", "2", "--methods", "pl", "--quiet")
    for path in list(Path("runs").glob("*.json")):
        record = json.loads(path.read_text())
        record["run_id"] += "old"
        record["spec"]["settings"]["recipe"]["lr"] = 0.9
        (tmp_path / "runs" / f"{record['run_id']}.json").write_text(json.dumps(record))
    rows = json.loads(bench("table", "--format", "json").out)
    assert {(row["settings"], row["accuracy_n"]) for row in rows} == {("recipe.lr=0.1", 2), ("recipe.lr=0.9", 2)}


def test_unfinished_runs_are_visible(bench):
    bench("run", "--preset", "smoke", "--seeds", "2", "--methods", "pl", "--quiet")
    path = next(Path("runs").glob("*s0*.json"))
    path.write_text(json.dumps({**json.loads(path.read_text()), "status": "running"}))
    out = bench("table").out
    assert "1 + 1 not done" in out
    assert out.rstrip().endswith(": interrupted")


def test_the_python_api_returns_frames(tmp_path):
    common = {"dataset": "digits", "preset": "smoke", "seeds": 1, "results": tmp_path}
    runs = pseudobench.run("supervised,pl", **common, settings={"recipe.lr": 0.05})
    assert isinstance(runs, pd.DataFrame)
    assert list(runs["method"]) == ["supervised", "pl"]
    assert runs["accuracy"].between(0, 1).all()
    loaded = pseudobench.load_results(tmp_path)
    assert set(loaded["run_id"]) == set(runs["run_id"])
    assert (loaded["recipe_lr"] == 0.05).all()
    rounds = pseudobench.load_rounds(tmp_path)
    last = rounds.groupby("run_id")["test_accuracy"].last()
    assert dict(last) == dict(zip(loaded["run_id"], loaded["accuracy"], strict=True))
