"""A plugin from nothing: written, checked, run."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys

import pytest

from pseudobench.registry.components import build_registry
from pseudobench.registry.plugins import PluginInfo, load_plugins
from pseudobench.registry.scaffold import HOOKS, KINDS, create
from pseudobench.testing import contract


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_plugin_keeps_the_contract_and_is_well_formed(tmp_path, kind, monkeypatch):
    folder = tmp_path / f"new-{kind}"
    files = create(f"new-{kind}", kind, folder)
    name = f"pseudobench_new_{kind.replace('-', '_')}"
    assert {path.name for path in files} >= {"pyproject.toml", "README.md", f"{name}.py"}
    monkeypatch.syspath_prepend(tmp_path)  # beside the folder, the module is still found
    monkeypatch.syspath_prepend(folder)
    module = importlib.import_module(name)
    plugins = load_plugins()
    plugins.add(module, PluginInfo("new", "new", "1"))
    registry = build_registry(plugins)
    assert plugins.infos["new"].error is None
    assert HOOKS[kind] in plugins.infos["new"].hooks
    for entry in [entry for entry in registry if entry.plugin == "new"]:
        for check in contract(entry.component, entry.kind, registry=registry):
            check()
    for tool in (
        ["check", "--isolated", "--line-length=120", "--select=E,F,W,B,UP"],
        ["format", "--check", "--isolated", "--line-length=120"],
    ):
        command = [sys.executable, "-m", "ruff", *tool, str(folder)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("kind", ["backbone", "command", "listener", "method", "selector"])
def test_the_tests_of_a_new_plugin_pass(tmp_path, kind):
    create("fresh", kind, tmp_path / "fresh")
    path = os.pathsep.join([str(tmp_path / "fresh"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "fresh"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, done.stdout


def test_a_folder_never_hides_its_module(bench):
    done = bench("plugin", "new", "wine", "--folder", "pseudobench_wine")
    assert done.code == 2
    assert "pseudobench_wine would mean the folder" in done.err


def test_a_single_file_is_a_plugin(bench, tmp_path, monkeypatch):
    assert bench("plugin", "new", "my-rule", "--kind", "selector").code == 0
    asked = ["run", "--preset", "smoke", "--seeds", "1", "--methods", "supervised,softmax+hard+my-rule"]
    command = [sys.executable, "-m", "pseudobench", *asked, "--plugin", "my-rule/pseudobench_my_rule.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "softmax+hard+my-rule" in done.stdout
    jobs = subprocess.run([*command, "--jobs", "2", "--force"], capture_output=True, text=True, cwd=tmp_path)
    assert jobs.returncode == 0, jobs.stderr


def test_check_from_the_command_line(bench, tmp_path):
    bench("plugin", "new", "my-check", "--kind", "estimator")
    done = bench("plugin", "check", "my-check/pseudobench_my_check.py")
    assert done.code == 0, done.err
    assert "repeats by the seed" in done.out
    (tmp_path / "bad_rule.py").write_text(
        (tmp_path / "my-check/pseudobench_my_check.py").read_text().replace("probs.mean(0)", "probs[0, :5]")
    )
    done = bench("plugin", "check", "bad_rule.py")
    assert done.code == 1
    rows = [line for line in done.out.splitlines() if "broken" in line and "my-check" in line]
    assert 0 < len(rows) < 6  # each problem once, and the checks that it breaks
    assert all("bad_rule.py:" in row for row in rows)


def test_a_problem_is_said_once_with_its_line(bench, tmp_path):
    bench("plugin", "new", "my-rule")
    text = (tmp_path / "my-rule/pseudobench_my_rule.py").read_text()
    wrong = text.replace("confidence = estimate.probs.amax(1)", "confidence = estimate.probability.amax(1)")
    (tmp_path / "bad_rule.py").write_text(wrong)
    line = 1 + wrong[: wrong.index("estimate.probability")].count("\n")
    done = bench("plugin", "check", "bad_rule.py")
    assert done.code == 1
    said = " ".join(done.out.replace("│", " ").split())
    assert said.count("has no attribute 'probability'") == 1
    assert f"(bad_rule.py:{line})" in said
    assert "also: works on an empty pool, " in said


def test_a_problem_that_differs_in_numbers_alone_is_said_once(bench, tmp_path):
    bench("plugin", "new", "my-rule")
    text = (tmp_path / "my-rule/pseudobench_my_rule.py").read_text()
    (tmp_path / "bad_rule.py").write_text(text.replace("return Selection(", "return Selection(labels.target[:, :1], "))
    done = bench("plugin", "check", "bad_rule.py")
    assert done.code == 1
    assert len([line for line in done.out.splitlines() if "broken" in line and "my-rule" in line]) == 1


def test_methods_and_columns_are_checked(bench, tmp_path):
    (tmp_path / "odd.py").write_text(
        "from pseudobench import Column, Method, hookimpl\n\n\n"
        "@hookimpl\ndef bench_methods():\n"
        "    return [Method('odd', 'x', estimator='softmax', labeler='nobody', selector='confidence')]\n\n\n"
        "@hookimpl\ndef bench_columns():\n    return [Column('text', 'x', lambda record: record['status'])]\n"
    )
    done = bench("plugin", "check", "odd.py")
    assert done.code == 1
    assert "there is no labeler 'nobody'" in done.out
    assert "it reads str, and should read a number or None (odd.py:11)" in done.out


def test_a_module_without_hooks_supplies_nothing(bench, tmp_path):
    (tmp_path / "empty.py").write_text("x = 1\n")
    done = bench("plugin", "check", "empty.py")
    assert done.code == 2
    assert "it supplies nothing" in done.err


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ("new", "My Rule"),
            "error: 'My Rule': a plugin's name is lower-case words joined by hyphens, such as my-rule",
        ),
        (("new", "rule", "--kind", "rule"), "error: --kind rule: one of method, dataset, backbone, scaling, "),
        (("check", "nowhere.py"), "error: there is no plugin file nowhere.py"),
        (("check", "no_such_module"), "error: there is no plugin and no module 'no_such_module'; a file ends in .py"),
        (("check", "mutable.py"), "error: mutable.py can't be imported: ValueError: mutable default <class 'list'>"),
        (
            ("check", "syntax.py"),
            "error: syntax.py can't be imported: SyntaxError: '[' was never closed (syntax.py, line",
        ),
    ],
)
def test_mistakes_are_one_line(bench, tmp_path, arguments, line):
    (tmp_path / "mutable.py").write_text(
        "from dataclasses import dataclass\n\n\n@dataclass\nclass X:\n    x: list = []\n"
    )
    (tmp_path / "syntax.py").write_text("x = [1\n")
    outcome = bench("plugin", *arguments)
    assert outcome.code == 2
    assert outcome.err.startswith(line)
    assert outcome.err.count("\n") == 1
    assert "frozen" not in outcome.err
    assert "dataclasses.py" not in outcome.err


def test_nothing_is_overwritten(bench, tmp_path):
    bench("plugin", "new", "twice")
    before = (tmp_path / "twice/pseudobench_twice.py").read_text()
    assert "twice exists already" in bench("plugin", "new", "twice").err
    assert (tmp_path / "twice/pseudobench_twice.py").read_text() == before


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("ups", "plugin 'ups' (pseudobench"),
        ("mc-dropout", "supplies it in estimators"),
        ("vision", "plugin 'vision' (pseudobench"),
        ("status", "bench has a command of that name"),
    ],
)
def test_a_name_that_is_taken_is_refused(bench, tmp_path, name, owner):
    done = bench("plugin", "new", name, "--kind", "command")
    assert done.code == 2
    assert done.err.startswith(f"error: the name {name!r} is taken: ")
    assert owner in done.err
    assert done.err.count("\n") == 1
    assert not (tmp_path / name).exists()


def test_an_installed_plugin_is_checked_by_its_name_whatever_lies_there(bench, tmp_path):
    (tmp_path / "pl").mkdir()
    done = bench("plugin", "check", "pl")
    assert done.code == 0, done.err
    assert "pl: " in done.out
    assert "can be run with the preset cpu" in done.out


def test_a_folder_with_one_module_is_checked_by_its_name(bench, tmp_path):
    bench("plugin", "new", "in-folder")
    done = bench("plugin", "check", "in-folder")
    assert done.code == 0, done.err
    assert "repeats by the seed" in done.out
    (tmp_path / "empty").mkdir()
    done = bench("plugin", "check", "empty")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "empty is a folder; name the module in it, such as empty/pseudobench_empty.py" in done.err


def test_a_folder_with_a_module_beside_its_plugin_is_checked_by_its_name(bench, tmp_path):
    """A backbone's network is in a module of its own, which is no plugin."""
    bench("plugin", "new", "my-net", "--kind", "backbone", "--folder", "elsewhere")
    done = bench("plugin", "check", "elsewhere")
    assert done.code == 0, done.err
    assert "makes a network" in done.out
    (tmp_path / "elsewhere" / "pseudobench_other.py").write_text("")
    assert "elsewhere is a folder; name the module in it" in bench("plugin", "check", "elsewhere").err


