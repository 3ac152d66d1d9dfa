"""Shared by commands that show results: options that filter records, and output in the requested format."""

from __future__ import annotations

import gc
import json
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from pseudobench.base.paths import results_folder
from pseudobench.cli.completing import names_of
from pseudobench.errors import BenchError
from pseudobench.experiments.parsing import parse_labels, parse_names

if TYPE_CHECKING:
    import pandas as pd

    from pseudobench.analysis.filtering import Record
    from pseudobench.output.text_tables import Grid


def filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--dataset``, ``--labels`` and ``--where``."""
    for option in (
        click.option(
            "--where",
            multiple=True,
            metavar="KEY=VALUE",
            help="Only runs with this, such as backbone=cnn13, seed=0,1 or ups.tau_p=0.8; repeatable.",
        ),
        click.option("--labels", help="Only these label counts."),
        click.option("--dataset", shell_complete=names_of("datasets"), help="Only these datasets."),
    ):
        command = option(command)
    return command


def results_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--results``, which every command that reads records has, and the same folders as arguments."""
    option = click.option(
        "--results",
        "more",
        multiple=True,
        metavar="FOLDER",
        help="Run records, as RESULTS names them; repeatable. [runs, or PSEUDOBENCH_RESULTS]",
    )

    @wraps(command)
    def called(results: tuple[str, ...], more: tuple[str, ...], **options: Any) -> Any:
        return command(results=(*results, *more), **options)

    return click.argument("results", nargs=-1, type=click.Path())(option(called))


def format_option(*formats: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``--format``."""
    return click.option("--format", "format_", type=click.Choice(formats), default=formats[0], show_default=True)


def where_from(dataset: str | None, labels: str | None, where: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The filters of the options, key to allowed values."""
    from pseudobench.analysis.filtering import parse_where

    wanted = parse_where(where)
    if dataset:
        wanted["dataset"] = parse_names(dataset, "dataset")
    if labels:
        wanted["labels"] = tuple(str(count) for count in parse_labels(labels))
    return wanted


def read_records(folders: Sequence[str], where: Mapping[str, Sequence[str]]) -> Iterator[Record]:
    """The records below ``folders`` that pass the filters ``where``."""
    from pseudobench.analysis.filtering import matching
    from pseudobench.storage.records import Store, records_of

    return matching(records_of(Store(results_folder(folder)) for folder in folders or (None,)), where)


@contextmanager
def nothing_collected() -> Iterator[None]:
    """Without the search for garbage, which takes a tenth of a report's time: its records are needed to the end."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def show_json(value: Any) -> None:
    """Print plain values as JSON without control characters, DEL (0x7f) included."""
    click.echo(json.dumps(value, indent=1).replace("\x7f", "\\u007f"))


def show_frame(frame: pd.DataFrame, format_: str) -> None:
    """Print a data frame as ``csv``, or its rows as ``json``."""
    from pseudobench.output.formats import to_csv

    if format_ == "csv":
        click.echo(to_csv(frame), nl=False)
    else:
        show_json(json.loads(frame.to_json(orient="records")))


def latex_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """``--caption`` and ``--label``."""
    command = click.option("--label", help="LaTeX: a label for the table, such as tab:results.")(command)
    return click.option("--caption", help="LaTeX: a caption in place of ours.")(command)


def show_grids(grids: Sequence[Grid], format_: str, *, caption: str | None = None, label: str | None = None) -> None:
    """Print tables for people; ``caption`` and ``label`` are those of the first in LaTeX."""
    if format_ != "latex" and (caption or label):
        raise BenchError("--caption and --label are for --format latex")
    from pseudobench.output import console, formats

    if format_ == "html":
        click.echo(formats.to_html(grids), nl=False)
    elif format_ == "terminal":
        for grid in grids:
            console.show_grid(grid)
    elif format_ == "latex":
        first, *others = grids
        made = [formats.to_latex(first, caption, label, _source()), *map(formats.to_latex, others)]
        click.echo("\n".join(made), nl=False)
    else:
        click.echo("\n".join(map(formats.to_markdown, grids)), nl=False)


def _source() -> str:
    """Where a table came from, for whoever finds it in a paper's source."""
    from importlib.metadata import version

    return f"Made by pseudobench {version('pseudobench')}: bench {shlex.join(sys.argv[1:])}"
