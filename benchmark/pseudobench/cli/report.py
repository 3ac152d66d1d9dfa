"""``bench report``."""

from __future__ import annotations

import click

from pseudobench.errors import BenchError
from pseudobench.places import place, write_output
from pseudobench.registry import installed

_EXAMPLES = """\b
Examples:
  bench report
  bench report results/digits -o digits.html
  bench report results --methods ups,ups-raps --dataset digits
"""


@click.command(epilog=_EXAMPLES)
@click.argument("results", nargs=-1)
@click.option("-o", "--output", default="report.html", show_default=True, help="The file to write.")
@click.option("--methods", help="Only these methods.")
@click.option("--dataset", help="Only these datasets.")
def command(results: tuple[str, ...], output: str, methods: str | None, dataset: str | None) -> None:
    """Write a report on the run records below the folders RESULTS: one HTML file that needs nothing else.

    A section for each dataset and label count: the table, figures, runs that are not done, and the commands that
    make the same runs again.
    """
    from pseudobench import console

    path = place(output)
    if path.is_dir():
        raise BenchError(f"-o {output} is a folder; name the file, such as {path / 'report.html'}")
    _, registry = installed()
    with console.working("reading records"):
        from pseudobench.report.page import render_page
        from pseudobench.report.sections import read_records, sections
        from pseudobench.tables import DEFAULT_COLUMNS, pick_columns

        names = dict.fromkeys([*DEFAULT_COLUMNS, *(entry.name for entry in registry.of("columns"))])
        columns = pick_columns(registry, list(names))
        found = sections(read_records(results, methods, dataset), registry, columns)
    page = render_page(found, registry, lambda figures: console.track(figures, "drawing figures"))
    write_output(path, page.encode())
    console.say(f"report: {path}")
