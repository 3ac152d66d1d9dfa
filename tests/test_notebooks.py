"""The notebooks are executed from top to bottom, and hold no output that was made elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "benchmark" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_notebook_works_and_holds_no_output(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PSEUDOBENCH_CACHE", str(tmp_path / "cache"))
    cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)
    names = {"__name__": path.stem}
    for number, cell in enumerate(cells, 1):
        exec(compile("".join(cell["source"]), f"{path.name}, cell {number}", "exec", dont_inherit=True), names)
    said = capsys.readouterr().out
    assert "supervised" in said


def test_there_are_two():
    assert [path.stem for path in NOTEBOOKS] == ["own-embeddings", "own-rule"]
