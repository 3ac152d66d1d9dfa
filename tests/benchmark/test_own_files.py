"""Tables that users bring: read as they are meant, or refused in one line."""

from __future__ import annotations

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pseudobench import BenchError
from pseudobench.files.own_files import fingerprint, held_for_testing, read_table

CELLS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=8)


@given(rows=st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=8))
def test_a_table_is_read_as_pythons_writer_wrote_it(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("tables") / "t.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["a", "b", "c"], *rows])
    assert read_table(path) == (["a", "b", "c"], rows)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_byte_order_marks_are_understood(tmp_path, encoding):
    (tmp_path / "t.csv").write_bytes("a,b\r\nä,1\r\n\r\n".encode(encoding))
    assert read_table(tmp_path / "t.csv") == (["a", "b"], [["ä", "1"]])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\nä,1\n".encode("latin-1"), "line 2: not UTF-8; save it as UTF-8"),
        (b"a;b\n1;2\n", "must be separated by commas"),
        (b"a\tb\n1\t2\n", "must be separated by commas"),
        (b'a,b\n1,2\n3,"4\n5,6\n7,8\n', "line 3: a quote that is never closed"),
        (b'a,b\n1,"2"3\n', "line 2: "),
        (b"a,b\n1," + b"x" * 200_000 + b"\n", "line 2: field larger than field limit"),
        (b"a,b\n1,2\n3,\x004\n", "line 3: a NUL"),
        (b"a,b\n1,2,3\n", "line 2: 3 fields, and the first line names 2 columns"),
        (b"a,b\n1\n", "line 2: 1 fields"),
        (b"a,b,a\n1,2,3\n", "two columns are called 'a'"),
        (b"", "is empty"),
        (b"\n\n", "is empty"),
    ],
)
def test_everything_else_is_one_line(tmp_path, content, message):
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(BenchError, match=message) as caught:
        read_table(tmp_path / "t.csv")
    assert "t.csv" in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=200))
def test_a_fifth_of_each_class_is_for_testing(labels):
    test = held_for_testing(labels)
    for label in set(labels):
        count = labels.count(label)
        assert sum(held for held, own in zip(test, labels, strict=True) if own == label) == max(count // 5, 1)


def test_which_samples_are_for_testing_never_changes():
    places = [place for place, held in enumerate(held_for_testing(["a", "b"] * 20)) if held]
    assert places == [7, 10, 12, 13, 17, 19, 32, 38]


def test_a_fingerprint_is_of_names_and_content_alone(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        for name in ("b", "a"):
            (tmp_path / folder / name).write_text(name)
    first, second = (
        fingerprint(tmp_path / folder, [tmp_path / folder / name for name in order])
        for folder, order in (("one", "ab"), ("two", "ba"))
    )
    assert first == second
    (tmp_path / "one" / "a").write_text("b")
    (tmp_path / "one" / "b").write_text("a")
    assert fingerprint(tmp_path / "one", [tmp_path / "one" / name for name in "ab"]) != first
