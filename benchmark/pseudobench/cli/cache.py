"""``bench cache``."""

from __future__ import annotations

import re

import click

from pseudobench.base.paths import cache_folder
from pseudobench.errors import BenchError

_UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


@click.command(epilog="\b\nExamples:\n  bench cache\n  bench cache --prune 5GB\n  bench cache --prune 0")
@click.option("--cache-dir", help="Folder of the cache. [PSEUDOBENCH_CACHE, or the user's cache folder]")
@click.option("--prune", "limit", help="Remove the entries unused for longest, until this size is left: 500MB, 5GB, 0.")
def command(cache_dir: str | None, limit: str | None) -> None:
    """Show the cache: networks, features and checkpoints kept for reuse, and the time that reuse has saved."""
    from pseudobench.output import console
    from pseudobench.storage.cache import KINDS, Cache

    cache = Cache(cache_folder(cache_dir))
    if limit is not None:
        removed = cache.prune(parse_size(limit))
        console.say(f"removed {len(removed)} entries of {show_size(sum(each.size for each in removed))}")
    entries, saved = cache.entries(), cache.savings()
    rows = []
    for kind, meaning in KINDS.items():
        sizes = [entry.size for entry in entries if entry.kind == kind]
        uses = saved.get(kind, [])
        rows.append([f"{kind} {meaning}", str(len(sizes)), show_size(sum(sizes)), str(len(uses)), show_time(sum(uses))])
    console.show_table(
        ["kept", "entries", "size", "reused", "saved"], rows, title=f"cache: {cache.folder}", numbers_from=1
    )


def parse_size(text: str) -> int:
    """The bytes of a size such as ``5GB``."""
    match = re.fullmatch(r"\s*([0-9.]+)\s*([KMGT]?B)?\s*", text.upper())
    try:
        if match is None:
            raise ValueError
        return int(float(match[1]) * _UNITS[match[2] or "B"])
    except (ValueError, OverflowError):
        raise BenchError(f"--prune {text}: a size, such as 500MB or 5GB, or 0 for everything") from None


def show_size(size: int) -> str:
    """A size for people: ``1.5 GB``."""
    unit = next((unit for unit in ("TB", "GB", "MB", "KB") if size >= _UNITS[unit]), "B")
    return f"{size / _UNITS[unit]:.3g} {unit}"


def show_time(seconds: float) -> str:
    """A duration for people: ``90 s``, ``12 min``, ``3.5 h``."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
