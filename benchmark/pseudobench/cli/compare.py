"""``bench compare``."""

from __future__ import annotations

import os
from typing import Literal

import click

from pseudobench.cli.completing import names_of
from pseudobench.cli.showing import filter_options, format_option, read_records, show_frame, show_grids, where_from
from pseudobench.errors import BenchError
from pseudobench.registry.components import installed

_EXAMPLES = """\b
Examples:
  bench compare ups ups-raps
  bench compare supervised --results results/digits
  bench compare ups pl --where evaluated-on=test --metric ece
  bench compare supervised --pivot --results results/heads-cifar10
  bench compare ups-raps:calibration=held-out ups-raps:calibration=cross
"""
#: Comparisons that are also said in words; of more, the table is the shorter reading.
_SENTENCES = 3


@click.command(epilog=_EXAMPLES)
@click.argument("methods", nargs=-1, required=True, shell_complete=names_of("methods"))
@click.option(
    "--results", multiple=True, metavar="FOLDER", help="Run records; repeatable. [runs, or PSEUDOBENCH_RESULTS]"
)
@click.option(
    "--metric",
    shell_complete=names_of("columns"),
    help="A column; `bench list columns` has them all. [accuracy; multi-label: mAP]",
)
@click.option(
    "--family",
    type=click.Choice(["all", "baseline"]),
    default="all",
    show_default=True,
    help="Pairs that p-values are corrected over: all, or those with the first method.",
)
@click.option(
    "--pivot", "pivoted", is_flag=True, help="Verdicts at a glance: a column for each dataset and label count."
)
@filter_options
@format_option("terminal", "markdown", "latex", "html", "csv", "json")
def command(
    methods: tuple[str, ...],
    results: tuple[str, ...],
    metric: str | None,
    family: Literal["all", "baseline"],
    pivoted: bool,
    dataset: str | None,
    labels: str | None,
    where: tuple[str, ...],
    format_: str,
) -> None:
    """Compare METHODS with the first of them; a single method is compared with all others.

    Runs are paired by seed, within one dataset, label count, backbone, preset, device and set of test images. The mean
    difference is tested by flipping the signs of seeds, which needs no normal distribution. P-values are corrected by
    Westfall and Young's method over all pairs of methods in these records, not only the METHODS named, so that `bench
    table` and `bench report` say the same. Below 6 seeds the test cannot reach 5 %, so there is no p-value. A
    difference is real where both the test and the 95 % interval say so.

    METHOD:KEY=VALUE[:KEY=VALUE] are the runs of a method with certain settings. Without, runs with different
    settings are compared each by themselves.
    """
    from pseudobench.analysis.comparisons import compare_records
    from pseudobench.analysis.run_facts import pick_columns
    from pseudobench.output import console, formats
    from pseudobench.output.comparison_tables import comparison_grid, comparison_matrix
    from pseudobench.output.sentences import sentences
    from pseudobench.output.summary_frames import comparison_frame

    if pivoted and format_ in ("csv", "json"):
        raise BenchError(f"--pivot is a table to look at; --format {format_} has a row for each comparison without it")
    _, registry = installed()
    known = {entry.name for entry in registry.of("methods")}
    for name in methods:
        if name not in known and os.path.isdir(name):
            raise BenchError(f"{name} is a folder; records are named by --results, and methods are compared")
    if metric is not None:
        pick_columns(registry, [metric])  # a misspelt name is refused before anything is read
    records = read_records(results, where_from(dataset, labels, where))
    found = compare_records(records, methods, metric, registry, family)
    if format_ in ("csv", "json"):
        show_frame(comparison_frame(found, scaled=True), format_)
    else:
        show_grids([(comparison_matrix if pivoted else comparison_grid)(found)], format_)
    if format_ in ("terminal", "markdown") and len(found) <= _SENTENCES and not pivoted:
        console.say()
        for line in sentences(found):
            if format_ == "markdown":
                console.say(f"- {formats.escape_markdown(line)}")
            else:
                console.tell(line)
