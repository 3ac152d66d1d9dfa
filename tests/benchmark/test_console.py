"""Tables in the terminal."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import pseudobench
from pseudobench.base.text import visible
from pseudobench.output import console
from pseudobench.output.table_layout import Cells, layout, parts

HOSTILE = "[red]x[/red] :smile: \x1b[31m\x07\x9b\x7f\r\n\u202e\u2066\ud800 \\"
SHOWN = "[red]x[/red] :smile: \\x1b[31m\\x07\\x9b\\x7f\\r\\n\\u202e\\u2066\\ud800 \\"


@given(st.text(st.characters(categories=None)))
def test_nothing_invisible_is_left(text):
    shown = visible(text)
    assert not any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in shown)
    assert shown.encode().decode() == shown
    if text.isprintable():
        assert shown == text


def test_text_of_strangers_is_text(capsys):
    console.say(HOSTILE)
    console.note(HOSTILE)
    console.show_table([HOSTILE], [[HOSTILE]], title=HOSTILE)
    console.warn(HOSTILE)
    console.fail(f"{HOSTILE}{'long ' * 10_000}")
    captured = capsys.readouterr()
    assert captured.out.count(SHOWN) == 4
    assert captured.err.count("[red]x[/red] :smile: \\x1b[31m\\x07\\x9b\\x7f") == 3
    assert not set("\x1b\x07\x9b\x7f\r\u202e\u2066\ud800") & set(captured.out + captured.err)
    assert len(captured.err.splitlines()) == 3
    assert max(map(len, captured.err.splitlines())) < 2500


def test_rich_is_used_where_the_terminal_is_written_to_and_nowhere_else():
    files = Path(pseudobench.__file__).parent.rglob("*.py")
    using = {path.name for path in files if re.search(r"^\s*(from|import) rich\b", path.read_text(), re.MULTILINE)}
    assert using == {"console.py", "progress.py", "table_layout.py"}


def test_columns_that_do_not_fit_go_into_further_tables_with_the_names_again():
    needs = [8, 12, 10, 4]
    assert parts(needs, 1, 200) == [[0, 1, 2, 3]]
    assert parts(needs, 1, 30) == [[0, 1], [0, 2], [0, 3]]
    assert parts(needs, 1, 45) == [[0, 1, 2], [0, 3]]


@given(st.lists(st.integers(1, 20), min_size=2, max_size=9), st.integers(10, 120))
def test_every_column_is_shown_once(needs, width):
    made = parts(needs, 1, width)
    assert [column for part in made for column in part[1:]] == list(range(1, len(needs)))
    assert all(part[0] == 0 and len(part) > 1 for part in made)


def test_what_rows_share_goes_above_them_where_there_is_no_room_beside():
    cells = Cells(
        ("dataset", "backbone", "method", "accuracy"),
        tuple((data, "tf_efficientnet_lite0", name, "81.26 ± 2.07") for data in ("digits", "cifar10") for name in "ab"),
        3,
        3,
    )
    assert [piece.above for piece in layout(cells, 60)] == [""]
    below = layout(cells, 40)
    assert [piece.above for piece in below] == [
        "dataset digits, backbone tf_efficientnet_lite0",
        "dataset cifar10, backbone tf_efficientnet_lite0",
    ]
    assert [piece.cells.header for piece in below] == [("method", "accuracy")] * 2
    assert all(piece.widths is None for piece in layout(cells, 15))  # lists


@given(st.lists(st.lists(st.text("ab +", max_size=30), min_size=3, max_size=3), min_size=1), st.integers(1, 90))
def test_no_text_is_lost_whatever_the_width(rows, width):
    cells = Cells(("one", "two", "three"), tuple(map(tuple, rows)), 1, 1)
    letters = sorted("".join(text for row in rows for text in row[1:]))
    found = [text for piece in layout(cells, width) for row in piece.cells.rows for text in row[1:]]
    assert sorted("".join(found)) == letters
