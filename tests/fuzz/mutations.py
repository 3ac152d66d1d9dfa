"""Records as nobody writes them: valid ones with something changed, by a seed."""

from __future__ import annotations

import copy
import json
from pathlib import Path

from committed import committed

RESULTS = Path(__file__).parents[2] / "results"
#: One record of each kind: with sets, without, of several classes, of a head; failed, and not ended.
PATTERNS = (
    *(("first", f"*-{method}-*") for method in ("ups-raps", "pl", "supervised")),
    *((folder, "*") for folder in ("digits-ablation", "heads-cifar10", "digits-grid", "digits-sets")),
)

ODD_TEXTS = (
    *("", " ", "x" * 10_000, "\x1b[31mred\x07", "\x9b2J", "a\nb\r\tc", "\u202eabc\u2066", "\ud800", "\x00", "\x7f"),
    *("[red]x[/red]", ":smile:", "<script>alert(1)</script>", "|a|b|", "[x](http://y)", "=1+1", "-x", "@x", "`x`"),
    *("\\", "\\end{tabular}", "%d", "{0}", "../../etc", "/", "nan", "None", "é" * 300, "\U0001f600", "0;touch x"),
)
ODD_NUMBERS = (
    *(0, -0.0, -1, 1, 0.5, 2, 14, 16, 1e-320, 1e20, -1e20, 1.0000001, 2**31, 2**53, 2**63, 2**64, 10**30, 10**400),
    *(1e308, float("nan"), float("inf"), -float("inf")),
)
ODD_VALUES = (None, True, False, [], {}, [[]], [None], {"x": 1}, {"": {}}, [1, "a"], {"alpha": "x"}, {"tune": []})


def bases():
    """Valid records to change, as values of JSON: some of each pattern, one that failed, one that has not ended."""
    found = []
    for folder, pattern in PATTERNS:
        records = committed(folder, runs=pattern)
        found += records[:: max(len(records) // 2, 1)]
    failed, running = copy.deepcopy(found[0]), copy.deepcopy(found[1])
    failed |= {"status": "failed", "error": {"message": "no luck", "where": "x.py:1"}, "run_id": "failed-run"}
    running |= {"status": "running", "rounds": running["rounds"][:1], "finished": None, "run_id": "running-run"}
    return list({each["run_id"]: each for each in [*found, failed, running]}.values())


def places(value, path=()):
    """Every place in a value of JSON, as a path of keys; of long lists the first few items."""
    found = [path] if path else []
    items = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    for key, inner in items:
        found += places(inner, (*path, key))
    return found


def mutated(draw, record):
    """The content of a file: a record with one to three changes, or with bytes that are not its own."""
    changed = copy.deepcopy(record)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        known = places(changed)
        if known:
            change(draw, changed, draw.choice(known))
    content = json.dumps(changed).encode()
    if draw.random() < 0.1:
        content = damaged(draw, content)
    return content


def change(draw, record, path):
    """One change at a place."""
    at = record
    for key in path[:-1]:
        at = at[key]
    key, value = path[-1], at[path[-1]]
    kind = draw.choice(("text", "number", "value", "value", "remove", "scale", "wrap", "as text", "other", "add"))
    if kind == "remove":
        del at[key]
    elif kind == "scale" and isinstance(value, int | float):
        at[key] = draw.choice((-value, value * 1e6, value + 0.5, int(value), float(value), bool(value)))
    elif kind == "wrap":
        at[key] = draw.choice(([value], {"x": value}, [value, value]))
    elif kind == "as text":
        at[key] = str(value)
    elif kind == "add" and isinstance(value, dict):
        value[draw.choice(ODD_TEXTS)] = draw.choice(ODD_VALUES)
    elif kind == "add" and isinstance(value, list):
        value.append(draw.choice((*ODD_NUMBERS, *ODD_VALUES)))
    elif kind == "other":  # what is elsewhere in the record
        other = record
        for step in draw.choice(places(record)):
            other = other[step]
        at[key] = copy.deepcopy(other)
    elif kind == "text":
        at[key] = draw.choice(ODD_TEXTS) if draw.random() < 0.5 else f"{value}{draw.choice(ODD_TEXTS)}"
    else:
        at[key] = draw.choice(ODD_NUMBERS if kind == "number" else ODD_VALUES)


def damaged(draw, content):
    """Bytes cut off, turned over, put in or repeated."""
    kind, place = draw.choice(("cut", "flip", "insert", "repeat", "nothing")), draw.randrange(len(content))
    if kind == "cut":
        return content[:place]
    if kind == "flip":
        return content[:place] + bytes([content[place] ^ 1 << draw.randrange(8)]) + content[place + 1 :]
    if kind == "insert":
        return content[:place] + bytes(draw.randrange(256) for _ in range(4)) + content[place:]
    return content[:place] + b"[" * 100_000 if kind == "repeat" else b""
