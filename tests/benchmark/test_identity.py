"""What determines a result is part of its name: code of plugins, the user's own data, weights, precision."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest
import timm
import torch
from safetensors.torch import save_file

from committed import committed
from harness import make_runner
from pseudobench import BenchError, RunSpec
from pseudobench.base import source_code
from pseudobench.base.seeds import Stream
from pseudobench.experiments.parsing import experiment_from
from pseudobench.experiments.resolving import resolve
from pseudobench.learning.identity import learning_identity
from pseudobench.learning.networks import check_backbone
from pseudobench.registry.components import installed
from pseudobench.storage.records import Store

RULE = '''"""A rule."""
from dataclasses import dataclass
from typing import ClassVar
from pseudobench import Selection, hookimpl
from threshold import LEAST


@dataclass(frozen=True)
class Rule:
    """Confident labels."""
    name: ClassVar[str] = "my-rule"
    needs_sets: ClassVar[bool] = False

    def select(self, estimate, labels, sets, context):
        positive = labels.target & (estimate.probs >= LEAST)
        return Selection(positive, positive & ~positive)


@hookimpl
def bench_selectors():
    return [Rule]
'''
ASK = ("run", "--preset", "smoke", "--methods", "softmax+hard+my-rule", "--set", "recipe.threads=1")


@pytest.fixture
def plugin(tmp_path):
    (tmp_path / "threshold.py").write_text("LEAST = 0.5\n")
    file = tmp_path / "my_rule.py"
    file.write_text(RULE)
    return file


def bench(folder, *arguments):
    """In a process of its own: a process never sees its own source change."""
    done = subprocess.run(
        [sys.executable, "-m", "pseudobench", *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env={"PATH": "", "PYTHONPATH": f"{folder}:{':'.join(sys.path)}", "PSEUDOBENCH_CACHE": str(folder / "cache")},
    )
    assert done.returncode == 0, done.stderr
    return done


def run(folder, plugin, seeds="1"):
    return bench(folder, *ASK, "--plugin", str(plugin), "--seeds", seeds).stderr


def test_an_edited_plugin_is_run_again_and_the_command_says_why(tmp_path, plugin):
    assert "1 run, 0 of them finished before" in run(tmp_path, plugin)
    assert "1 run, 1 of them finished before" in run(tmp_path, plugin)
    plugin.write_text(RULE.replace(">= LEAST", "< LEAST"))
    again = run(tmp_path, plugin)
    assert "1 run, 0 of them finished before" in again
    assert "1 run is run again: changed since the finished record: the code of 'my-rule'" in again
    assert len(list((tmp_path / "runs").glob("*.json"))) == 2


def test_a_module_that_a_plugin_imports_counts_and_comments_do_not(tmp_path, plugin):
    run(tmp_path, plugin)
    plugin.write_text(RULE.replace('"""Confident labels."""', '"""Sure labels."""  # a comment\n'))
    assert "1 of them finished before" in run(tmp_path, plugin)
    (tmp_path / "threshold.py").write_text("LEAST = 0.25\n")
    assert "the code of 'my-rule'" in run(tmp_path, plugin)


def test_runs_of_two_versions_of_a_plugin_are_never_averaged(tmp_path, plugin):
    run(tmp_path, plugin, "2")
    plugin.write_text(RULE.replace(">= LEAST", "< LEAST"))
    run(tmp_path, plugin, "2,")
    table = bench(tmp_path, "table", "--format", "json").stdout
    assert sorted(row["runs"] for row in json.loads(table)) == [1, 2]


def test_a_plugin_file_does_not_replace_a_module_of_the_standard_library(tmp_path):
    for name in ("statistics", "selectors", "json"):
        file = tmp_path / "files" / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(RULE.replace("from threshold import LEAST", "LEAST = 0.5").replace("my-rule", f"my-{name}"))
    files = [f"--plugin={each}" for each in (tmp_path / "files").glob("*.py")]
    asked = ("run", "--preset", "smoke", "--methods", "softmax+hard+my-json", "--seeds", "1")
    done = bench(tmp_path, *asked, *files)
    assert "FAILED" not in done.stderr


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("x = 1\n", "x = 1  # one\n", True),
        ("x = 1\n", '"""Said."""\n\nx = 1\n', True),
        ("def f():\n    return 1\n", 'def f():\n    """Say."""\n    return 1\n', True),
        ("x = 'ä' + '# no comment'\n", "x = 'ä' + '# no comment'   # ü\n", True),
        ("x = 1\n", "x = 2\n", False),
        ("x = 'a # b'\n", "x = 'a # c'\n", False),
        ("x = '''a\nb'''\n", "x = '''a\nc'''\n", False),
    ],
)
def test_words_about_code_do_not_count(tmp_path, before, after, same):
    path = tmp_path / "module.py"
    found = []
    for text in (before, after):
        path.write_text(text, encoding="utf-8")
        found.append(source_code._code(path))
    assert (found[0] == found[1]) is same


def test_a_package_is_hashed_with_what_it_imports(tmp_path, monkeypatch):
    package = tmp_path / "stranger_package"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text("def f():\n    from .inner.deep import x\n")
    (package / "inner" / "__init__.py").write_text("")
    (package / "inner" / "deep.py").write_text("from stranger_package import other, presets\nimport json\n")
    (package / "other.py").write_text("")
    (package / "unused.py").write_text("")
    (package / "presets.py").write_text("")  # values that a run took of it are among its settings
    monkeypatch.syspath_prepend(str(tmp_path))
    names = sorted(path.relative_to(package).as_posix() for path in source_code._closure("stranger_package"))
    assert names == ["__init__.py", "inner/__init__.py", "inner/deep.py", "other.py"]


def test_records_keep_their_names(registry):
    """The id of a committed record is that of its spec, whatever was added to specs since; that of its plugins, too."""
    for record in committed("first"):
        assert RunSpec.from_json(record["spec"]).run_id == record["run_id"]
    spec = resolve(registry, method="pl", dataset="digits", seed=0)
    assert spec.sources.keys() == {"pseudobench", "softmax", "hard", "confidence", "digits", "digits_cnn"}
    assert replace(spec, sources={**spec.sources, "hard": "another"}).run_id != spec.run_id


def test_weights_of_an_arm_are_loaded(tmp_path, bench, registry):
    """`[arms.set] network.weights` was recorded with its hash, and random weights were used."""
    check_backbone(registry, "digits_cnn")  # registers it
    files = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        network = timm.create_model("digits_cnn", num_classes=10, in_chans=1)
        files.append(tmp_path / f"weights{seed}.safetensors")
        save_file(network.state_dict(), files[-1])
    arms = "".join(f'[[arms]]\n[arms.set]\nnetwork.weights = "{file}"\n' for file in files)
    head = 'methods = "supervised"\npreset = "smoke"\nseeds = 1\n[set]\nrecipe.threads = 1\nnetwork.tune = "head"\n'
    (tmp_path / "arms.toml").write_text(head + arms)
    assert bench("run", str(tmp_path / "arms.toml")).code == 0
    first, second = Store(tmp_path / "runs").records()
    assert first["network"]["weights"] != second["network"]["weights"]
    assert first["rounds"][0]["test"]["nll"] != second["rounds"][0]["test"]["nll"]


def test_weights_that_are_named_and_not_there_are_an_error(registry, tmp_path):
    spec = resolve(
        registry,
        method="supervised",
        dataset="digits",
        seed=0,
        preset="smoke",
        settings={"network.weights": "lost.pth"},
    )
    with pytest.raises(BenchError, match=r"starts from the weights 'lost\.pth', and no such file was named"):
        make_runner(tmp_path, registry, installed()[0]).run([spec])


def test_weights_of_all_arms_are_found(tmp_path):
    file = tmp_path / "w.safetensors"
    file.write_bytes(b"x")
    experiment = experiment_from({"arms": [{"set": {"network.weights": str(file)}}, {"weights": str(file)}, {}]})
    assert list(experiment.weights_files().values()) == [file]


def test_keys_of_features_and_networks_hold_code_versions_device_and_threads(registry):
    torch.set_num_threads(1)
    one = learning_identity(registry, "digits_cnn", torch.device("cpu"))
    torch.set_num_threads(2)
    two = learning_identity(registry, "digits_cnn", torch.device("cpu"))
    assert one["device"] != two["device"]
    assert one["versions"]["torch"] is not None
    assert len(one["code"]) == 2  # ours, and the plugin's


def test_precision_is_a_setting_and_changes_what_is_computed(registry, tmp_path):
    def spec(**settings):
        return resolve(registry, method="supervised", dataset="digits", seed=0, settings=settings)

    assert "precision" not in spec().settings["recipe"]  # at its default it is no part of the name
    assert spec(**{"recipe.precision": "bfloat16"}).run_id != spec().run_id
    quick = {"recipe.epochs": 1, "recipe.steps": 5, "recipe.threads": 1}
    asked = [spec(**quick, **{"recipe.precision": name}) for name in ("float32", "bfloat16")]
    losses = [each["rounds"][0]["test"]["nll"] for each in make_runner(tmp_path, registry, installed()[0]).run(asked)]
    assert losses[0] != losses[1]
    assert losses[0] == pytest.approx(losses[1], rel=0.2)


def test_streams_that_take_turns_do_not_disturb_each_other():
    cpu = torch.device("cpu")

    def draw(stream):
        with stream:
            return torch.rand(2)

    alone = Stream(3, cpu)
    expected = [draw(alone) for _ in range(3)]
    torch.manual_seed(0)
    outside = torch.rand(4)
    torch.manual_seed(0)
    one, other = Stream(3, cpu), Stream(4, cpu)
    found, drawn = [], []
    for _ in range(3):
        found.append(draw(one))
        draw(other)
        drawn.append(torch.rand(1))
    assert all(map(torch.equal, found, expected))
    assert torch.equal(torch.cat(drawn), outside[:3])


def test_threads_follow_the_cores_that_the_process_may_use():
    code = """
import os, torch
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
from pseudobench.execution.environment import describe_environment, set_up
set_up(torch.device("cpu"), None)
print(torch.get_num_threads(), describe_environment(torch.device("cpu"))["cores"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "1"]
