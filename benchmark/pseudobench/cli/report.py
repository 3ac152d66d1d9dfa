"""``bench report``."""

from __future__ import annotations

import click

from pseudobench.base.paths import check_output, to_path, write_output
from pseudobench.cli.completing import names_of
from pseudobench.cli.showing import filter_options, read_records, results_options, where_from
from pseudobench.errors import BenchError
from pseudobench.experiments.parsing import parse_names
from pseudobench.registry.components import installed

_EXAMPLES = """\b
Examples:
  bench report
  bench report results/digits -o digits.html
  bench report results --methods ups,ups-raps --dataset digits
"""


@click.command(epilog=_EXAMPLES)
@results_options
@click.option("-o", "--output", default="report.html", show_default=True, help="The file to write.")
@click.option(
    "--methods", shell_complete=names_of("methods"), help="Only these methods; verdicts are still those of all."
)
@filter_options
def command(
    results: tuple[str, ...],
    output: str,
    methods: str | None,
    dataset: str | None,
    labels: str | None,
    where: tuple[str, ...],
) -> None:
    """Write a report on the run records below the folders RESULTS: one HTML file that needs no other file.

    It has a section for each dataset and label count: the table, the sentences of `bench compare`, figures, unfinished
    runs, and the commands that repeat the runs.
    """
    from pseudobench.output import console

    path = to_path(output)
    if path.is_dir():
        raise BenchError(f"-o {output} is a folder; name the file, such as {path / 'report.html'}")
    check_output(path)
    _, registry = installed()
    with console.working("reading records"):
        from pseudobench.analysis.run_facts import pick_columns
        from pseudobench.analysis.tables import DEFAULT_COLUMNS
        from pseudobench.output.report.page import render_page
        from pseudobench.output.report.sections import sections

        names = dict.fromkeys([*DEFAULT_COLUMNS, *(entry.name for entry in registry.of("columns"))])
        columns = pick_columns(registry, list(names))
        records = read_records(results, where_from(dataset, labels, where))
        found = sections(records, registry, columns, parse_names(methods, "methods") if methods else None)
    page = render_page(found, registry, lambda figures: console.track(figures, "drawing figures"))
    write_output(path, page.encode())
    console.say(f"report: {path}")
