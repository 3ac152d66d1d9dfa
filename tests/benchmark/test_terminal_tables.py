"""Tables in a real pseudo-terminal of several widths, and in a pipe: every number and every name is there."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from rich.cells import cell_len

ROOT = Path(__file__).parents[2]
ABLATIONS = ["cifar10-head-ablation", "digits-ablation"]
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def command(*arguments):
    return [sys.executable, "-m", "pseudobench", *arguments]


def in_terminal(width, *arguments, code=0, **environment):
    """What a command writes to a pseudo-terminal of so many columns, with its escape sequences."""
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    kept = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES", "NO_COLOR")}
    process = subprocess.Popen(
        command(*arguments), stdout=other, stderr=other, cwd=ROOT, env={**kept, "TERM": "xterm-256color", **environment}
    )
    os.close(other)
    said = b""
    while True:
        try:
            some = os.read(main, 65536)
        except OSError:  # the other end is closed
            break
        if not some:
            break
        said += some
    os.close(main)
    assert process.wait() == code
    return said.decode().replace("\r\n", "\n")


def numbers_of(folder):
    """By the columns of the Markdown table, which is never cut, the texts of all cells."""
    done = subprocess.run(
        command("table", f"results/{folder}", "--format", "markdown"), cwd=ROOT, capture_output=True, text=True
    )
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith("| ")][2:]
    assert len(rows) > 3
    return [row[0] for row in rows], [cell.strip("*") for row in rows for cell in row[1:] if cell.strip("*") != "–"]


@pytest.mark.parametrize("folder", ABLATIONS)
@pytest.mark.parametrize("width", [40, 80, 100, 140])
def test_the_ablation_table_holds_every_number_at_every_width(folder, width):
    shown = ANSI.sub("", in_terminal(width, "table", f"results/{folder}"))
    names, numbers = numbers_of(folder)
    assert "…" not in shown
    assert max(map(cell_len, shown.splitlines())) <= width
    for number in set(numbers):
        held = re.findall(rf"(?<![\d.]){re.escape(number)}(?![\d.])", shown)
        assert len(held) >= numbers.count(number), number
    letters = re.sub(r"[\s│]", "", re.sub(r"│[^│]*±[^\n]*", "", shown))
    for name in names:  # long ones may go on in the next line
        assert re.sub(r"[\s│]", "", name) in letters, name


def test_nothing_is_cut_when_piped():
    for arguments in (["table", "results/cifar10-head-ablation"], ["list", "methods"], ["plugins"], ["data"]):
        done = subprocess.run(
            command(*arguments), cwd=ROOT, capture_output=True, text=True, env={**os.environ, "COLUMNS": "80"}
        )
        assert done.returncode == 0
        assert "…" not in done.stdout
        lines = done.stdout.splitlines()
        assert any(len(line) > 80 for line in lines)
    assert not ANSI.search(done.stdout)


def test_names_are_whole_in_tables_of_words():
    plugins = json.loads(subprocess.run(command("plugins", "--json"), capture_output=True, text=True).stdout)
    shown = ANSI.sub("", in_terminal(80, "plugins"))
    assert "…" not in shown
    assert max(map(cell_len, shown.splitlines())) <= 80
    for plugin in plugins:
        for name in (plugin["plugin"], *plugin["components"]):
            assert re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", shown), name


LINES = {
    "show": (0, "show", "digits-40-ups-raps-s0", "--results", "results/first"),
    "list": (0, "list", "ups-raps"),
    "error": (2, "run", "--methods", "set-size+hard+ups"),
}


@pytest.mark.parametrize("case", LINES)
def test_lines_are_broken_between_words_and_in_a_pipe_nowhere(case):
    """Also errors. What goes on below an indented line is indented as well."""
    code, *arguments = LINES[case]
    done = subprocess.run(command(*arguments), cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == code
    whole = [line for line in (done.stdout + done.stderr).splitlines() if line[0] not in "┏┃┡│└"]
    assert max(map(len, whole)) > 80
    shown = ANSI.sub("", in_terminal(80, *arguments, code=code)).splitlines()
    lines = [line for line in shown if line[0] not in "┏┃┡│└"]
    assert max(map(len, lines)) <= 80
    assert " ".join(" ".join(lines).split()) == " ".join(" ".join(whole).split())
    assert (lines[-1][:2] == "  ") == (whole[-1][:2] == "  ")


def test_colour_means_something_and_can_be_switched_off():
    shown = in_terminal(140, "table", "results/digits-ablation")
    assert re.search(r"\x1b\[1;32m *\* \d", shown)  # the best tier, bold and green
    plain = in_terminal(140, "table", "results/digits-ablation", NO_COLOR="1")
    assert not re.search(r"\x1b\[[\d;]*3\dm", plain)
    assert ANSI.sub("", plain) == ANSI.sub("", shown)
