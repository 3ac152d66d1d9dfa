"""How soon the command line answers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from measuring import Row, ratio


def rows(data_dir: Path) -> list[Row]:
    """Against importing the library that it is made with."""
    bench = Path(sys.executable).parent / "bench"
    _, text = ratio(
        lambda: subprocess.run([bench, "--help"], check=True, capture_output=True),
        lambda: subprocess.run([sys.executable, "-c", "import click"], check=True, capture_output=True),
        times=15,
    )
    return [Row('`bench --help` against `python -c "import click"`', text, "at most 3")]
