"""``bench figures``."""

from __future__ import annotations

import re

import click

from pseudobench.base.paths import to_path, write_output
from pseudobench.cli.completing import names_of
from pseudobench.cli.showing import filter_options, nothing_collected, read_records, results_options, where_from
from pseudobench.errors import BenchError
from pseudobench.experiments.parsing import parse_names
from pseudobench.registry.components import installed

_EXAMPLES = """\b
Examples:
  bench figures
  bench figures results/digits -o figures --format svg,pdf --width column
  bench figures results/digits --methods pl,ups --figures accuracy,rounds
"""


def prefix_of(results: tuple[str, ...]) -> str:
    """What file names begin with: the name of the one folder of records, if one was named and it has a name."""
    name = to_path(results[0]).name if len(results) == 1 else ""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", "" if name in ("runs", "results") else name)


@click.command(epilog=_EXAMPLES)
@results_options
@click.option("-o", "--output", default="figures", show_default=True, help="The folder to write to.")
@click.option("--format", "formats", default="svg", show_default=True, help="svg, pdf, png, or several of them.")
@click.option(
    "--width", type=click.Choice(("column", "text")), help="Of a paper's column (85 mm) or text (170 mm). [as it comes]"
)
@click.option("--figures", "wanted", help="Only these; an unknown name lists them. [all]")
@click.option(
    "--methods", shell_complete=names_of("methods"), help="Only these methods; verdicts are still those of all."
)
@filter_options
@nothing_collected()
def command(
    results: tuple[str, ...],
    output: str,
    formats: str,
    width: str | None,
    wanted: str | None,
    methods: str | None,
    dataset: str | None,
    labels: str | None,
    where: tuple[str, ...],
) -> None:
    """Draw the figures of `bench report`, each as a file, of the run records below the folders RESULTS.

    Where one folder is named, the files' names begin with its own. The format svg adds the table as the terminal shows
    it.
    """
    from pseudobench.output import console

    folder = to_path(output)
    if folder.exists() and not folder.is_dir():
        raise BenchError(f"-o {output} is a file; name a folder")
    _, registry = installed()
    with console.working("reading records"):
        from pseudobench.analysis.run_facts import pick_columns
        from pseudobench.analysis.tables import DEFAULT_COLUMNS
        from pseudobench.output.report.files import files
        from pseudobench.output.report.sections import sections

        records = read_records(results, where_from(dataset, labels, where))
        named = parse_names(methods, "methods") if methods else None
        found = sections(records, registry, pick_columns(registry, DEFAULT_COLUMNS), named)
        todo = files(
            found,
            registry,
            parse_names(formats, "format"),
            parse_names(wanted, "figures") if wanted else None,
            width=width,
            prefix=prefix_of(results),
        )
    made = [(file.name, file.make()) for file in console.track(todo, "drawing figures")]
    for name, content in made:
        write_output(folder / name, content)
        console.say(str(folder / name))
