"""The speed benchmark: ``python tests/speed --data-dir data`` measures ratios on real images and prints a table.

Nothing here is a test: machines are noisy. The committed table is in README.md beside this file.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
from pathlib import Path

import torch

from pseudobench.execution.environment import set_up

PARTS = ("passes", "sets", "training", "growth", "scale", "safety", "startup", "revisions")


def main() -> None:
    """Measure what was asked for, one part after another."""
    parser = argparse.ArgumentParser(prog="python tests/speed", description=__doc__)
    parser.add_argument("parts", nargs="*", default=PARTS, help=f"some of: {', '.join(PARTS)}")
    parser.add_argument("--data-dir", type=Path, default=Path(os.environ.get("PSEUDOBENCH_DATA", "data")))
    asked = parser.parse_args()
    for part in asked.parts:
        if part not in PARTS:
            parser.error(f"there is no part {part!r}; known: {', '.join(PARTS)}")
    print("| what | measured | target | |\n|---|---|---|---|")
    for part in asked.parts:
        print(f"measuring {part}", file=sys.stderr)
        set_up(torch.device("cpu"), None)
        for row in importlib.import_module(part).rows(asked.data_dir.resolve()):
            print(f"| {row.what} | {row.ratio} | {row.target} | {row.note} |", flush=True)
    cores = os.cpu_count()
    print(f"\n{cores} cores, {platform.machine()}, Python {platform.python_version()}, torch {torch.__version__}")


if __name__ == "__main__":
    main()
