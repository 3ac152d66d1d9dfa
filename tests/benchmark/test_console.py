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
from pseudobench.output.console import _parts

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
    assert using == {"console.py", "progress.py"}


def test_columns_that_do_not_fit_go_into_further_tables_with_the_names_again():
    header = ["method", "accuracy", "coverage", "runs"]
    rows = [["ups-raps", "81.26 ± 2.07", "93.4 ± 5.2", "10"]]
    assert _parts(header, rows, 1, 200) == [[0, 1, 2, 3]]
    assert _parts(header, rows, 1, 30) == [[0, 1], [0, 2], [0, 3]]
    assert _parts(header, rows, 1, 45) == [[0, 1, 2], [0, 3]]


@given(st.lists(st.text(min_size=1, max_size=20), min_size=2, max_size=9), st.integers(10, 120))
def test_every_column_is_shown_once(header, width):
    parts = _parts(header, [], 1, width)
    assert [place for part in parts for place in part[1:]] == list(range(1, len(header)))
    assert all(part[0] == 0 and len(part) > 1 for part in parts)
