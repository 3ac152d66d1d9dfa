"""Mistakes on the command line: one line, exit code 2, nothing trained."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--methods", "ups-rasp"), "there is no method 'ups-rasp'; did you mean 'ups-raps'?"),
        (("--dataset", "digit"), "there is no dataset 'digit'; did you mean 'digits'?"),
        (("--labels", "5000"), "--labels 5000: digits has 1201 training samples; take at most 1160"),
        (("--labels", "1201", "--methods", "pl"), "and 'pl' needs a pool; take at most 1160"),
        (("--labels", "1200", "--validation", "--methods", "pl"), "digits has 961 training samples; take at most "),
        (
            ("--labels", "301", "--dataset", "digits-grid", "--methods", "pl"),
            "digits-grid has 300 training samples; take at most 299",
        ),
        (("--json", "--dry-run"), "--json goes not with --dry-run"),
        (("--labels", "1200", "--dry-run"), "the rarest class of digits has 116 samples; take at most 1160"),
        (("--backbone", "resnet81", "--dry-run"), "there is no backbone 'resnet81'; did you mean"),
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
            "method 'set-size+hard+ups': estimator 'set-size' needs a set predictor, as it is set; add one of: ",
        ),
        (
            ("--methods", "ups", "--set", "ups.negatives=complement"),
            "method 'ups': selector 'ups' needs a set predictor, as it is set; add one of: ",
        ),
        (("--labels", "1200", "--methods", "pl"), "the rarest class of digits has 116 samples; take at most 1160"),
        (("--labels", "10", "--methods", "ups-raps-held-out"), "or --calibration cross"),
        (
            ("--dataset", "cifar10", "--labels", "50000"),
            "all of cifar10 is labeled, and 'pl' needs a pool; take at most 49990",
        ),
        (("--backbone", "resnet81"), "there is no backbone 'resnet81'; did you mean"),
        (("--preset", "cpuu"), "'cpuu' is not one of 'smoke', 'cpu', 'paper'"),
        (("--calibration", "trian"), "'trian' is not one of 'held-out', 'train', 'cross'"),
        (("--seeds", "x"), "seeds 'x': give a count (3), a range (5-9) or a list (0,4,7)"),
        (("--results", "file/below"), "can't write to the results folder file/below"),
        (("--device", "abacus"), "--device abacus"),
        (("missing.toml",), "missing.toml: No such file or directory"),
        (
            ("--methods", "ups-raps-held-out", "--set", "calibration.fraction=0.9"),
            "at least 1 must be held out and 10 left to train on",
        ),
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


def test_an_interrupt_says_how_to_go_on(bench, monkeypatch):
    from pseudobench.execution.runner import Runner

    def interrupted(self, specs):
        raise KeyboardInterrupt

    monkeypatch.setattr(Runner, "run", interrupted)
    outcome = bench("run")
    assert outcome.code == 130
    assert "the same command goes on with the rest" in outcome.err
