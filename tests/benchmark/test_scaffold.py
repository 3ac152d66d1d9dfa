"""A plugin from nothing: written, checked, run."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pseudobench.registry.scaffold import KINDS, create
from pseudobench.testing import contract


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_plugin_keeps_the_contract_and_is_well_formed(tmp_path, kind):
    from pseudobench.registry.plugins import import_plugin

    files = create(f"new-{kind}", kind, tmp_path / "it")
    assert {path.name for path in files} >= {"pyproject.toml", "README.md", f"new_{kind.replace('-', '_')}.py"}
    module = import_plugin(str(files[1]))
    (component,) = getattr(module, f"bench_{kind.replace('-', '_')}s")()
    for check in contract(component):
        check()
    for tool in (
        ["check", "--isolated", "--line-length=120", "--select=E,F,W,B,UP"],
        ["format", "--check", "--isolated", "--line-length=120"],
    ):
        command = [sys.executable, "-m", "ruff", *tool, str(tmp_path / "it")]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_single_file_is_a_plugin(bench, tmp_path, monkeypatch):
    assert bench("plugin", "new", "my-rule", "--kind", "selector").code == 0
    asked = ["run", "--preset", "smoke", "--seeds", "1", "--methods", "supervised,softmax+hard+my-rule"]
    command = [sys.executable, "-m", "pseudobench", *asked, "--plugin", "my-rule/my_rule.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "softmax+hard+my-rule" in done.stdout
    jobs = subprocess.run([*command, "--jobs", "2", "--force"], capture_output=True, text=True, cwd=tmp_path)
    assert jobs.returncode == 0, jobs.stderr


def test_check_from_the_command_line(bench, tmp_path):
    bench("plugin", "new", "my-check", "--kind", "estimator")
    done = bench("plugin", "check", "my-check/my_check.py")
    assert done.code == 0, done.err
    assert "repeats by the seed" in done.out
    (tmp_path / "bad_rule.py").write_text(
        (tmp_path / "my-check/my_check.py").read_text().replace("probs.mean(0)", "probs[0, :5]")
    )
    done = bench("plugin", "check", "bad_rule.py")
    assert done.code == 1
    assert "broken" in done.out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ("new", "My Rule"),
            "error: 'My Rule': a plugin's name is lower-case words joined by hyphens, such as my-rule",
        ),
        (("new", "rule", "--kind", "rule"), "error: --kind rule: one of dataset, scaling, "),
        (("check", "nowhere.py"), "error: there is no plugin file nowhere.py"),
        (("check", "no_such_module"), "error: "),
    ],
)
def test_mistakes_are_one_line(bench, arguments, line):
    outcome = bench("plugin", *arguments)
    assert outcome.code == 2
    assert outcome.err.startswith(line)
    assert outcome.err.count("\n") == 1


def test_nothing_is_overwritten(bench, tmp_path):
    bench("plugin", "new", "twice")
    before = (tmp_path / "twice/twice.py").read_text()
    assert "twice exists already" in bench("plugin", "new", "twice").err
    assert (tmp_path / "twice/twice.py").read_text() == before
