"""``bench table``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from pseudobench.cli.completing import names_of
from pseudobench.cli.showing import (
    filter_options,
    format_option,
    latex_options,
    read_records,
    results_options,
    show_frame,
    show_grids,
    show_json,
    where_from,
)
from pseudobench.experiments.parsing import parse_names
from pseudobench.registry.components import installed

if TYPE_CHECKING:
    from pseudobench.analysis.published import Published
    from pseudobench.analysis.run_facts import RunFacts
    from pseudobench.registry.components import Registry

_EXAMPLES = """\b
Examples:
  bench table
  bench table results/digits results/digits-sets --columns accuracy,coverage
  bench table results --pivot --where evaluated-on=test --format latex
  bench table --methods ups,ups-raps --labels 40 --where seed=0,1,2
  bench table results/heads-cifar10 --published
  bench table --runs --columns accuracy,nll
"""
_RUN_COLUMNS = ("rounds", "seconds")


@click.command(epilog=_EXAMPLES)
@results_options
@click.option("--columns", shell_complete=names_of("columns"), help="Columns; `bench list columns` has them all.")
@click.option(
    "--methods", shell_complete=names_of("methods"), help="Only rows of these methods; verdicts are still those of all."
)
@filter_options
@click.option("--pivot", "pivoted", is_flag=True, help="A column for each dataset and label count. [accuracy]")
@click.option("--ranks", "ranked", is_flag=True, help="Average ranks over five datasets or more. [accuracy]")
@click.option(
    "--published", is_flag=True, help="Published numbers in a table of their own, of baselines/published.csv."
)
@click.option("--published-from", metavar="FILE", help="Published numbers of another file.")
@click.option("--runs", "each_run", is_flag=True, help="One row per run instead of means.")
@format_option("terminal", "markdown", "latex", "html", "csv", "json")
@latex_options
def command(
    results: tuple[str, ...],
    columns: str | None,
    methods: str | None,
    dataset: str | None,
    labels: str | None,
    where: tuple[str, ...],
    pivoted: bool,
    ranked: bool,
    published: bool,
    published_from: str | None,
    each_run: bool,
    format_: str,
    caption: str | None,
    label: str | None,
) -> None:
    """Tabulate the run records below the folders RESULTS: means over seeds with 95 % intervals.

    Bold are the best mean of a column and every mean that is not found different from it: all pairs of rows of one
    dataset, label count, backbone, preset and device are tested together, paired by seed, as in `bench compare`. With
    fewer than 6 seeds nothing is bold. Shares are percent in every format.
    """
    from pseudobench.analysis.filtering import known_methods
    from pseudobench.analysis.published import find_published, read_published
    from pseudobench.analysis.run_facts import read_facts
    from pseudobench.errors import BenchError

    beside = published or published_from is not None
    if each_run and (pivoted or beside):
        raise BenchError("--runs shows single runs; it goes neither with --pivot nor with --published")
    if ranked and (each_run or pivoted or beside):
        raise BenchError("--ranks is a table of its own; it goes with neither --runs, --pivot nor --published")
    if (caption or label) and (format_ != "latex" or ranked or each_run):
        raise BenchError("--caption and --label are for --format latex, and for means")
    if beside and format_ == "csv":
        raise BenchError("--published makes a second table, and a CSV file holds one; take json, or the file itself")
    _, registry = installed()
    numbers = read_published(find_published(published_from)) if beside else None
    runs = read_facts(read_records(results, where_from(dataset, labels, where)), registry)
    named = known_methods(parse_names(methods, "methods"), (run.spec["method"] for run in runs)) if methods else None
    if ranked:
        show_ranks(runs, registry, columns, format_, methods=named)
    elif each_run:
        show_runs(runs, registry, columns, format_, methods=named)
    else:
        words = {"caption": caption, "label": label}
        show_summary(runs, registry, columns, format_, methods=named, pivoted=pivoted, published=numbers, **words)


def show_summary(
    runs: Sequence[RunFacts],
    registry: Registry,
    names: str | None = None,
    format_: str = "terminal",
    *,
    methods: set[str] | None = None,
    pivoted: bool = False,
    published: Sequence[Published] | None = None,
    caption: str | None = None,
    label: str | None = None,
) -> None:
    """Print the summary, the ``published`` numbers of the same datasets, and the reasons of failed runs."""
    from pseudobench.analysis import tables
    from pseudobench.analysis.arms import arms_of
    from pseudobench.analysis.published import beside
    from pseudobench.analysis.run_facts import judged_by, pick_columns
    from pseudobench.output import console
    from pseudobench.output.summary_frames import table_frame
    from pseudobench.output.text_tables import published_grid, table_grid

    arms = arms_of(runs, registry)
    shown = [run for run in runs if methods is None or run.spec["method"] in methods]
    usual = (judged_by(shown),) if pivoted else tables.DEFAULT_COLUMNS
    columns = pick_columns(registry, parse_names(names, "columns") if names else usual)
    if not names:
        columns = tables.where_rounds_differ(arms, columns)
    table = (tables.pivot if pivoted else tables.summarize)(arms, columns, methods, keep_empty=bool(names))
    places = {(run.place.dataset, str(run.place.labels)) for run in shown}
    near = None if published is None else beside(published, places, (column.name for column in columns))
    if format_ == "csv":
        show_frame(table_frame(table, scaled=True), format_)
    elif format_ == "json":
        ours = json.loads(table_frame(table, scaled=True).to_json(orient="records"))
        both = ours if near is None else {"runs": ours, "published": [asdict(each) for each in near]}
        show_json(both)
    else:
        grid = table_grid(table, "*" if format_ == "terminal" else "Bold")
        grids = [grid] if near is None else [grid, published_grid(near)]
        show_grids(grids, format_, caption=caption, label=label)
    if format_ == "terminal":
        for column in dict.fromkeys(heading.column for heading in table.headings):
            console.tell(f"{column.name}: {column.description}", "dim")
        for run in shown:
            if not run.done:
                console.tell(f"{run.run_id}: {run.status}{f': {run.error}' if run.error else ''}", indent=2)


def show_ranks(
    runs: Sequence[RunFacts], registry: Registry, names: str | None, format_: str, *, methods: set[str] | None = None
) -> None:
    """Print average ranks over datasets."""
    from pseudobench.analysis.arms import arms_of
    from pseudobench.analysis.rankings import ranking_of
    from pseudobench.analysis.run_facts import judged_by, pick_columns
    from pseudobench.errors import BenchError
    from pseudobench.output.summary_frames import ranking_frame
    from pseudobench.output.text_tables import ranking_grid

    column, *more = pick_columns(registry, parse_names(names, "columns") if names else (judged_by(runs),))
    if more:
        raise BenchError("--ranks is of one column; name one in --columns")
    arms = [arm for arm in arms_of(runs, registry) if methods is None or arm.method in methods]
    ranking = ranking_of(arms, column)
    if format_ in ("csv", "json"):
        show_frame(ranking_frame(ranking, scaled=True), format_)
    else:
        show_grids([ranking_grid(ranking, "*" if format_ == "terminal" else "Bold")], format_)


def show_runs(
    runs: Sequence[RunFacts], registry: Registry, names: str | None, format_: str, *, methods: set[str] | None = None
) -> None:
    """Print one row per run; as CSV and JSON every column unless some are named."""
    from pseudobench.analysis.dataframe import ABOUT, frame, scaled
    from pseudobench.analysis.run_facts import column_name, in_order, judged_by, pick_columns
    from pseudobench.output.text_tables import runs_grid

    shown = in_order((run for run in runs if methods is None or run.spec["method"] in methods), registry)
    columns = pick_columns(registry, parse_names(names, "columns") if names else (judged_by(shown), *_RUN_COLUMNS))
    if format_ in ("csv", "json"):
        raw = scaled(frame(shown, registry), registry)
        if names:
            raw = raw[list(dict.fromkeys([*ABOUT, *(column_name(column.name) for column in columns)]))]
        show_frame(raw, format_)
    else:
        show_grids([runs_grid(shown, columns)], format_)
