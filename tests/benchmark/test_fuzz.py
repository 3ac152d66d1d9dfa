"""Mutated records and bad command lines: no traceback, no endless command, no good record lost.

`python tests/fuzz --records 20000 --commands 5000` takes further seeds, and longer.
"""

from __future__ import annotations

import pytest

from fuzz import command_lines, records


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PSEUDOBENCH_RESULTS", raising=False)
    monkeypatch.setenv("PSEUDOBENCH_CACHE", str(tmp_path / "cache"))


def test_readers_survive_any_record():
    assert records.fuzz(1200) == []


def test_the_command_line_survives_any_words():
    assert command_lines.fuzz(400) == []
