"""The report as one HTML file: no request leaves it, and nothing that a record says is taken for markup."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

from pseudobench.analysis.comparisons import Side, compare_sides
from pseudobench.analysis.run_facts import pick_columns
from pseudobench.analysis.tables import DEFAULT_COLUMNS, Table
from pseudobench.base.text import visible
from pseudobench.contracts.run_spec import RunSpec
from pseudobench.errors import BenchError
from pseudobench.experiments.repeat_commands import Command, commands
from pseudobench.output.report.figures import Figure, figures
from pseudobench.output.report.sections import Section
from pseudobench.output.report.themes import DARK, LIGHT
from pseudobench.output.sentences import sentences
from pseudobench.output.table_words import how_to_read, shared_words
from pseudobench.output.text_tables import Shown, number_cells, runs_cell, word_columns, words_of

if TYPE_CHECKING:
    from pseudobench.contracts.columns import Record
    from pseudobench.registry.components import Registry

Progress = Callable[[Sequence[Any]], Iterable[Any]]


def render_page(found: Sequence[Section], registry: Registry, progress: Progress = iter) -> str:
    """The page as text. ``progress`` goes through the figures, which take the time."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    here = resources.files(__package__)
    style, script = (here.joinpath(f"page.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
    todo = [(section.slug, figure) for section in found for figure in figures(section)]
    shown: dict[str, list[dict[str, Any]]] = {section.slug: [] for section in found}
    for slug, figure in progress(todo):
        shown[slug].append(_figure(figure))
    records = [record for section in found for record in section.records]
    environment = Environment(
        loader=PackageLoader(__package__, "."),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html").render(
        title="pseudobench report",
        counts=_counts(records),
        period=_period(records),
        style=Markup(style),
        style_hash=_hash(style),
        script=Markup(script),
        script_hash=_hash(script),
        sections=[_section(section, shown[section.slug], registry) for section in found],
        environment=_environments(records),
    )


def _shown(value: Any) -> Any:
    """A value of the page with invisible characters as escapes; style, script and what holds tags keep their lines."""
    if hasattr(value, "__html__"):
        return type(value)(visible(value, keep="\n\t"))
    return visible(value) if isinstance(value, str) else value


def _hash(text: str) -> str:
    """How the content security policy knows a script or style; no other is taken."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _counts(records: Sequence[Record]) -> str:
    states = Counter(str(record["status"]) for record in records)
    runs = "1 run" if len(records) == 1 else f"{len(records)} runs"
    return f"{runs}: " + ", ".join(f"{number} {state}" for state, number in sorted(states.items()))


def _period(records: Sequence[Record]) -> str:
    days = sorted(str(record[key])[:10] for record in records for key in ("started", "finished") if record.get(key))
    if not days:
        return ""
    return f"made on {days[0]}" if days[0] == days[-1] else f"made from {days[0]} to {days[-1]}"


def _section(section: Section, shown: list[dict[str, Any]], registry: Registry) -> dict[str, Any]:
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
        cells = [_cell(each, each.main, "") for each in (method, *words)]
        cells.append(_cell(runs_cell(row), row.done, "number"))
        for heading, cell, shown in zip(table.headings, row.cells, numbers, strict=True):
            cells.append(_cell(shown, _plain(cell.value.mean) if cell else "", _kind(heading.column.name)))
        made.append(cells)
    return made


def _cell(shown: Shown, value: Any, kind: str) -> dict[str, Any]:
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


def _figure(figure: Figure) -> dict[str, Any]:
    light, dark = (figure.render(theme, "svg", aria=False) for theme in (LIGHT, DARK))
    size = re.search(rb'width="([\d.]+)" height="([\d.]+)"', light)
    assert size is not None
    return {
        "title": figure.title,
        "note": figure.note,
        "alt": f"{figure.title}. {figure.alt} The numbers are in the table below.",
        "light": _image(light),
        "dark": _image(dark),
        "width": size[1].decode(),
        "height": size[2].decode(),
        "columns": list(figure.data.columns),
        "rows": [[_plain(value) for value in row] for row in figure.data.itertuples(index=False)],
    }


def _image(svg: bytes) -> str:
    """An image of its own: scripts never run in one, and its names do not meet those of others."""
    return "data:image/svg+xml;base64," + base64.b64encode(svg).decode()


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    return str(value)


def _commands(records: Iterable[Record], registry: Registry) -> list[Command]:
    return commands((RunSpec.from_json(record["spec"]) for record in records), registry)


def _environments(records: Iterable[Record]) -> list[tuple[str, list[tuple[str, int]]]]:
    """What the runs ran on: each thing with its values, and how many runs have each."""
    found: dict[str, Counter[str]] = {}
    for record in records:
        for key, value in _environment(record["environment"] or {}):
            found.setdefault(key, Counter())[value] += 1
    return [(key, counter.most_common()) for key, counter in found.items()]


def _environment(environment: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    source = environment.get("source") or {}
    changed = " with changes that are not committed" if source.get("changed") else ""
    yield "source revision", f"{source.get('revision', 'not known')}{changed}"
    for key in ("device", "device_name", "cores", "threads", "deterministic", "platform", "python"):
        if key in environment:
            yield key.replace("_", " "), str(environment[key])
    for name, version in (environment.get("versions") or {}).items():
        if version is not None:
            yield str(name), str(version)
