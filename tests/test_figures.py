"""The committed figures are shown by a document; that they are what the records say is a test of the documents."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "results" / "figures"


@pytest.mark.parametrize("path", sorted(FIGURES.iterdir()), ids=lambda path: path.name)
def test_committed_figures_are_shown_small_and_fetch_nothing(path):
    documents = "".join(each.read_text() for each in (ROOT / "README.md", *(ROOT / "results").glob("*.md")))
    assert f"figures/{path.name})" in documents
    assert path.stat().st_size < 100_000
    assert "://" not in path.read_text().replace("http://www.w3.org", "").replace("https://www.textualize.io", "")
