"""``bench status``."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from pseudobench.base.paths import results_folder
from pseudobench.base.text import counted
from pseudobench.cli.cache import show_time
from pseudobench.execution.status import STATES, State, seconds_left


@click.command(
    epilog="\b\nExamples:\n  bench status\n  bench status baselines/digits.toml\n  bench status results/digits"
)
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--results", help="Folder of run records. [that of FILE, runs, or PSEUDOBENCH_RESULTS]")
def command(file: Path | None, results: str | None) -> None:
    """Show how many runs are done, running, failed, interrupted and missing, and about how long the rest takes.

    With FILE, an experiment file: all runs that it asks for. Without, or with a folder in its place: all runs that have
    a record, or that a `bench run` on this folder asked for.
    """
    from pseudobench.analysis.run_facts import method_ranks
    from pseudobench.errors import BenchError
    from pseudobench.execution.status import states
    from pseudobench.experiments.parsing import experiment_from, name_plugins, read_file
    from pseudobench.output import console
    from pseudobench.registry.components import installed
    from pseudobench.storage.records import Store

    if file and os.path.isdir(file):
        if results:
            raise BenchError(f"{file} is a folder of records, and so is --results {results}; name one")
        file, results = None, str(file)
    if file:
        name_plugins(file)
    experiment = experiment_from(read_file(file)) if file else None
    specs = experiment.specs(installed()[1]) if experiment else None
    folder = results_folder(results or (experiment.results if experiment else None))
    runs = states(Store(folder), specs)
    ranks = method_ranks(installed()[1])  # the order of `bench table`
    runs.sort(key=lambda run: (*run.group[:2], ranks.get(run.group[2], len(ranks)), run.group[2]))
    show_states(runs, folder)
    for run in runs:
        if run.state == "failed" and run.record is not None:
            console.tell(f"{run.run_id} failed: {run.record['error']['message']}")
        if run.state in ("running", "interrupted") and run.record is not None:
            rounds = max(len(run.record["rounds"]) - 1, 0)  # the first network is of none
            console.tell(f"{run.run_id} {run.state}, {counted(rounds, 'round')} done")
    console.tell(summary(runs))


def show_states(runs: Sequence[State], folder: Path) -> None:
    """Print how many runs of each dataset, label count and method are in which state."""
    from pseudobench.output import console

    groups = dict.fromkeys(run.group for run in runs)
    counts = Counter((run.group, run.state) for run in runs)
    shown = [state for state in STATES if state == "done" or any(run.state == state for run in runs)]
    rows = [
        [dataset, str(labels), method, *(_count(counts[(dataset, labels, method), state]) for state in shown)]
        for dataset, labels, method in groups
    ]
    header = ["dataset", "labels", "method", *shown]
    bad = [index for index, name in enumerate(header) if name in ("failed", "interrupted")]
    styles = {(number, index): "red" for number, row in enumerate(rows) for index in bad if row[index] != "–"}
    console.show_table(header, rows, title=f"{folder}: {counted(len(runs), 'run')}", numbers_from=3, styles=styles)


def summary(runs: Sequence[State]) -> str:
    """How far the runs are, in one line; "all done" only if every run is."""
    counts = Counter(run.state for run in runs)
    if not runs:
        return "no runs yet"
    if counts["done"] == len(runs):
        return "all done"
    parts = [f"{counts['done']} of {len(runs)} done"]
    parts += [f"{counts[state]} {state}" for state in STATES if state != "done" and counts[state]]
    left = seconds_left(runs)
    if left is None or left > 0:
        parts.append("time left not known yet" if left is None else f"time left about {show_time(left)}")
    return ", ".join(parts)


def _count(number: int) -> str:
    return str(number) if number else "–"
