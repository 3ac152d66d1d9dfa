"""Plugin files in one Python session: each call takes them as they are then, and a refused one leaves no trace."""

from __future__ import annotations

import importlib
import os
import sys

import pytest

import pseudobench
from pseudobench import BenchError
from pseudobench.base.source_code import code_of_class
from pseudobench.contracts.executing import RunnerConfig
from pseudobench.execution.workers import WorkerSetup
from pseudobench.registry.components import as_of_now
from pseudobench.registry.plugin_files import FILES, naming, plugin_files

RULE = '''
from dataclasses import dataclass
from typing import ClassVar
from pseudobench import Selection, hookimpl
from {beside} import SHARE


@dataclass(frozen=True)
class Rule:
    """A share of the pool."""
    name: ClassVar[str] = "{name}"
    needs_sets: ClassVar[bool] = False
    share: ClassVar[float] = 1.0 * SHARE

    def select(self, estimate, labels, sets, context):
        import {beside}  # when it is called, as modules with torch are

        assert {beside}.SHARE == SHARE
        positive = labels.target.clone()
        positive[round(self.share * len(positive)) :] = False
        return Selection(positive, positive & ~positive)


@hookimpl
def bench_selectors():
    return [Rule]
'''


@pytest.fixture(autouse=True)
def _session(tmp_path, monkeypatch):
    """An empty folder, and nothing left behind in this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PSEUDOBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(FILES, "")
    monkeypatch.setattr(sys, "path", list(sys.path))


def write(name="edited-rule", beside="edited_beside", share=0.25):
    """A plugin file in the current folder, and the module beside it that it imports."""
    file = f"{name.replace('-', '_')}.py"
    with open(file, "w") as stream:
        stream.write(RULE.format(name=name, beside=beside))
    with open(f"{beside}.py", "w") as stream:
        stream.write(f"SHARE = {share}\n")
    return file


def rule(*files, name="edited-rule"):
    with naming(files):
        return as_of_now()[1].get("selectors", name)


def run(*arguments, **more):
    common = {"preset": "smoke", "seeds": 1, "results": "runs", "settings": {"recipe.threads": 1}}
    return pseudobench.run(*arguments, **common, **more)


def edit(file, old, new):
    with open(file) as stream:
        text = stream.read()
    with open(file, "w") as stream:
        stream.write(text.replace(old, new))


def test_an_edited_file_and_an_edited_module_beside_it_are_what_runs():
    file = write("edited-run", "edited_run_beside")
    first = run("edited-run", plugins=[file])
    edit("edited_run_beside.py", "0.25", "0.5")
    second = run("edited-run", plugins=[file])
    edit(file, "1.0 *", "1.5 *")
    third = run("edited-run", plugins=[file])
    assert [round(float(each["selected"].iloc[0]), 2) for each in (first, second, third)] == [0.25, 0.5, 0.75]
    assert len({each["run_id"].iloc[0] for each in (first, second, third)}) == 3
    again = run("edited-run", plugins=[file])
    assert again["run_id"].tolist() == third["run_id"].tolist()


def test_the_identity_follows_an_edit():
    file = write()
    first = code_of_class(rule(file))
    edit("edited_beside.py", "0.25", "0.5")
    second = code_of_class(rule(file))
    edit("edited_beside.py", "SHARE = 0.5", "from edited_third import SHARE")
    with open("edited_third.py", "w") as stream:
        stream.write("SHARE = 0.75\n")
    assert rule(file).share == 0.75
    third = code_of_class(rule(file))
    edit("edited_third.py", "0.75", "1.0")
    assert rule(file).share == 1.0
    assert len({first, second, third, code_of_class(rule(file))}) == 4


def test_a_file_that_is_as_it_was_is_not_read_again():
    file = write()
    assert rule(file) is rule(file)


def test_files_that_share_a_module_share_it_after_an_edit_too():
    files = write("one-rule", "shared_beside"), write("two-rule", "shared_beside")
    assert {rule(*files, name=name).share for name in ("one-rule", "two-rule")} == {0.25}
    edit("shared_beside.py", "0.25", "0.5")
    assert {rule(*files, name=name).share for name in ("one-rule", "two-rule")} == {0.5}
    assert len([name for name in sys.modules if name.endswith("shared_beside")]) == 1


def test_modules_of_one_name_beside_files_of_two_folders_are_kept_apart():
    """In one call after the other; in one call they can't be, and it is refused."""
    for folder, share in (("a", 0.25), ("b", 0.5)):
        os.mkdir(folder)
        os.rename(write(f"in-{folder}", "same_name", share), f"{folder}/rule.py")
        os.rename("same_name.py", f"{folder}/same_name.py")
    shares = [rule(f"{folder}/rule.py", name=f"in-{folder}").share for folder in "aba"]
    assert shares == [0.25, 0.5, 0.25]
    with pytest.raises(BenchError, match=r"import both .*a/same_name.py and .*b/same_name.py as 'same_name'; rename"):
        rule("a/rule.py", "b/rule.py")


