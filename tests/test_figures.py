"""The committed figures are what the committed records say, and the documents show all of them.

Compared are the words and what each mark says of its values, not where they stand: that depends on the machine's fonts.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "results" / "figures"


def words(path):
    """Every text and every mark's description, in their order."""
    found = []
    for element in ElementTree.parse(path).iter():
        found += [text.strip() for text in (element.get("aria-label"), element.text) if text and text.strip()]
    return [text for text in found if not text.startswith(".terminal")]  # its style


def test_committed_figures_are_what_the_records_say(bench, tmp_path):
    """Made again by the commands that are written down for them."""
    (tmp_path / "results").mkdir()
    for folder in (ROOT / "results").iterdir():
        if folder.name != "figures":
            (tmp_path / "results" / folder.name).symlink_to(folder)
    text = (ROOT / "baselines" / "README.md").read_text(encoding="utf-8").replace("\\\n", " ")
    for line in re.findall(r"^bench (figures .*)$", text, re.MULTILINE):
        assert bench(*shlex.split(line)).code == 0, line
    again = tmp_path / "results" / "figures"
    assert sorted(path.name for path in again.iterdir()) == sorted(path.name for path in FIGURES.iterdir())
    for path in again.iterdir():
        assert words(FIGURES / path.name) == words(path), path.name
    marks = words(FIGURES / "cifar10-head-differences.svg")
    assert sum("difference in accuracy, points: " in text for text in marks) == 7  # a mark for every method but one


@pytest.mark.parametrize("path", sorted(FIGURES.iterdir()), ids=lambda path: path.name)
def test_committed_figures_are_shown_small_and_fetch_nothing(path):
    documents = (ROOT / "README.md").read_text() + (ROOT / "results" / "README.md").read_text()
    assert f"figures/{path.name})" in documents
    assert path.stat().st_size < 100_000
    assert "://" not in path.read_text().replace("http://www.w3.org", "").replace("https://www.textualize.io", "")
