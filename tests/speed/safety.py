"""What safety costs: a process of its own for runs, and records that are checked when they are read."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
from measuring import Row, seconds

from pseudobench.storage.packs import packs_of
from pseudobench.storage.record_schema import decode

RUNS, RECORDS = 40, 10_000
_COMMITTED = Path(__file__).parents[2] / "results" / "first"


def rows(_data_dir: Path) -> Iterator[Row]:
    """Isolation, then validation."""
    here, apart = (_command(options) for options in (["--in-process"], []))
    note = f"{here:.1f} and {apart:.1f} s, {1000 * (apart - here) / RUNS:+.0f} ms a run"
    yield Row(
        f"{RUNS} runs of one step in a process of their own against `--in-process`", f"{apart / here:.2f}", "", note
    )
    contents = [line for pack in packs_of(_COMMITTED) for line in pack.records.values()]
    many = [contents[index % len(contents)] for index in range(RECORDS)]
    plain = seconds(lambda: [msgspec.json.decode(content) for content in many])
    checked = seconds(lambda: [decode(content) for content in many])
    note = f"{plain:.1f} and {checked:.1f} s"
    yield Row(
        f"{RECORDS:,} records read and checked against read alone", f"{checked / plain:.2f}", "a few seconds", note
    )


def _command(options: list[str]) -> float:
    """Seconds of a whole ``bench run`` of runs that train for one step, imports included."""
    with tempfile.TemporaryDirectory() as folder:
        steps = ["--set=recipe.epochs=1", "--set=recipe.steps=1", "--set=recipe.threads=1"]
        asked = ["--methods=supervised", f"--seeds={RUNS}", "--quiet", "--no-cache", f"--results={folder}"]
        command = [sys.executable, "-m", "pseudobench", "run", *asked, *steps, *options]
        return seconds(lambda: subprocess.run(command, check=True, capture_output=True, timeout=600))
