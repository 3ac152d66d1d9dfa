"""What this process runs on: processor, cores, versions of installed packages, revision of the source."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def free_memory() -> int:
    """Bytes of memory that new processes can have; where Linux does not tell, more than any process takes."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 1 << 60
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable")), 1 << 60)


def processor() -> str:
    """The kind of processor, where Linux tells it: results agree to the last bit on one kind only."""
    try:
        return processor_in(Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    except OSError:
        return platform.processor()


def processor_in(cpuinfo: str) -> str:
    """The kind of processor that Linux describes: its model name, with the numbers of its family and model.

    Virtual machines call processors of several generations by one name, such as ``AMD EPYC``.
    """
    first, _, _ = cpuinfo.partition("\n\n")  # the others are like it
    told = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in first.splitlines())}
    numbers = [f"{word} {told[key]}" for word, key in (("family", "cpu family"), ("model", "model")) if key in told]
    return " ".join([told.get("model name", ""), f"({', '.join(numbers)})" if numbers else ""]).strip()


def version_of(name: str) -> str | None:
    """The version of an installed package, None if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


@cache
def source_revision() -> dict[str, Any] | None:
    """The git revision of this package, and whether its code has changed since; None outside a checkout."""
    here = Path(__file__).parent
    try:
        top = _git(here, "rev-parse", "--show-toplevel")
        tracked = _git(here, "ls-files", "--error-unmatch", Path(__file__).name)
        changed = _git(Path(top), "status", "--porcelain", "--", "benchmark", "plugins", "pyproject.toml")
        return {"revision": _git(here, "rev-parse", "HEAD"), "changed": bool(changed)} if tracked else None
    except (OSError, subprocess.SubprocessError):
        return None


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True, timeout=20)
    return done.stdout.strip()
