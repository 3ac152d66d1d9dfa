"""``bench compare``."""

from __future__ import annotations

import click

from pseudobench.cli.showing import filter_options, format_option, read_records, show_grids, show_json, where_from
from pseudobench.registry.components import installed

_EXAMPLES = """\b
Examples:
  bench compare ups ups-raps
  bench compare supervised --results results/digits
  bench compare ups ups-raps pl --results results --where evaluated-on=test --metric ece
  bench compare ups-raps:calibration=held-out ups-raps:calibration=cross
"""


@click.command(epilog=_EXAMPLES)
@click.argument("methods", nargs=-1, required=True)
@click.option(
    "--results", multiple=True, metavar="FOLDER", help="Run records; repeatable. [runs, or PSEUDOBENCH_RESULTS]"
)
@click.option("--metric", help="A column; `bench list columns` has them all. [accuracy; multi-label: mAP]")
@filter_options
@format_option("terminal", "markdown", "latex", "html", "csv", "json")
def command(
    methods: tuple[str, ...],
    results: tuple[str, ...],
    metric: str | None,
    dataset: str | None,
    labels: str | None,
    where: tuple[str, ...],
    format_: str,
) -> None:
    """Compare METHODS with the first of them; with one, all others with it.

    Runs are paired by seed, within one dataset, label count, backbone, preset and set of test images. What is tested is
    the mean difference, by a sign-flip test that is exact for up to 20 seeds and needs no normal distribution; Holm's
    correction is over all comparisons shown. Below 6 seeds that test cannot reach 5 %, so there is no p-value.

    METHOD:KEY=VALUE[:KEY=VALUE] are the runs of a method with certain settings. Without, runs with different
    settings are compared each by themselves.
    """
    from pseudobench.analysis import comparisons
    from pseudobench.analysis.dataframe import pick_columns
    from pseudobench.analysis.sentences import sentences
    from pseudobench.output import console, formats
    from pseudobench.output.text_tables import comparison_grid

    _, registry = installed()
    if metric is not None:
        pick_columns(registry, [metric])  # a misspelt one is said before anything is read
    records = read_records(results, where_from(dataset, labels, where))
    found = comparisons.compare_records(records, methods, metric, registry)
    if format_ == "csv":
        click.echo(formats.to_csv(comparisons.to_values(found)), nl=False)
    elif format_ == "json":
        show_json(comparisons.to_values(found))
    else:
        show_grids([comparison_grid(found)], format_)
    if format_ in ("terminal", "markdown"):
        console.say()
        for line in sentences(found):
            console.say(f"- {formats.escape_markdown(line)}" if format_ == "markdown" else line)
