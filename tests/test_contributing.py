"""The newcomers' map in CONTRIBUTING.md agrees with the code."""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
MAP = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def section(title):
    return MAP.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_the_table_of_packages_is_the_list_that_lint_imports_checks():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    rows = re.findall(r"^\| (`.*?`) \|", section("The packages"), re.MULTILINE)
    assert [re.findall(r"`(\w+)`", row) for row in rows] == [
        layer.split(" | ") for layer in layers if layer != "__main__"
    ]


def test_the_walk_of_one_run_names_things_that_exist():
    names = re.findall(r"`(pseudobench[\w.]*):(\w+)`", section("One run, from the command to the table"))
    assert len(names) >= 10
    for module, name in names:
        assert hasattr(importlib.import_module(module), name), f"{module}:{name}"


def test_files_to_change_exist():
    named = re.findall(r"`([a-z_]+/[\w./]*)`", section("Where to add"))
    assert named
    for path in named:
        assert (ROOT / path).exists() or (ROOT / "benchmark" / "pseudobench" / path).exists(), path
