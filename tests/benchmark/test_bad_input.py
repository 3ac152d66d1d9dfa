"""Bad input: one line that says what is wrong, exit code 2, and nothing written, fetched or waited for."""

from __future__ import annotations

import pytest

from pseudobench import BenchError
from pseudobench.cli import main as boundary
from pseudobench.experiments.parsing import experiment_from, parse_seeds
from pseudobench.storage.cache import Cache

LONG = "x" * 5000


def run(*words):
    return ("run", "--preset", "smoke", "--seeds", "1", *words)


ONE_LINE = [
    (("run", "--seeds", "1000000000"), "at most 10000 at a time"),
    (("run", "--seeds", "0-99999999999"), "at most 10000 at a time"),
    (("run", "--seeds", "9" * 5000), "give a count (3), a range (5-9) or a list (0,4,7)"),
    (("run", "--seeds", f"{2**64},"), "below 2^64"),
    (run("--labels", "9" * 5000), "whole numbers"),
    (run("--device", "cuda:99"), "--device cuda:99: "),
    (run("--device", "meta"), "--device meta: "),
    (run("--device", "toaster"), "--device toaster: "),
    (run("--device", ""), "--device"),
    (run("--weights", "package:"), "name a package"),
    (run("--weights", "package:../.."), "--weights package:../..: "),
    (run("--weights", f"{LONG}.pth"), "File name too long"),
    (run("--set", "recipe.batch_size=1e15"), "is not a whole number in [1, 1e+06]"),
    (run("--set", "recipe.epochs=1e300"), "is not a whole number in [1, 1e+06]"),
    (run("--set", f"recipe.epochs={'9' * 400}"), "is not a whole number in [1, 1e+06]"),
    (run("--set", "recipe.steps=1e10"), "is not a whole number in [1, 1e+06] or none"),
    (run("--set", "recipe.threads=100000"), "is not a whole number in [1, 1024] or none"),
    (run("--set", "network.image_size=100000"), "is not a whole number in [8, 4096] or none"),
    (run("--set", "loop.rounds=1e9"), "is not a whole number in [0, 10000]"),
    (run("--set", "calibration.folds=1e9", "--methods", "ups-raps"), "is not a whole number in [2, 10000]"),
    (run("--data-dir", "file"), "the data folder file is a file; name a folder"),
    (run("--data-dir", "nowhere"), "the data folder nowhere is a link to nowhere; name a folder"),
    (run("--results", LONG), "File name too long"),
    (run("--results", "file"), "can't write to the results folder file"),
    (run("--methods", LONG), "there is no method"),
    (run("--dataset", "folder:\0"), "NUL character"),
    (run("--backbone", LONG), "x"),
    (("run", "deep.toml"), "deep.toml is not a TOML file: RecursionError"),
    (("run", "odd.toml"), "odd.toml is not a TOML file: "),
    (("run", "digits.toml"), "digits.toml is not a TOML file: "),
    (("run", "zero"), "zero is a device, not a TOML file"),
    (("run", LONG), "File name too long"),
    (("run", "nul.toml"), "results = 'a\\x00b': not a value that results can have"),
    (("run", "typed.toml"), "methods"),
    (("data", "--data-dir", "file"), "the data folder file is a file; name a folder"),
    (("cache", "--prune", "-5"), "--prune -5: a size"),
    (("cache", "--prune", "nan"), "--prune nan: a size"),
    (("cache", "--prune", "inf"), "--prune inf: a size"),
    (("cache", "--prune", "9" * 500), "a size"),
    (("plugin", "check", "os"), "none of its functions is a pseudobench.hookimpl"),
    (("plugin", "check", "no.such.module"), "no.such.module can't be imported: ModuleNotFoundError"),
    (("plugin", "check", LONG), "xxx"),
    (("plugin", "new", "x" * 300), "File name too long"),
    (("report", "-o", "zero"), "can't write zero: it is a link"),
    (("report", "-o", "pipe"), "can't write pipe: it is a pipe"),
    (("report", "-o", "/dev/full"), "can't write /dev/full: it is a device"),
    (("report", "-o", "nowhere"), "can't write nowhere: it is a link"),
    (("report", "-o", LONG), "File name too long"),
    (("figures", "-o", LONG), "File name too long"),
    (("table", LONG), "File name too long"),
    (("table", "a\0b"), "NUL character"),
    (("table", "--columns", LONG), "there is no column"),
    (("table", "--published-from", "zero"), "zero"),
    (("show", LONG), "there is no run"),
    (("list", LONG), "there is no kind or component"),
    (("run", "--no-such-option"), "No such option"),
    (("no-such-command",), "there is no command 'no-such-command'"),
]


