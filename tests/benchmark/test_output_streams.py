"""Output that is full, closed or of another encoding, interrupts, and characters that can't be drawn."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from xml.etree import ElementTree

import pytest
from made_up import records, save


def bench_process(*words, **options):
    return subprocess.Popen([sys.executable, "-m", "pseudobench", *words], stderr=subprocess.PIPE, text=True, **options)


def test_output_that_can_not_be_written(here):
    with open("/dev/full", "w") as full:
        process = bench_process("list", stdout=full)
        assert process.communicate()[1] == "error: the output: No space left on device\n"
        assert process.returncode == 2


@pytest.mark.parametrize("words", [("list",), ("list", "--json"), ("table",), ("table", "--format", "csv")])
def test_a_reader_that_has_seen_enough_is_no_error(here, words):
    reading, writing = os.pipe()
    os.close(reading)
    process = bench_process(*words, stdout=writing)
    os.close(writing)
    assert process.communicate()[1] == ""
    assert process.returncode == 141


def test_closed_streams_are_no_error(here):
    for closed in (">&-", "2>&-", ">&- 2>&-"):
        done = subprocess.run(f"{sys.executable} -m pseudobench table {closed}", shell=True, capture_output=True)
        assert (done.returncode, done.stderr) == (0, b"")


def test_an_encoding_without_some_characters_is_no_error(here):
    process = bench_process("table", stdout=subprocess.PIPE, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert "\\xb1" in out or "62.5" in out


def test_an_early_interrupt_is_one_line(here, tmp_path):
    (tmp_path / "slow.py").write_text("open('started', 'w')\nimport time\ntime.sleep(60)\n")
    process = bench_process("run", "--plugin", "slow.py")
    while not (tmp_path / "started").exists():
        time.sleep(0.05)
    time.sleep(0.5)  # in its sleep by now: an interrupt while the file is being closed would be lost
    process.send_signal(signal.SIGINT)
    assert process.communicate()[1].strip().splitlines() == [
        "error: stopped; finished runs are kept, and the same command goes on with the rest"
    ]
    assert process.returncode == 130


def test_control_characters_are_drawn_as_escapes(here, tmp_path):
    """The library that draws would end the process."""
    hostile = records("pl", [0.5, 0.75])
    for record in hostile:
        record["spec"]["method"] = "a\x1b[31m\0\u202e\ufffe"
    save(tmp_path / "odd", hostile)
    assert here("figures", "odd", "--figures", "accuracy,table", "-o", "out").code == 0
    for path in (tmp_path / "out").iterdir():
        assert r"a\x1b[31m\x00\u202e\ufffe" in "".join(ElementTree.parse(path).getroot().itertext())
    assert here("report", "odd").code == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert r"a\x1b[31m\x00\u202e\ufffe" in page
    assert not set("\x1b\0\u202e\ufffe") & set(page)