COMMAND = """
import click
from pseudobench import hookimpl


@click.command("{name}")
def hello():
    {help}


@hookimpl
def bench_commands(cli):
    cli.add_command({command})


@hookimpl
def bench_run_started(spec):
    ...
"""


def write_command(folder, name="hello", help='"""Say hello."""', command="hello"):
    (folder / "greets.py").write_text(COMMAND.format(name=name, help=help, command=command))


def test_commands_and_listeners_are_checked(bench, tmp_path):
    write_command(tmp_path)
    done = bench("plugin", "check", "greets.py")
    assert done.code == 0, done.err
    assert "greets.py: 2 checks, 0 broken" in done.out
    said = " ".join(done.out.replace("│", " ").split())
    assert "commands can be added to bench ok hello" in said
    assert "run_started takes what it is given ok not called here" in said


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"command": "helo"}, "NameError: name 'helo' is not defined (greets.py:13)"),
        ({"command": "'hello'"}, "'hello' is no command of click, but a str"),
        ({"name": "run"}, "bench has a command 'run' already"),
        ({"help": "pass"}, "the command 'hello' has no help: give its function a docstring"),
    ],
)
def test_what_is_wrong_with_a_command_is_said(bench, tmp_path, change, reason):
    write_command(tmp_path, **change)
    done = bench("plugin", "check", "greets.py")
    assert done.code == 1
    assert reason in " ".join(done.out.replace("│", " ").split())


@pytest.mark.parametrize("change", [{"command": "helo"}, {"name": "run"}])
def test_a_file_whose_command_can_not_be_added_is_an_error(tmp_path, change):
    write_command(tmp_path, **change)
    command = [sys.executable, "-m", "pseudobench", "--plugin", "greets.py", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: plugin 'greets' (a file greets.py) can't be used: bench_commands: ")
    assert done.stderr.count("\n") == 1
