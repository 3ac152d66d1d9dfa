"""``bench table``."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import click

from pseudobench.api import results_folder
from pseudobench.experiment import parse_names
from pseudobench.registry import installed

if TYPE_CHECKING:
    import pandas as pd

    from pseudobench.registry import Registry

_EXAMPLES = """\b
Examples:
  bench table
  bench table results/digits results/digits-ablation --columns accuracy,coverage,set-size
  bench table --methods ups,ups-raps --format markdown
  bench table --runs
"""


@click.command(epilog=_EXAMPLES)
@click.argument("results", nargs=-1)
@click.option("--columns", help="Columns; `bench list columns` has them all.")
@click.option("--methods", help="Only these methods.")
@click.option("--dataset", help="Only these datasets.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["terminal", "markdown", "csv", "json"]),
    default="terminal",
    show_default=True,
)
@click.option("--runs", "each_run", is_flag=True, help="One row per run instead of means.")
def command(
    results: tuple[str, ...],
    columns: str | None,
    methods: str | None,
    dataset: str | None,
    format_: str,
    each_run: bool,
) -> None:
    """Tabulate the run records below the folders RESULTS: means over seeds with 95 % intervals."""
    from pseudobench.errors import BenchError
    from pseudobench.store import Store
    from pseudobench.tables import frame, ordered

    _, registry = installed()
    stores = [Store(results_folder(folder)) for folder in results or (None,)]
    runs = ordered(frame(chain.from_iterable(store.records() for store in stores), registry), registry)
    for key, wanted in (("method", methods), ("dataset", dataset)):
        if wanted:
            names = parse_names(wanted, key)
            for name in names:
                if name not in set(runs[key]):
                    raise BenchError(f"no run record has the {key} {name!r}; there are: {', '.join(set(runs[key]))}")
            runs = runs[runs[key].isin(names)]
    if each_run:
        show_runs(runs, format_)
    else:
        show_summary(runs, registry, columns, format_)


def show_summary(runs: pd.DataFrame, registry: Registry, names: str | None = None, format_: str = "terminal") -> None:
    """Print the summary, and why runs failed if any did."""
    from pseudobench import console, tables

    wanted = parse_names(names, "columns") if names else tables.DEFAULT_COLUMNS
    table = tables.summarize(runs, tables.pick_columns(registry, wanted))
    if format_ == "csv":
        click.echo(tables.to_values(table).to_csv(index=False), nl=False)
    elif format_ == "json":
        click.echo(tables.to_values(table).to_json(orient="records", indent=1))
    elif format_ == "markdown":
        click.echo(tables.to_markdown(table), nl=False)
    else:
        numbers = len(table.keys)
        console.show_table(table.header, table.texts(), title=tables.caption_line(table), numbers_from=numbers)
        for column in table.columns:
            console.say(f"  {column.name}: {column.description}")
        for run in runs[runs["status"] != "done"].itertuples():
            console.say(f"  {run.run_id}: {run.status}{': ' + run.error if isinstance(run.error, str) else ''}")


def show_runs(runs: pd.DataFrame, format_: str) -> None:
    """Print one row per run, raw values."""
    from pseudobench import console

    if format_ == "csv":
        click.echo(runs.to_csv(index=False), nl=False)
    elif format_ == "json":
        click.echo(runs.to_json(orient="records", indent=1))
    else:
        header = ["run", "status", "accuracy", "rounds", "seconds"]
        rows = [
            [
                str(run.run_id),
                str(run.status),
                f"{run.accuracy:.4f}",
                f"{run.rounds:.0f}",
                f"{run.seconds:.1f}",
            ]
            for run in runs.itertuples()
        ]
        if format_ == "markdown":
            lines = ["| " + " | ".join(row) + " |" for row in [header, ["---"] * len(header), *rows]]
            click.echo("\n".join(lines))
        else:
            console.show_table(header, rows, numbers_from=2)
