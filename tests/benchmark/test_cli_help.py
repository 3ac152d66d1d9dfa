"""Help, lists and versions on the command line: complete, and without heavy imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from pseudobench.cli.main import COMMANDS
from pseudobench.registry.components import installed

ROOT = Path(__file__).parents[2]


def test_a_broken_plugin_is_warned_of_and_the_rest_works(tmp_path):
    (tmp_path / "explodes.py").write_text("1 / 0\n")
    info = tmp_path / "explodes-0.3.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: explodes\nVersion: 0.3\n")
    (info / "entry_points.txt").write_text("[pseudobench]\nexplodes = explodes\n")
    done = subprocess.run(
        [sys.executable, "-m", "pseudobench", "list", "methods"],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert done.returncode == 0
    expected = "warning: plugin 'explodes' (explodes 0.3) is not in use: ZeroDivisionError: division by zero\n"
    assert done.stderr == expected
    assert "ups-raps" in done.stdout


def test_lists_show_everything_with_parameters(bench):
    out = bench("list").out
    for entry in installed()[1]:
        assert entry.name in out
    shown = bench("list", "ups").out
    assert "tau_p" in shown
    assert "a number in [0, 1]" in shown
    assert "a positive has at least this probability" in shown
    assert "recipe" in bench("list", "settings").out
    assert "learning rate" in bench("list", "recipe").out
    assert json.loads(bench("list", "selectors", "--json").out)[0]["kind"] == "selectors"
    assert "did you mean 'methods'" in bench("list", "methodz").err


@pytest.mark.parametrize(("dataset", "samples"), [("cifar10", "images"), ("20newsgroups", "vectors")])
def test_a_dataset_is_listed_with_what_its_samples_are(bench, dataset, samples):
    assert f" test {samples}\n" in bench("list", dataset).out


def test_plugins_are_listed_with_their_state(bench):
    rows = json.loads(bench("plugins", "--json").out)
    assert {row["plugin"]: row["state"] for row in rows}["ups"] == "ok"
    assert bench("plugins", "--check").code == 0


def test_help_fits_a_terminal_of_80_columns(bench, monkeypatch):
    """Click breaks paragraphs, and leaves examples as they are."""
    monkeypatch.setenv("COLUMNS", "80")
    for name in COMMANDS:
        assert max(map(len, bench(name, "--help").out.splitlines())) <= 80, name


def test_every_command_has_help_with_examples(bench):
    for command in ("run", "table", "compare", "show", "list", "plugins"):
        assert "Example" in bench(command, "--help").out
    assert bench("--version").out.startswith("bench, version ")


@pytest.mark.parametrize(
    "arguments", [["--help"], ["list"], ["list", "raps"], ["plugins"], ["run", "--help"], ["compare", "--help"]]
)
def test_torch_is_not_imported_where_it_is_not_needed(arguments):
    code = (
        "import sys\nfrom pseudobench.cli.main import main\n"
        f"try:\n    main({arguments!r})\nexcept SystemExit as stop:\n    assert not stop.code\n"
        "heavy = {'torch', 'pandas', 'timm', 'scipy', 'sklearn'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_python_m_pseudobench_is_bench():
    done = subprocess.run(
        [sys.executable, "-m", "pseudobench", "--version"], capture_output=True, text=True, timeout=120
    )
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert done.stdout == f"bench, version {version}\n"