@pytest.mark.parametrize(("words", "message"), ONE_LINE)
def test_one_line_and_nothing_is_written(here, tmp_path, words, message):
    def everything():
        return sorted(str(path) for path in tmp_path.rglob("*") if "cache" not in path.parts)

    before = everything()
    outcome = here(*words)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1), outcome.err
    assert outcome.err.startswith("error: ")
    assert message in outcome.err
    assert len(outcome.err) < 2500
    assert everything() == before


def test_pruning_to_less_than_nothing_removes_nothing(here, tmp_path):
    cache = Cache(tmp_path / "cache")
    cache.store("networks", "key", {}, {})
    here("cache", "--prune", "-5")
    assert len(cache.entries()) == 1


def test_seeds_may_be_many_and_large_but_not_without_end():
    assert parse_seeds(f"{2**64 - 1},") == (2**64 - 1,)
    assert len(parse_seeds("10000")) == 10_000
    for seeds in ("10001", range(10**12), 10**9, 10**40, [2**64], [1.0], [True], [-1], [0, 0]):
        with pytest.raises(BenchError, match="seeds"):
            parse_seeds(seeds)


def test_runs_are_counted_before_they_are_made(registry):
    asked = experiment_from({"methods": [f"m{place}" for place in range(100)], "seeds": 10_000})
    with pytest.raises(BenchError, match="there is no method"):
        asked.specs(registry)
    asked = experiment_from({"methods": ["pl"], "labels": list(range(10, 200, 10)), "seeds": 10_000})
    with pytest.raises(BenchError, match="190000 runs are more than one command can ask for"):
        asked.specs(registry)


def test_an_exception_that_nobody_expected_is_one_line(here, monkeypatch):
    def broken(*_, **__):
        raise KeyError("some\nkey\x1b")

    monkeypatch.setattr(boundary.cli, "main", broken)
    outcome = here("list")
    assert outcome.code == 70
    assert outcome.err.startswith("error: internal error: KeyError: 'some\\nkey\\x1b' (at ")
    assert outcome.err.endswith("; please report it (PSEUDOBENCH_DEBUG=1 shows more)\n")
    monkeypatch.setenv("PSEUDOBENCH_DEBUG", "1")
    with pytest.raises(KeyError):
        boundary._exit_code(["list"])


def test_a_file_that_ends_too_early_is_no_interrupt(here, registry, monkeypatch):
    def load(*_):
        raise EOFError("No data left in file")

    monkeypatch.setattr(registry.get("datasets", "digits"), "load", load)
    outcome = here("data", "digits")
    assert outcome.code == 2
    assert outcome.err.endswith("can't be loaded: EOFError: No data left in file\n")


def test_a_broken_record_in_the_way_of_a_run_is_named_and_kept(here, tmp_path):
    assert here("run", "--methods", "supervised", "--preset", "smoke", "--seeds", "1", "--results", "new").code == 0
    (path,) = (tmp_path / "new").glob("*.json")
    path.write_text("{")
    outcome = here("run", "--methods", "supervised", "--preset", "smoke", "--seeds", "1", "--results", "new")
    assert (outcome.code, path.read_text()) == (2, "{")
    assert outcome.err == f"error: {path.relative_to(tmp_path)} is not a valid run record (broken JSON); move it away\n"
