"""Documents whose tables and figures are made again from records."""

from __future__ import annotations

from pathlib import Path

import pytest
from report_pages import put

from committed import digits_records

DOCUMENT = """# Findings

```text
<!-- bench table shown, not run -->
```

<!-- bench table runs
    --columns accuracy,precision -->
old
<!-- end -->

Between.

<!-- bench compare supervised pl --results runs -->
<!-- end -->
<!-- bench figures runs --figures precision -o pictures -->
<!-- end -->
<!-- bench report runs -o page.html -->
<!-- end -->
The end.
"""


@pytest.fixture
def document(tmp_path):
    put(tmp_path / "runs", *digits_records("supervised", "pl", seeds=6))
    Path("docs").mkdir()
    path = Path("docs/README.md")
    path.write_text(DOCUMENT, encoding="utf-8")
    Path("docs/other.md").write_text("no block\n", encoding="utf-8")
    return path


def test_blocks_hold_what_the_commands_print(bench, document):
    assert bench("refresh", "docs").out.endswith("documents: 1, blocks: 4, changed: 6\n")
    text = document.read_text(encoding="utf-8")
    table = bench("table", "runs", "--columns", "accuracy,precision", "--format", "markdown").out
    compared = bench("compare", "supervised", "pl", "--results", "runs", "--format", "markdown").out
    drawn = list(Path("pictures").iterdir())
    assert f"accuracy,precision -->\n\n{table.strip()}\n\n<!-- end -->\n\nBetween.\n" in text
    assert f"\n\n{compared.strip()}\n\n<!-- end -->" in text
    assert drawn
    assert all(f"![{path.stem}](../pictures/{path.name})" in text for path in drawn)
    assert "\n\n[page.html](../page.html)\n\n<!-- end -->\nThe end.\n" in text
    assert text.startswith(DOCUMENT[: DOCUMENT.index("old")])
    described = text.replace(f"![{drawn[0].stem}]", "![What it shows]")
    document.write_text(described, encoding="utf-8")
    assert bench("refresh", "docs").code == 0
    assert document.read_text(encoding="utf-8") == described


def test_a_check_names_what_differs_and_writes_nothing(bench, document):
    bench("refresh", "docs")
    text = document.read_text(encoding="utf-8")
    assert (bench("refresh", "docs", "--check").code, bench("refresh", "docs", "--check").out) == (
        0,
        "documents: 1, blocks: 4, different: 0\n",
    )
    document.write_text(text.replace("| pl |", "| qq |", 1), encoding="utf-8")
    (picture,) = Path("pictures").glob("*precision*.svg")
    picture.write_bytes(b"<svg/>")
    Path("page.html").unlink()
    found = bench("refresh", "docs", "--check")
    assert found.code == 1
    assert found.out.splitlines() == [
        "docs/README.md: `bench table runs --columns accuracy,precision` prints other text",
        f"{picture} would be drawn differently",
        "page.html would be drawn differently",
        "documents: 1, blocks: 4, different: 3",
    ]
    assert "| qq |" in document.read_text(encoding="utf-8")
    assert picture.read_bytes() == b"<svg/>"
    assert not Path("page.html").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nothing\n", "no block begins with <!-- bench COMMAND -->"),
        ("<!-- bench table runs -->\n", "has no <!-- end -->"),
        ("<!-- bench table runs -->\n<!-- bench table runs -->\n<!-- end -->\n", "has no <!-- end -->"),
        ("<!-- bench run -->\n<!-- end -->\n", "`bench run` is no command of a document"),
        ("<!-- bench figures runs -->\n<!-- end -->\n", "says where it writes, with -o"),
        ('<!-- bench table "runs -->\n<!-- end -->\n', "can't be read: No closing quotation"),
        ("<!-- bench table nowhere -->\n<!-- end -->\n", "nowhere"),
    ],
)
def test_what_cannot_be_made_is_one_line_and_nothing_is_written(bench, document, text, said):
    document.write_text(text, encoding="utf-8")
    outcome = bench("refresh", "docs/README.md")
    assert outcome.code == 2
    assert said in outcome.err
    assert len(outcome.err.splitlines()) == 1
    assert document.read_text(encoding="utf-8") == text


def test_a_document_that_is_not_there(bench):
    assert "nowhere.md is neither a Markdown document nor a folder of them" in bench("refresh", "nowhere.md").err
