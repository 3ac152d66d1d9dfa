"""What the documents say is what the code does."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from types import ModuleType

import click
import pytest

from harness import make_runner
from pseudobench import hookimpl
from pseudobench.cli.main import cli
from pseudobench.contracts.run_spec import RESULTS, RunSpec
from pseudobench.errors import BenchError
from pseudobench.experiments.parsing import SHORT, experiment_from, parse_settings, read_file
from pseudobench.experiments.resolving import resolve
from pseudobench.learning.networks import check_backbone
from pseudobench.registry.components import build_registry
from pseudobench.registry.plugins import PluginInfo, load_plugins
from pseudobench.storage.records import Store

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language, text=README):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def manual(name):
    return (ROOT / "benchmark" / name).read_text(encoding="utf-8")


def commands():
    found = [block for text in (README, manual("RUNNING.md"), manual("READING.md")) for block in blocks("bash", text)]
    lines = "\n".join(found).replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("bench ")]


@pytest.mark.parametrize("arguments", commands(), ids=" ".join)
def test_commands_are_understood(arguments, monkeypatch, registry):
    """Parsed, every option known, and what they ask for can be; nothing is trained."""
    monkeypatch.chdir(ROOT)
    name, *rest = arguments
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    asked = command.make_context(name, rest).params
    if name == "run":
        flags = {key: asked[key] for key in ("methods", "dataset", "labels", "seeds", "backbone", *SHORT)}
        layers = [read_file(asked["file"])] if asked["file"] else []
        assert experiment_from(*layers, {**flags, "set": parse_settings(asked["settings"])}).specs(registry)


def test_the_sentence_shown_is_what_the_records_say(bench):
    (said,) = blocks("text", manual("READING.md"))
    shown = bench("compare", "ups", "supervised", "--results", str(ROOT / "results" / "first")).out
    assert " ".join(said.split()) in shown


def test_the_notebook_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (example,) = blocks("python", manual("READING.md"))
    names = {}
    exec(compile(example, "READING.md", "exec", dont_inherit=True), names)
    assert "supervised" in capsys.readouterr().out
    assert len(names["everything"]) == 4


def test_the_plugin_example_is_a_plugin(tmp_path):

    (example,) = (block for block in blocks("python") if "hookimpl" in block)
    module = ModuleType("readme")
    exec(compile(example, "README.md", "exec", dont_inherit=True), vars(module))
    assert module.hookimpl is hookimpl
    plugins = load_plugins()
    plugins.add(module, PluginInfo("readme", "readme", "1"))
    registry = build_registry(plugins)
    assert not plugins.broken
    spec = resolve(registry, method="top-share", dataset="digits", seed=0, preset="smoke")
    (record,) = make_runner(tmp_path, registry, plugins).run([spec])
    assert record["rounds"][1]["selection"]["positive_share"] == pytest.approx(0.5, abs=0.01)


def test_the_plugin_example_keeps_the_contract(bench, tmp_path):
    (example,) = (block for block in blocks("python") if "hookimpl" in block)
    (tmp_path / "top_share.py").write_text(example, encoding="utf-8")
    outcome = bench("plugin", "check", "./top_share.py")
    assert outcome.code == 0, outcome.out


def test_method_documents_name_functions_that_exist():
    text = (ROOT / "benchmark" / "METHOD.md").read_text(encoding="utf-8")
    import importlib

    for dotted in set(re.findall(r"`(pseudobench[\w.]*\.\w+)`", text)):
        module, _, name = dotted.rpartition(".")
        assert hasattr(importlib.import_module(module), name), dotted


def test_links_lead_somewhere():
    for document in [ROOT / "README.md", *ROOT.glob("*/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_tables_and_figures_are_what_the_records_say(bench, monkeypatch):
    """Every committed table, comparison, figure and page is made again by the command that stands above it."""
    monkeypatch.chdir(ROOT)
    outcome = bench("refresh", "results", "README.md", "--check")
    assert (outcome.code, outcome.out.splitlines()[:-1]) == (0, [])
    for path in (ROOT / "results").glob("*.md"):
        assert "<!-- bench " in path.read_text(encoding="utf-8"), f"{path.name} is made by no command"


BASELINES = sorted((ROOT / "baselines").glob("*.toml"))


@pytest.mark.parametrize("path", BASELINES, ids=lambda path: path.stem)
def test_every_experiment_file_asks_for_runs_that_can_be_and_is_listed(registry, path):
    try:
        specs = experiment_from(read_file(path)).specs(registry)
        assert specs
    except BenchError as error:
        if "which is absent: pip install" not in str(error):  # data in a package that is not installed here
            raise
        specs = []
    assert len({spec.run_id for spec in specs}) == len(specs)
    for backbone in {spec.backbone for spec in specs}:
        check_backbone(registry, backbone)
    listed = (ROOT / "baselines" / "README.md").read_text(encoding="utf-8")
    stem, _, last = path.stem.rpartition("-")
    assert f"`{path.name}`" in listed or (f"`{stem}-" in listed and f"`-{last}`" in listed)


def test_no_run_is_asked_for_by_two_experiments(registry):
    """Its record would lie in two folders, and tables that read both would have to leave one out."""
    asked = {}
    for path in BASELINES:
        try:
            found = {spec.run_id: path.name for spec in experiment_from(read_file(path)).specs(registry)}
        except BenchError:  # data in a package that is not installed here
            continue
        assert not asked.keys() & found.keys(), (path.name, {asked[run_id] for run_id in asked.keys() & found.keys()})
        asked |= found


FOLDERS = [path.name for path in sorted((ROOT / "results").iterdir()) if path.is_dir()]


@pytest.mark.parametrize("folder", FOLDERS)
def test_records_were_made_by_committed_code_from_committed_experiments(registry, folder):
    """Experiment files ask for these runs, with these settings (as far as known then), of clean source.

    They may ask for more: records are kept as they come, and tables say how many there are. Records of an earlier
    version of the harness's numbers answer to the experiment files of then, and the results say that they do.
    """
    files = [read_file(path) for path in BASELINES]
    try:
        specs = [
            spec
            for file in files
            if file["results"] == f"results/{folder}"
            for spec in experiment_from(file).specs(registry)
        ]
    except BenchError as error:
        if "which is absent: pip install" in str(error):
            pytest.skip(str(error))
        raise
    asked = {identity(spec): spec for spec in specs}
    same = {spec.run_id: spec for spec in asked.values()}
    for record in Store(ROOT / "results" / folder).records():
        assert record["status"] == "done"
        assert record["environment"]["source"]["changed"] is False
        made = RunSpec.from_json(record["spec"])
        if made.sources.get("pseudobench") != str(RESULTS):
            assert "earlier version of the code" in (ROOT / "results" / "README.md").read_text(encoding="utf-8")
            continue
        spec = same.get(record["run_id"]) or asked[identity(made)]
        assert made.stages == spec.stages
        for group, values in made.settings.items():
            assert values.items() <= spec.settings[group].items()


def identity(spec):
    method = sorted(spec.method.split("+"))  # the order of a composition makes no other method
    settings = json.dumps(spec.settings, sort_keys=True)  # what was asked for, or the preset's own: the same run
    return spec.dataset, spec.labels, spec.backbone, str(method), spec.seed, spec.policy, settings
