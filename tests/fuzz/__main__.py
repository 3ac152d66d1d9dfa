"""Mutated records and bad command lines through everything: `python tests/fuzz --records 20000 --commands 5000`."""

from __future__ import annotations

import os
import sys
import tempfile
from argparse import ArgumentParser
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz import command_lines, records


def main():
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1000)
    parser.add_argument("--commands", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["PSEUDOBENCH_CACHE"] = str(Path(folder) / "cache")
        found = records.fuzz(asked.records, asked.seed) + command_lines.fuzz(asked.commands, asked.seed)
        os.chdir("/")
    print("\n\n".join(found))
    print(f"{asked.records} records, {asked.commands} commands: {len(found)} problems")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
