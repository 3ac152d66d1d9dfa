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

from pseudobench.commands import Command, commands
from pseudobench.report.figures import Figure, figures
from pseudobench.report.sections import Record, Section
from pseudobench.report.themes import DARK, LIGHT
from pseudobench.spec import RunSpec

if TYPE_CHECKING:
    from pseudobench.registry import Registry
    from pseudobench.tables import Table

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
        "shared": [(key, value) for key, value in table.caption.items() if key not in ("dataset", "labels")],
        "problems": problems(section),
        "alone": max(len(each.done) for each in section.series) == 1,
        "heads": _heads(table),
        "rows": [_row(table, place) for place in range(len(table.rows))],
        "figures": shown,
        "commands": _commands(section.records, registry),
    }


def _heads(table: Table) -> list[dict[str, Any]]:
    """Headings as rows have them: the method first, and how many runs there are before any number."""
    keys = ["method", *(key for key in table.keys if key != "method")]
    runs = {"name": "runs", "meaning": "runs that are done; below, how many are not", "number": True}
    numbers = [{"name": each.name, "meaning": each.description, "number": True} for each in table.columns]
    return [*({"name": key, "meaning": "", "number": False} for key in keys), runs, *numbers]


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


def _row(table: Table, place: int) -> list[dict[str, Any]]:
    """The texts of a row, and what it is sorted by."""
    identity, cells, done, missing = table.rows[place]
    named = dict(zip(table.keys, identity, strict=True))
    texts = [named.pop("method"), *named.values()]
    row: list[dict[str, Any]] = [{"text": text, "value": text, "below": [], "number": False} for text in texts]
    row.append({"text": str(done), "value": done, "below": [f"{missing} not done"] if missing else [], "number": True})
    for column in table.columns:
        cell = cells[column.name]
        text, *below = cell.text(column, done).replace(" (", "|(").replace(" ±", "|±").split("|")
        row.append({"text": text, "value": _plain(cell.mean) if cell.n else "", "below": below, "number": True})
    return row


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