def test_a_module_that_this_session_has_imported_before_is_read_as_it_is_now():
    file = write(beside="known_beside")
    sys.path.insert(0, os.getcwd())
    known = importlib.import_module("known_beside")
    edit("known_beside.py", "0.25", "0.5")
    assert rule(file).share == 0.5
    assert known.SHARE == 0.25


def test_a_class_of_a_module_that_was_edited_and_reloaded_has_another_identity():
    write("reloaded-rule", "reloaded_beside")
    sys.path.insert(0, os.getcwd())
    module = importlib.import_module("reloaded_rule")
    as_of_now(module)
    first = code_of_class(module.Rule)
    edit("reloaded_rule.py", "1.0 *", "0.5 *")
    module = importlib.reload(module)
    as_of_now(module)
    assert code_of_class(module.Rule) != first


def test_edits_reach_the_files_that_a_variable_names(monkeypatch):
    file = write("variable-rule", "variable_beside")
    monkeypatch.setenv(FILES, os.path.abspath(file))
    assert as_of_now()[1].get("selectors", "variable-rule").share == 0.25
    edit("variable_beside.py", "0.25", "0.5")
    assert as_of_now()[1].get("selectors", "variable-rule").share == 0.5


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("1 / 0", "division by zero"),
        ("def", "SyntaxError"),
        ("x = 1", "it supplies nothing"),
        (None, "there is no plugin file"),
        (RULE.format(name="ups", beside="edited_beside"), "the name 'ups' is taken"),
    ],
)
def test_a_refused_file_leaves_no_trace(content, reason):
    good = write()
    if content is not None:
        with open("refused.py", "w") as stream:
            stream.write(content)
    before = list(sys.path)
    with pytest.raises(BenchError, match=reason):
        run("supervised", plugins=[good, "refused.py"])
    assert plugin_files() == []
    assert sys.path == before
    assert run("supervised")["status"].tolist() == ["done"]


def test_a_file_that_was_accepted_is_that_calls_alone():
    """As a class is: another call may find it broken, or gone."""
    file = write()
    assert rule(file).share == 0.25
    os.remove(file)
    assert plugin_files() == []
    with pytest.raises(BenchError, match="there is no selector 'edited-rule'"):
        as_of_now()[1].get("selectors", "edited-rule")


def test_a_module_that_a_backbone_names_is_read_anew():
    with open("edited_backbone.py", "w") as stream:
        stream.write(
            "from pseudobench import Backbone, hookimpl\n\n\n@hookimpl\ndef bench_backbones():\n"
            "    return [Backbone('edited_net', 'edited_networks', 'x')]\n"
        )
    found = []
    for width in (1, 2):
        with open("edited_networks.py", "w") as stream:
            stream.write(f"WIDTH = {width}\n")
        with naming(["edited_backbone.py"]):
            (entry,) = as_of_now()[1].find("edited_net")
            found.append(importlib.import_module(entry.component.module).WIDTH)
    assert found == [1, 2]


def test_other_processes_run_the_edited_file_too():
    file = write("jobs-rule", "jobs_beside")
    first = run("jobs-rule", plugins=[file], jobs=1)
    edit("jobs_beside.py", "0.25", "0.5")
    second = run("jobs-rule", plugins=[file], jobs=1)
    assert [round(float(each["selected"].iloc[0]), 2) for each in (first, second)] == [0.25, 0.5]


def test_an_edited_file_does_not_run_in_the_name_of_what_it_was(tmp_path):
    """A process that starts later, for a run that was ordered before the edit, refuses."""
    file = write("ordered-rule", "ordered_beside")
    with naming([file]):
        setup = WorkerSetup.of(RunnerConfig(tmp_path, tmp_path))
        assert setup.runner(print).registry.find("ordered-rule")
        edit("ordered_beside.py", "0.25", "0.5")
        with pytest.raises(BenchError, match="a plugin file has changed since the runs were ordered"):
            setup.runner(print)
        assert WorkerSetup.of(setup.config) != setup


def test_a_package_beside_a_file_is_part_of_it():
    os.mkdir("edited_package")
    inside = "edited_package/inside.py"
    file = write(name="package-rule", beside="edited_package")  # which writes a module of that name, too
    os.unlink("edited_package.py")

    def edit(share):
        for path, text in {
            "edited_package/__init__.py": "from .inside import SHARE",
            inside: f"SHARE = {share}",
        }.items():
            with open(path, "w") as stream:
                stream.write(f"{text}\n")
        return rule(file, name="package-rule")

    first = edit(0.25)
    before = code_of_class(first)
    second = edit(0.5)
    assert (first.share, second.share) == (0.25, 0.5)
    assert code_of_class(second) != before
    assert code_of_class(edit(0.25)) == before
