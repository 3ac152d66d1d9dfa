"""``bench report``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from pseudobench.base.paths import check_output, to_path, write_output
from pseudobench.cli.completing import names_of
from pseudobench.cli.showing import filter_options, nothing_collected, read_records, results_options, where_from
from pseudobench.errors import BenchError
from pseudobench.experiments.parsing import parse_names
from pseudobench.registry.components import installed

if TYPE_CHECKING:
    from pseudobench.output.report.sections import Section
    from pseudobench.registry.components import Registry

_EXAMPLES = """\b
Examples:
  bench report
  bench report results/digits -o digits.html
  bench report results --site public
  bench report results --methods ups,ups-raps --dataset digits
"""


@click.command(epilog=_EXAMPLES)
@results_options
@click.option("-o", "--output", help="The file to write. [report.html]")
@click.option(
    "--site",
    metavar="FOLDER",
    help="Write a folder for any static host instead: the page, the means and the runs as CSV.",
)
@click.option(
    "--methods", shell_complete=names_of("methods"), help="Only these methods; verdicts are still those of all."
)
@filter_options
@nothing_collected()
def command(
    results: tuple[str, ...],
    output: str | None,
    site: str | None,
    methods: str | None,
    dataset: str | None,
    labels: str | None,
    where: tuple[str, ...],
) -> None:
    """Write a report on the run records below the folders RESULTS: one HTML file that needs no other file.

    It begins with a summary: what to take on each dataset, a matrix of methods by dataset and label count, differences
    from any baseline. Below is a section for each dataset and label count: the table, the sentences of `bench compare`,
    figures, unfinished runs, and the commands that repeat the runs.
    """
    from pseudobench.output import console

    if output and site:
        raise BenchError("--site writes a folder, -o a file; name one of them")
    path = to_path(site) / "index.html" if site else to_path(output or "report.html")
    if path.is_dir() and not site:
        raise BenchError(f"-o {path} is a folder; name the file, such as {path / 'report.html'}")
    if site and path.parent.exists() and not path.parent.is_dir():
        raise BenchError(f"--site {site} is a file; name a folder")
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
    tables = _tables(found, registry) if site else {}
    page = render_page(found, registry, lambda figures: console.track(figures, "drawing figures"), list(tables))
    written = {path: page, **{path.parent / name: text for name, text in tables.items()}}
    for file, text in written.items():
        write_output(file, text.encode())
        console.say(f"{'site' if site else 'report'}: {file}")
    if site:
        write_output(path.parent / ".nojekyll", b"")


def _tables(found: Sequence[Section], registry: Registry) -> dict[str, str]:
    """The files beside a site's page: means with their verdicts, and every run."""
    import pandas as pd

    from pseudobench.analysis.dataframe import frame, scaled
    from pseudobench.output.formats import to_csv
    from pseudobench.output.summary_frames import table_frame

    means = pd.concat([table_frame(section.table, scaled=True) for section in found])
    runs = frame([run for section in found for each in section.series for run in each.arm.runs], registry)
    return {"means.csv": to_csv(means), "runs.csv": to_csv(scaled(runs, registry))}
