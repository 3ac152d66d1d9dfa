"""Plugins that are not installed: files, and components of this process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import ClassVar

import pytest

import pseudobench
from pseudobench import BenchError, Method, Selection, param
from pseudobench.registry.components import with_plugins
from pseudobench.registry.own_components import as_plugin
from pseudobench.registry.plugin_files import FILES, import_plugin, take_files

RULE = '''
from dataclasses import dataclass
from typing import ClassVar
from pseudobench import Selection, hookimpl
from beside import SHARE


@dataclass(frozen=True)
class Rule:
    """A share of the pool."""
    name: ClassVar[str] = "beside-rule"
    needs_sets: ClassVar[bool] = False

    def select(self, estimate, labels, sets, context):
        positive = labels.target & (estimate.probs >= SHARE)
        return Selection(positive, positive & ~positive)


@hookimpl
def bench_selectors():
    return [Rule]
'''


@dataclass(frozen=True)
class Half:
    """The first half of the pool."""

    name: ClassVar[str] = "first-half"
    needs_sets: ClassVar[bool] = False
    share: float = param(0.5, "share", low=0, high=1)

    def select(self, estimate, labels, sets, context):
        positive = labels.target.clone()
        positive[round(self.share * len(positive)) :] = False
        return Selection(positive, positive & ~positive)


@pytest.fixture
def rule(tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "beside.py").write_text("SHARE = 0.5\n")
    file = tmp_path / "files" / "beside_rule.py"
    file.write_text(RULE)
    return file


def bench(folder, *arguments):
    environment = {**os.environ, "COLUMNS": "200", "PSEUDOBENCH_CACHE": str(folder / "cache")}
    environment.pop(FILES, None)
    command = [sys.executable, "-m", "pseudobench", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment)


@pytest.mark.parametrize("arguments", [("list", "selectors"), ("plugins",), ("list", "beside-rule", "--json")])
def test_every_command_takes_plugin_files(tmp_path, rule, arguments):
    for words in ((*arguments, "--plugin", str(rule)), ("--plugin=files/beside_rule.py", *arguments)):
        done = bench(tmp_path, *words)
        assert done.returncode == 0, done.stderr
        assert "beside-rule" in done.stdout


def test_an_experiment_file_names_its_plugins(tmp_path, rule):
    keys = 'plugins = ["beside_rule.py"]\nmethods = "beside-rule"\nseeds = 1\npreset = "smoke"\n'
    (tmp_path / "files" / "e.toml").write_text(f"{keys}[set]\nrecipe.threads = 1\n")
    done = bench(tmp_path, "run", "files/e.toml", "--json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)
    assert (row["method"], row["selector"], row["estimator"]) == ("beside-rule", "beside-rule", "softmax")
    status = bench(tmp_path, "status", "files/e.toml")
    assert status.stdout.splitlines()[-1] == "all done"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("import sys; sys.exit(0)", "SystemExit: 0"),
        ("x = 1", "it supplies nothing"),
        (
            RULE.replace('"beside-rule"', '"ups"').replace("from beside import SHARE", "SHARE = 1"),
            "the name 'ups' is taken",
        ),
    ],
)
def test_a_file_that_was_named_and_can_not_be_used_is_an_error(tmp_path, content, reason):
    (tmp_path / "bad.py").write_text(content)
    done = bench(tmp_path, "list", "methods", "--plugin", "bad.py")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert reason in done.stderr


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("files", "files is a folder; name the file in it, such as files/beside_rule.py"),
        ("rule.txt", "rule.txt is no plugin file: its name must end in .py"),
        ("gone.py", "there is no plugin file gone.py"),
    ],
)
def test_what_is_no_plugin_file_is_said(tmp_path, monkeypatch, rule, name, reason):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "files" / "beside.py").unlink()
    (tmp_path / "rule.txt").write_text(RULE)
    with pytest.raises(BenchError) as caught:
        take_files(["run", "--plugin", name])
    assert str(caught.value) == reason


def test_words_behind_two_dashes_are_left_alone():
    assert take_files(["show", "--", "--plugin", "x"]) == ["show", "--", "--plugin", "x"]
    with pytest.raises(BenchError, match="--plugin needs the file"):
        take_files(["run", "--plugin"])


def test_a_module_of_the_standard_library_comes_before_one_beside_a_file(tmp_path):
    (tmp_path / "json.py").write_text("raise RuntimeError('not this one')\n")
    (tmp_path / "uses_json.py").write_text("import json\nvalue = json.dumps([1])\n")
    assert import_plugin(str(tmp_path / "uses_json.py")).value == "[1]"


def test_classes_and_methods_of_a_notebook_run(tmp_path, monkeypatch):
    monkeypatch.setenv("PSEUDOBENCH_CACHE", str(tmp_path / "cache"))
    method = Method("mine", "mine", estimator="softmax", labeler="hard", selector="first-half")
    common = {"preset": "smoke", "seeds": 1, "results": tmp_path, "settings": {"recipe.threads": 1}}
    runs = pseudobench.run("mine,first-half", plugins=[Half, method], **common)
    assert set(runs["status"]) == {"done"}
    assert set(runs["method"]) == {"mine", "first-half"}
    with pytest.raises(BenchError, match="go with neither jobs nor executor"):
        pseudobench.run("mine", plugins=[Half], jobs=2, **common)


def test_the_order_of_a_composition_does_not_matter():
    _, registry = with_plugins(as_plugin([Half]))
    names = {registry.method(text).name for text in ("hard+softmax+ups", "ups+softmax+hard", "softmax+ups+hard")}
    assert names == {"softmax+hard+ups"}
    assert registry.method("first-half").stages == {"estimator": "softmax", "labeler": "hard", "selector": "first-half"}
    with pytest.raises(BenchError, match="method 'mc-dropout' needs a selector; add one of"):
        registry.method("mc-dropout")
