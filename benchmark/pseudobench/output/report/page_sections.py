"""The sections of the report's page: tables, comparisons, problems, and the commands that repeat the runs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pseudobench.analysis.comparisons import Side, compare_sides
from pseudobench.analysis.run_facts import pick_columns
from pseudobench.analysis.tables import DEFAULT_COLUMNS, Table
from pseudobench.contracts.run_spec import RunSpec
from pseudobench.errors import BenchError
from pseudobench.experiments.repeat_commands import Command, commands
from pseudobench.output.report.sections import Section
from pseudobench.output.sentences import sentences
from pseudobench.output.table_words import how_to_read, shared_words
from pseudobench.output.text_tables import Shown, number_cells, runs_cell, word_columns, words_of

if TYPE_CHECKING:
    from pseudobench.contracts.columns import Record
    from pseudobench.registry.components import Registry


def section_content(section: Section, shown: list[dict[str, Any]], registry: Registry) -> dict[str, Any]:
    """A section as the template takes it; ``shown`` are its figures."""
    table = section.table
    return {
        "title": section.title,
        "slug": section.slug,
        "shared": [(key, value) for key, value in shared_words(table).items() if key not in ("dataset", "labels")],
        "problems": problems(section),
        "alone": max(len(each.done) for each in section.series) == 1,
        "heads": _heads(table),
        "rows": _rows(table),
        "further": sum(heading.column.name not in DEFAULT_COLUMNS for heading in table.headings),
        "reading": how_to_read(table),
        "comparisons": _comparisons(section, registry),
        "figures": shown,
        "commands": _commands(section.records, registry),
    }


def _heads(table: Table) -> list[dict[str, Any]]:
    """Headings as rows have them: the method first, how many runs there are, then numbers, the usual ones first."""
    *words, method = word_columns(table)
    keys = [method, *words]
    runs = {"name": "runs", "meaning": "runs that are done; below, how many are not", "kind": "number"}
    numbers = [
        {"name": column.name, "meaning": column.description, "kind": _kind(column.name)}
        for column in (heading.column for heading in table.headings)
    ]
    return [*({"name": key, "meaning": "", "kind": ""} for key in keys), runs, *numbers]


def _kind(column: str) -> str:
    """Classes of a column's cells; further columns are those that `bench table` does not show either unless asked."""
    return "number" if column in DEFAULT_COLUMNS else "number further"


def problems(section: Section) -> list[tuple[str, str]]:
    """Every run that failed, is not finished, or that other rows have and this one has no record of."""
    found = []
    for record in section.records:
        if record["status"] != "done":
            why = (record["error"] or {}).get("message")
            found.append((str(record["run_id"]), str(record["status"]) + (f": {why}" if why else "")))
    for name, seeds in section.gaps.items():
        listed = ", ".join(str(seed) for seed in seeds)
        found.append((name, f"no record of seed{'s' * (len(seeds) > 1)} {listed}, which other rows have"))
    return found


def _rows(table: Table) -> list[list[dict[str, Any]]]:
    """The cells as `bench table` has them, in the order of the headings, with what they are sorted by."""
    made = []
    for row, numbers in zip(table.rows, number_cells(table), strict=True):
        *words, method = words_of(row, table)
        cells = [cell_content(each, each.main, "") for each in (method, *words)]
        cells.append(cell_content(runs_cell(row), row.done, "number"))
        for heading, cell, shown in zip(table.headings, row.cells, numbers, strict=True):
            cells.append(cell_content(shown, plain_value(cell.value.mean) if cell else "", _kind(heading.column.name)))
        made.append(cells)
    return made


def cell_content(shown: Shown, value: Any, kind: str) -> dict[str, Any]:
    """Of numbers, the interval and remarks go below the mean."""
    return {"text": shown.main, "below": shown.below, "value": value, "kind": kind, "mark": shown.mark}


def _comparisons(section: Section, registry: Registry) -> dict[str, Any] | None:
    """What `bench compare` says of all methods against the first, which is supervised training if it was run.

    That one is named by the table's order and not by its results, so that the tests mean what they say.
    """
    first, *others = dict.fromkeys(each.arm.method for each in section.series if not each.arm.ceiling) or [""]
    if not others:
        return None
    (column,) = pick_columns(registry, [section.measure])
    try:
        lines = sentences(compare_sides(section.arms, [Side(first), *map(Side, others)], column))
    except BenchError as error:  # nothing to pair, and why
        lines = [str(error)]
    return {"baseline": first, "measure": section.measure, "lines": lines}


def plain_value(value: Any) -> str:
    """A number with six digits, anything else as text."""
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return str(value)


def _commands(records: Iterable[Record], registry: Registry) -> list[Command]:
    return commands((RunSpec.from_json(record["spec"]) for record in records), registry)
