"""``bench table``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from pseudobench.cli.showing import filter_options, format_option, read_records, show_grids, show_json, where_from
from pseudobench.experiments.parsing import parse_names
from pseudobench.registry.components import installed

if TYPE_CHECKING:
    import pandas as pd

    from pseudobench.analysis.published import Published
    from pseudobench.registry.components import Registry

_EXAMPLES = """\b
Examples:
  bench table
  bench table results/digits results/digits-ablation --columns accuracy,coverage,set-size
  bench table results --pivot --where evaluated-on=test --format latex
  bench table --methods ups,ups-raps --labels 40 --where seed=0,1,2
  bench table results/cifar10-head --published
  bench table --runs --columns accuracy,nll
"""
_RUN_COLUMNS = ("rounds", "seconds")


@click.command(epilog=_EXAMPLES)
@click.argument("results", nargs=-1)
@click.option("--columns", help="Columns; `bench list columns` has them all.")
@click.option("--methods", help="Only these methods.")
@filter_options
@click.option("--pivot", "pivoted", is_flag=True, help="A column for each dataset and label count. [accuracy]")
@click.option(
    "--published", is_flag=True, help="Published numbers in a table of their own, of baselines/published.csv."
)
@click.option("--published-from", metavar="FILE", help="Published numbers of another file.")
@click.option("--runs", "each_run", is_flag=True, help="One row per run instead of means.")
@format_option("terminal", "markdown", "latex", "html", "csv", "json")
def command(
    results: tuple[str, ...],
    columns: str | None,
    methods: str | None,
    dataset: str | None,
    labels: str | None,
    where: tuple[str, ...],
    pivoted: bool,
    published: bool,
    published_from: str | None,
    each_run: bool,
    format_: str,
) -> None:
    """Tabulate the run records below the folders RESULTS: means over seeds with 95 % intervals.

    The best mean of a column is bold, and a dagger marks those that are not significantly worse: a test paired over
    seeds, with Holm's correction. With too few seeds for that nothing is marked, and the caption says so.
    """
    from pseudobench.analysis.dataframe import frame, ordered
    from pseudobench.analysis.published import find_published, read_published
    from pseudobench.errors import BenchError

    beside = published or published_from is not None
    if each_run and (pivoted or beside):
        raise BenchError("--runs shows single runs; it goes neither with --pivot nor with --published")
    if beside and format_ == "csv":
        raise BenchError("--published makes a second table, and a CSV file holds one; take json, or the file itself")
    _, registry = installed()
    numbers = read_published(find_published(published_from)) if beside else None
    wanted = where_from(dataset, labels, where, methods)
    runs = ordered(frame(read_records(results, wanted), registry), registry, methods_first=pivoted)
    if each_run:
        show_runs(runs, registry, columns, format_)
    else:
        show_summary(runs, registry, columns, format_, pivoted=pivoted, published=numbers)


def show_summary(
    runs: pd.DataFrame,
    registry: Registry,
    names: str | None = None,
    format_: str = "terminal",
    *,
    pivoted: bool = False,
    published: Sequence[Published] | None = None,
) -> None:
    """Print the summary, beside it what of ``published`` belongs there, and why runs failed if any did."""
    from pseudobench.analysis import tables
    from pseudobench.analysis.dataframe import judged_by, pick_columns
    from pseudobench.analysis.published import beside
    from pseudobench.output import console
    from pseudobench.output.formats import to_csv
    from pseudobench.output.text_tables import published_grid, table_grid

    usual = (judged_by(runs),) if pivoted else tables.DEFAULT_COLUMNS
    columns = pick_columns(registry, parse_names(names, "columns") if names else usual)
    table = tables.pivot(runs, columns) if pivoted else tables.summarize(runs, columns)
    places = zip(runs["dataset"], runs["labels"].map(str), strict=True)
    near = None if published is None else beside(published, places, (column.name for column in columns))
    if format_ == "csv":
        click.echo(to_csv(tables.to_values(table)), nl=False)
    elif format_ == "json":
        ours = json.loads(tables.to_values(table).to_json(orient="records"))
        both = ours if near is None else {"runs": ours, "published": [asdict(each) for each in near]}
        show_json(both)
    else:
        grid = table_grid(table, "*" if format_ == "terminal" else "Bold")
        show_grids([grid] if near is None else [grid, published_grid(near)], format_)
    if format_ == "terminal":
        for column in dict.fromkeys(heading.column for heading in table.headings):
            console.say(f"  {column.name}: {column.description}")
        for run in runs[runs["status"] != "done"].itertuples():
            console.say(f"  {run.run_id}: {run.status}{': ' + run.error if isinstance(run.error, str) else ''}")


def show_runs(runs: pd.DataFrame, registry: Registry, names: str | None, format_: str) -> None:
    """Print one row per run; as CSV and JSON raw values, of every column unless some are named."""
    from pseudobench.analysis.dataframe import ABOUT, judged_by, pick_columns
    from pseudobench.output.formats import to_csv
    from pseudobench.output.text_tables import runs_grid

    columns = pick_columns(registry, parse_names(names, "columns") if names else (judged_by(runs), *_RUN_COLUMNS))
    raw = runs[[*ABOUT, *(column.name for column in columns)]] if names else runs
    if format_ == "csv":
        click.echo(to_csv(raw), nl=False)
    elif format_ == "json":
        show_json(raw)
    else:
        show_grids([runs_grid(runs, columns)], format_)
