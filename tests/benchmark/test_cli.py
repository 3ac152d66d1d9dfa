"""The command line as people use it: results, errors in one line, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pandas as pd
import pytest

import pseudobench
from pseudobench.registry.components import installed

ROOT = Path(__file__).parents[2]
SMOKE = ("--preset", "smoke", "--seeds", "2", "--methods", "supervised,ups-raps")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--methods", "ups-rasp"), "there is no method 'ups-rasp'; did you mean 'ups-raps'?"),
        (("--dataset", "digit"), "there is no dataset 'digit'; did you mean 'digits'?"),
        (("--labels", "5000"), "--labels 5000: digits has 1201 training samples"),
        (
            ("--labels", "55"),
            "not divisible by the 10 classes of digits, and every class gets equally many; take 50 or 60",
        ),
        (("--labels", "5"), "digits has 10 classes and each needs a label"),
        (("--labels", "many"), "labels 'many': whole numbers"),
        (("--set", "raps.alpha=1"), "raps.alpha: '1' is not a number in (0, 1)"),
        (("--set", "raps.alpha=0"), "raps.alpha: '0' is not a number in (0, 1)"),
        (("--set", "ups.tau=0.8"), "ups has no parameter 'tau'; did you mean 'tau_p'?"),
        (("--set", "upps.tau_p=0.8"), "there is no component 'upps'; did you mean 'ups'?"),
        (("--set", "ups.tau_p"), "--set takes component.parameter=value"),
        (("--set", "singleton.x=1"), "none of the methods supervised, pl, ups, ups-raps uses 'singleton'"),
        (
            ("--methods", "set-size+hard+ups"),
            "method 'set-size+hard+ups': estimator 'set-size' needs a set predictor, as it is set; add one of: raps",
        ),
        (
            ("--methods", "ups", "--set", "ups.negatives=complement"),
            "method 'ups': selector 'ups' needs a set predictor, as it is set; add one of: raps",
        ),
        (("--labels", "1200", "--methods", "pl"), "the rarest class of digits has 116 samples; take at most 1160"),
        (("--labels", "10"), "or --calibration cross"),
        (("--dataset", "cifar10", "--labels", "50000"), "all of cifar10 is labeled, and 'pl' needs a pool"),
        (("--backbone", "resnet81"), "there is no backbone 'resnet81'; did you mean"),
        (("--preset", "cpuu"), "'cpuu' is not one of 'smoke', 'cpu', 'paper'"),
        (("--calibration", "trian"), "'trian' is not one of 'held-out', 'train', 'cross'"),
        (("--seeds", "x"), "seeds 'x': give a count (3), a range (5-9) or a list (0,4,7)"),
        (("--results", "file/below"), "can't write to the results folder file/below"),
        (("--device", "abacus"), "--device abacus"),
        (("missing.toml",), "missing.toml: No such file or directory"),
        (("--set", "calibration.fraction=0.9"), "at least 1 must be held out and 10 left to train on"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(bench, tmp_path, arguments, message):
    (tmp_path / "file").write_text("not a folder")
    outcome = bench("run", *arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    assert message in outcome.err
    assert [path.name for path in tmp_path.rglob("*.json")] == []


def test_click_mistakes_have_exit_code_2_too(bench):
    assert bench("run", "--nonsense").code == 2
    assert bench("nonsense").code == 2


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


def test_a_backbone_without_dropout_is_refused_before_anything_is_trained(bench, tmp_path):
    outcome = bench("run", "--preset", "smoke", "--methods", "supervised,ups", "--set", "recipe.dropout=0")
    assert outcome.code == 2
    assert outcome.err == (
        "error: mc-dropout needs dropout, and digits_cnn has none active with recipe.dropout=0: there would be no "
        "uncertainty at all; take another backbone, or a recipe.dropout above 0\n"
    )
    assert not list((tmp_path / "runs").glob("*.json"))


def test_a_newer_record_is_refused_by_name(bench, tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "new.json").write_text('{"kind": "pseudobench.run", "format": 2}')
    outcome = bench("table")
    assert outcome.code == 2
    assert outcome.err == (
        "warning: left out: runs/new.json has record format 2, this pseudobench reads 1; "
        "take the version of pseudobench that wrote it\n"
        "error: there are no run records to tabulate; `bench run` makes some\n"
    )


def test_no_results_yet(bench, tmp_path):
    assert "there is no results folder runs" in bench("table").err
    (tmp_path / "runs").mkdir()
    assert "there are no run records" in bench("table").err
    assert "there is no run 'x'" in bench("show", "x").err


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


def test_a_broken_plugin_is_warned_of_and_the_rest_works(tmp_path):
    (tmp_path / "explodes.py").write_text("1 / 0\n")
    info = tmp_path / "explodes-0.3.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: explodes\nVersion: 0.3\n")
    (info / "entry_points.txt").write_text("[pseudobench]\nexplodes = explodes\n")
    done = subprocess.run(
        [sys.executable, "-m", "pseudobench", "list", "methods"],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert done.returncode == 0
    expected = "warning: plugin 'explodes' (explodes 0.3) is not in use: ZeroDivisionError: division by zero\n"
    assert done.stderr == expected
    assert "ups-raps" in done.stdout


def test_lists_show_everything_with_parameters(bench):
    out = bench("list").out
    for entry in installed()[1]:
        assert entry.name in out
    shown = bench("list", "ups").out
    assert "tau_p" in shown
    assert "a number in [0, 1]" in shown
    assert "a positive has at least this probability" in shown
    assert "recipe" in bench("list", "settings").out
    assert "learning rate" in bench("list", "recipe").out
    assert json.loads(bench("list", "selectors", "--json").out)[0]["kind"] == "selectors"
    assert "did you mean 'methods'" in bench("list", "methodz").err


def test_plugins_are_listed_with_their_state(bench):
    rows = json.loads(bench("plugins", "--json").out)
    assert {row["plugin"]: row["state"] for row in rows}["ups"] == "ok"
    assert bench("plugins", "--check").code == 0


def test_every_command_has_help_with_examples(bench):
    for command in ("run", "table", "compare", "show", "list", "plugins"):
        assert "Example" in bench(command, "--help").out
    assert bench("--version").out.startswith("bench, version ")


def test_an_interrupt_says_how_to_go_on(bench, monkeypatch):
    from pseudobench.execution.runner import Runner

    def interrupted(self, specs):
        raise KeyboardInterrupt

    monkeypatch.setattr(Runner, "run", interrupted)
    outcome = bench("run")
    assert outcome.code == 130
    assert "the same command goes on with the rest" in outcome.err


@pytest.mark.parametrize(
    "arguments", [["--help"], ["list"], ["list", "raps"], ["plugins"], ["run", "--help"], ["compare", "--help"]]
)
def test_torch_is_not_imported_where_it_is_not_needed(arguments):
    code = (
        "import sys\nfrom pseudobench.cli.main import main\n"
        f"try:\n    main({arguments!r})\nexcept SystemExit as stop:\n    assert not stop.code\n"
        "heavy = {'torch', 'pandas', 'timm', 'scipy', 'sklearn'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_python_m_pseudobench_is_bench():
    done = subprocess.run(
        [sys.executable, "-m", "pseudobench", "--version"], capture_output=True, text=True, timeout=120
    )
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert done.stdout == f"bench, version {version}\n"


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
