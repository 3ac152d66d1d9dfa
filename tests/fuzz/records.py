"""Mutated records through everything that reads records."""

from __future__ import annotations

import json
import random
import re
import traceback
import warnings
from pathlib import Path

from fuzz.calling import CONTROL, bench, limited
from fuzz.mutations import bases, mutated
from pseudobench import BenchError, BenchWarning, load_results, load_rounds
from pseudobench.analysis.run_facts import pick_columns
from pseudobench.analysis.tables import DEFAULT_COLUMNS
from pseudobench.cli.show import describe, row
from pseudobench.output.report.page import render_page
from pseudobench.output.report.sections import sections
from pseudobench.registry.components import installed
from pseudobench.storage.records import Store

FORMATS = ("terminal", "markdown", "latex", "html", "csv", "json")


def commands_for(draw, number):
    """Commands on a folder of records, all formats in turn."""
    formats = [FORMATS[(number + shift) % len(FORMATS)] for shift in range(3)]
    return [
        ("table", "runs", "--format", formats[0]),
        ("table", "runs", "--pivot", "--format", formats[1]),
        ("table", "runs", "--runs", "--format", formats[2]),
        ("table", "runs", "--ranks", "--format", formats[0]),
        ("table", "runs", "--where", draw.choice(("status=done", "seed=0", "recipe.lr=0.1", "selector=ups"))),
        ("compare", draw.choice(("supervised", "pl", "ups-raps:seed=0")), "--results", "runs", "--format", formats[1]),
        ("status", "--results", "runs"),
    ]


def report(folder):
    """The page of a report and the numbers of its figures, without drawing."""
    registry = installed()[1]
    try:
        found = sections(Store(folder).records(), registry, pick_columns(registry, DEFAULT_COLUMNS))
    except BenchError:
        return
    page = render_page(found, registry, lambda _figures: ())
    of_records = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)  # not its code
    assert not CONTROL & set(of_records)


def show(folder):
    """What `bench show` says of each record."""
    for record in Store(folder).records():
        describe(record)
        [row(each) for each in record["rounds"]]


def check(draw, number, count):
    """Put mutated records and two good ones into ``runs``; what goes wrong with all that reads them."""
    for path in Path("runs").iterdir():
        path.unlink()
    known = bases()
    good = known[:2]
    for each in good:
        Path("runs", f"{each['run_id']}.json").write_text(json.dumps(each))
    contents = [mutated(draw, draw.choice(known[2:])) for _ in range(count)]
    for place, content in enumerate(contents):
        Path("runs", f"x{place}.json").write_bytes(content)
    wrong = []
    for words in (*commands_for(draw, number), *(("show", f"x{place}", "--results", "runs") for place in range(2))):
        _, problem = bench(words)
        wrong += [(" ".join(words), problem)] if problem else []
    for reader in (report, show, load_results, load_rounds):
        try:
            with warnings.catch_warnings(), limited(60):
                warnings.simplefilter("ignore", BenchWarning)
                found = reader(Path("runs"))
            if reader is load_results and not {each["run_id"] for each in good} <= set(found["run_id"]):
                wrong.append(("load_results", "good records are not there"))
        except Exception:
            wrong.append((reader.__name__, traceback.format_exc(limit=-6)))
    return wrong, contents


def fuzz(number_of_records, seed=0):
    """Problems of as many mutated records, each with the batch it was seen in. Needs an empty working folder."""
    Path("runs").mkdir(exist_ok=True)
    found, done, number = [], 0, 0
    while done < number_of_records:
        draw = random.Random(f"{seed}/{number}")
        count = draw.choice((1, 5, 20, 60))
        wrong, _ = check(draw, number, count)
        found += [f"batch {number} of seed {seed}: {what}\n{problem}" for what, problem in wrong]
        done, number = done + count, number + 1
    return found
