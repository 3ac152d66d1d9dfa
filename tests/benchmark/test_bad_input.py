"""Bad input: one line that says what is wrong, exit code 2, and nothing written, fetched or waited for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Optional
from xml.etree import ElementTree

import pytest
from made_up import records, save

from pseudobench import BenchError, param
from pseudobench.cli import main as boundary
from pseudobench.contracts.parameters import parameters, suggest
from pseudobench.contracts.settings import GROUPS
from pseudobench.experiments.parsing import experiment_from, parse_seeds
from pseudobench.storage.cache import Cache

if TYPE_CHECKING:
    from somewhere import Unknown  # type: ignore[import-not-found]

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
    (("no-such-command",), "No such command 'no-such-command'"),
]


@pytest.fixture
def here(bench, tmp_path):
    """A folder with records and with files that are not what they should be."""
    save(tmp_path / "runs", records("pl", [0.5, 0.75]))
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "nowhere").symlink_to("gone")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "deep.toml").write_text(f"x = {'[' * 5000}{']' * 5000}")
    (tmp_path / "odd.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "digits.toml").write_text(f"seeds = {'9' * 5000}")
    (tmp_path / "nul.toml").write_text('results = "a\\u0000b"')
    (tmp_path / "typed.toml").write_text("methods = 2020-01-01")
    return bench


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


@pytest.mark.parametrize("group", GROUPS)
def test_whole_numbers_of_settings_have_an_upper_bound(group):
    assert all(each.high is not None for each in parameters(GROUPS[group]) if each.kind == "int")


def bench_process(*words, **options):
    return subprocess.Popen([sys.executable, "-m", "pseudobench", *words], stderr=subprocess.PIPE, text=True, **options)


def test_output_that_can_not_be_written(here):
    with open("/dev/full", "w") as full:
        process = bench_process("list", stdout=full)
        assert process.communicate()[1] == "error: the output: No space left on device\n"
        assert process.returncode == 2


@pytest.mark.parametrize("words", [("list",), ("list", "--json"), ("table",), ("table", "--format", "csv")])
def test_a_reader_that_has_seen_enough_is_no_error(here, words):
    reading, writing = os.pipe()
    os.close(reading)
    process = bench_process(*words, stdout=writing)
    os.close(writing)
    assert process.communicate()[1] == ""
    assert process.returncode == 141


def test_closed_streams_are_no_error(here):
    for closed in (">&-", "2>&-", ">&- 2>&-"):
        done = subprocess.run(f"{sys.executable} -m pseudobench table {closed}", shell=True, capture_output=True)
        assert (done.returncode, done.stderr) == (0, b"")


def test_an_encoding_without_some_characters_is_no_error(here):
    process = bench_process("table", stdout=subprocess.PIPE, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert "\\xb1" in out or "62.5" in out


def test_an_early_interrupt_is_one_line(here, tmp_path):
    (tmp_path / "slow.py").write_text("open('started', 'w')\nimport time\ntime.sleep(60)\n")
    process = bench_process("run", "--plugin", "slow.py")
    while not (tmp_path / "started").exists():
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.communicate()[1].strip().splitlines() == [
        "error: stopped; finished runs are kept, and the same command goes on with the rest"
    ]
    assert process.returncode == 130


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


@dataclass(frozen=True)
class Typed:
    """Annotations as people write them."""

    name: ClassVar[Unknown] = "typed"
    plain: int = param(1, "a number")
    either: "str | None" = param(None, "quoted")  # noqa: RUF009, UP037
    old: Optional[float] = param(None, "as before Python 3.10")  # noqa: UP045


@dataclass(frozen=True)
class Listed:
    """An annotation with a type inside another."""

    name: ClassVar[str] = "listed"
    values: list[int] = param(None, "a list")  # noqa: RUF009


def test_annotations_are_types_and_not_words():
    assert [(each.kind, each.optional) for each in parameters(Typed)] == [
        ("int", False),
        ("str", True),
        ("float", True),
    ]
    with pytest.raises(BenchError, match=r"Listed.values: a parameter is declared as"):
        parameters(Listed)


def test_suggestions_are_near_and_lists_short():
    names = [f"name{place:02}" for place in range(80)]
    assert suggest("nam07", names) == "; did you mean 'name07'?"
    assert suggest("wine_mlp", ["mixnet_m", "resnet18"]) == "; known: mixnet_m, resnet18"
    listed = suggest("zebra", names)
    assert listed.endswith("name10, name11 and 68 more: see `bench list`")
    assert suggest("x", []) == "; there is none"


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


def test_control_characters_are_drawn_as_escapes(here, tmp_path):
    """The library that draws would end the process."""
    hostile = records("pl", [0.5, 0.75])
    for record in hostile:
        record["spec"]["method"] = "a\x1b[31m\0\u202e\ufffe"
    save(tmp_path / "odd", hostile)
    assert here("figures", "odd", "--figures", "accuracy,table", "-o", "out").code == 0
    for path in (tmp_path / "out").iterdir():
        assert r"a\x1b[31m\x00\u202e\ufffe" in "".join(ElementTree.parse(path).getroot().itertext())
    assert here("report", "odd").code == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert r"a\x1b[31m\x00\u202e\ufffe" in page
    assert not set("\x1b\0\u202e\ufffe") & set(page)
