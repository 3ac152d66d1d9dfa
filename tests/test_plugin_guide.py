"""What plugins/README.md says is what happens."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from harness import make_runner
from pseudobench.cli.main import cli
from pseudobench.contracts import hookspecs
from pseudobench.experiments.resolving import resolve
from pseudobench.learning.networks import NetworkSpec, make_network
from pseudobench.registry.components import build_registry, installed
from pseudobench.registry.plugin_files import FILES
from pseudobench.registry.plugins import PluginInfo, load_plugins
from pseudobench.testing import contract

GUIDE = (Path(__file__).parents[1] / "plugins" / "README.md").read_text(encoding="utf-8")
RECIPES = re.findall(r"<!-- run: (.*?) -->\n<!-- hook: [^>]* -->\n```python\n(.*?)```", GUIDE, re.DOTALL)
EXAMPLES = re.findall(r"<!-- hook: ([^>]*) -->\n```python\n(.*?)```", GUIDE, re.DOTALL)
HOOKS = {name for name, value in vars(hookspecs).items() if name.startswith("bench_") and callable(value)}


#: What an example is tried with, and its code; the first example is the tutorial's, and the last six are recipes.
TRIALS = re.findall(
    r"`bench ([^`]*--plugin example\.py[^`]*)`\n\n(?:<!-- run: [^>]* -->\n)?<!-- hook: [^>]* -->\n```python\n(.*?)```",
    GUIDE,
    re.DOTALL,
)


@pytest.fixture
def _fresh(monkeypatch):
    """No plugin file is left in this process."""
    monkeypatch.setenv(FILES, "")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(cli, "commands", {})
    monkeypatch.setattr(cli, "_asked", False, raising=False)
    installed.cache_clear()
    yield
    installed.cache_clear()


def test_every_example_says_how_it_is_tried():
    assert [code for _, code in TRIALS] == [code for _, code in EXAMPLES[1:-6]]


@pytest.mark.parametrize(("line", "code"), TRIALS, ids=[line for line, _ in TRIALS])
@pytest.mark.usefixtures("_fresh")
def test_what_an_example_is_tried_with_works(bench, tmp_path, line, code):
    (tmp_path / "example.py").write_text(code)
    networks = re.search(r"<!-- module: my_networks -->\n```python\n(.*?)```", GUIDE, re.DOTALL)
    assert networks is not None
    (tmp_path / "my_networks.py").write_text(networks[1])
    quick = ("--preset", "smoke", "--seeds", "1", "--set", "recipe.threads=1")
    if line.startswith("table"):
        assert bench("run", "--methods", "supervised", *quick, "--in-process").code == 0
        installed.cache_clear()
    elif line.startswith("run"):
        line += " " + " ".join([*quick, *([] if "--executor" in line else ["--in-process"])])
    done = bench(*shlex.split(line))
    assert done.code == 0, done.err


@pytest.mark.parametrize("mark", ["session", "cell"])
@pytest.mark.usefixtures("_fresh")
def test_the_code_for_notebooks_works(tmp_path, monkeypatch, mark):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PSEUDOBENCH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "my-rule").mkdir()
    (tmp_path / "my-rule" / "pseudobench_my_rule.py").write_text(EXAMPLES[0][1])
    found = re.search(rf"<!-- {mark} -->\n```python\n(.*?)```", GUIDE, re.DOTALL)
    assert found is not None
    quick = found[1] if "smoke" in found[1] else re.sub(r"\)$", ', preset="smoke", seeds=1)', found[1].strip())
    module = ModuleType("cell_of_the_guide")
    monkeypatch.setitem(sys.modules, "cell_of_the_guide", module)
    exec(compile(quick, "a cell", "exec", dont_inherit=True), vars(module))
    assert set(module.table["status"]) == {"done"}


def test_every_hook_has_an_example():
    assert {hook for hooks, _ in EXAMPLES for hook in hooks.split()} == HOOKS


@pytest.mark.parametrize(("hooks", "code"), EXAMPLES, ids=[hooks for hooks, _ in EXAMPLES])
def test_examples_are_plugins_that_keep_the_contract(hooks, code):
    module = ModuleType("guide")
    sys.modules["guide"] = module  # dataclasses look there
    exec(compile(code, "plugins/README.md", "exec", dont_inherit=True), vars(module))
    plugins = load_plugins()
    plugins.add(module, PluginInfo("guide", "guide", "1"))
    registry = build_registry(plugins)
    assert plugins.infos["guide"].error is None
    assert set(plugins.infos["guide"].hooks) == set(hooks.split())
    for entry in [entry for entry in registry if entry.plugin == "guide" and entry.kind != "backbones"]:
        for check in contract(entry.component, entry.kind, registry=registry):
            check()


@pytest.mark.parametrize(("method", "code"), RECIPES, ids=[method for method, _ in RECIPES])
def test_recipes_are_short_and_run(method, code, tmp_path):
    assert code.count("\n") < 60
    module = ModuleType("guide")
    sys.modules["guide"] = module
    module.__file__ = str(tmp_path / "guide.py")
    exec(compile(code, "plugins/README.md", "exec", dont_inherit=True), vars(module))
    plugins = load_plugins()
    plugins.add(module, PluginInfo("guide", "guide", "1"))
    registry = build_registry(plugins)
    name, _, dataset = method.partition(" --dataset ")
    spec = resolve(registry, method=name, dataset=dataset or "digits", seed=0, preset="smoke")
    (record,) = make_runner(tmp_path, registry, plugins).run([spec])
    assert record["status"] == "done", record["error"]


def test_the_tutorials_commands_work(tmp_path):
    """Each as it stands there, with the rule of the guide pasted into the module that the first one wrote."""
    blocks = re.findall(r"```bash\n(.*?)```", GUIDE, re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("bench ")]
    assert len(lines) == 5
    for line in lines:
        if not line.startswith("bench plugin new"):
            (tmp_path / "my-rule" / "pseudobench_my_rule.py").write_text(EXAMPLES[0][1])
        quick = ["--preset", "smoke", "--seeds", "1"] if " run " in line else []
        command = [sys.executable, "-m", "pseudobench", *shlex.split(line)[1:], *quick]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, (line, done.stderr)
    ours = re.search(r"<!-- test -->\n```python\n(.*?)```", GUIDE, re.DOTALL)
    assert ours is not None
    (tmp_path / "my-rule" / "test_it.py").write_text(ours[1])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."],
        capture_output=True,
        text=True,
        cwd=tmp_path / "my-rule",
        env={"PYTHONPATH": str(tmp_path / "my-rule"), "PATH": ""},
    )
    assert done.returncode == 0, done.stdout


def test_the_guide_names_the_keywords_of_a_backbones_constructor(registry):
    from timm.models import register_model

    given = {}

    @register_model
    def guides_network(**keywords):
        given.update(keywords)
        return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 4))

    spec = NetworkSpec("guides_network", 4, (1, 8, 8), 0.3)
    make_network(registry, spec, seed=0, device=torch.device("cpu"))
    assert all(f"`{name}`" in GUIDE for name in given)
    assert {"num_classes": 4, "in_chans": 1, "drop_rate": 0.3}.items() <= given.items()


def test_every_recipe_says_how_it_is_run():
    for method, _ in RECIPES[1:]:
        assert f"`bench run --plugin recipe.py --methods {method}`" in GUIDE


def test_the_backbone_of_the_guide_works(registry, tmp_path, monkeypatch):
    code = re.search(r"<!-- module: my_networks -->\n```python\n(.*?)```", GUIDE, re.DOTALL)
    assert code is not None
    (tmp_path / "my_networks.py").write_text(code[1])
    monkeypatch.syspath_prepend(tmp_path)
    __import__("my_networks")
    spec = NetworkSpec("tiny_net", 5, (3, 8, 8), 0.3)
    made = make_network(registry, spec, seed=0, device=torch.device("cpu"))
    assert made(torch.zeros(2, 3, 8, 8)).shape == (2, 5)
