"""The report as one HTML file: no request leaves it, and nothing that a record says is taken for markup."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

import vl_convert

from pseudobench.base.text import counted, visible
from pseudobench.maths.significance import LEVEL
from pseudobench.output.report.encodings import WIDTH, wrapped
from pseudobench.output.report.figures import Figure, figures
from pseudobench.output.report.packing import packed, packed_records
from pseudobench.output.report.page_sections import plain_value, section_content
from pseudobench.output.report.sections import Section
from pseudobench.output.report.summary import Summary, summarize_sections
from pseudobench.output.report.summary_figures import summary_figures
from pseudobench.output.report.themes import DARK, LIGHT, SHAPES, shapes
from pseudobench.output.text_tables import half_of, number

if TYPE_CHECKING:
    from pseudobench.contracts.columns import Record
    from pseudobench.registry.components import Registry

Progress = Callable[[Sequence[Any]], Iterable[Any]]
_LIBRARY = "the library that draws"  # its place in the page, which is filled in last


def render_page(
    found: Sequence[Section], registry: Registry, progress: Progress = iter, files: Sequence[str] = ()
) -> str:
    """The page as text. ``progress`` goes through the figures, which take the time; ``files`` are linked."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    here = resources.files(__package__)
    style, script = (here.joinpath(f"page.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
    summary = summarize_sections(found, registry)
    style += _swatches(summary)
    todo = [("", figure) for figure in summary_figures(summary)]
    todo += [(section.slug, figure) for section in found for figure in figures(section)]
    shown: dict[str, list[dict[str, Any]]] = {slug: [] for slug in ("", *(section.slug for section in found))}
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
    environment.filters["visible"] = visible  # for texts that tags are put into before they are shown
    library = vl_convert.javascript_bundle()  # type: ignore[call-arg]
    page = environment.get_template("page.html").render(
        title="pseudobench report",
        counts=_counts(records),
        period=_period(records),
        files=files,
        style=Markup(style),
        style_source=Markup(f"'{_hash(style)}'"),
        script=Markup(script),
        script_source=Markup(f"'{_hash(library)}' '{_hash(script)}'"),
        library=_LIBRARY,
        page_data=Markup(_json({"configs": [LIGHT.config(), DARK.config()], "dark": _dark()})),
        summary=_summary(summary, shown[""]),
        sections=[section_content(section, shown[section.slug], registry) for section in found],
        environment=_environments(records),
    )
    return page.replace(_LIBRARY, library, 1)


def _swatches(summary: Summary) -> str:
    """Styles of the legend's colours."""
    used = sorted(set(summary.names.values()))
    light = "".join(f".style{style}{{fill:{colour}}}" for style, colour in zip(used, LIGHT.colours(used), strict=True))
    dark = "".join(f".style{style}{{fill:{colour}}}" for style, colour in zip(used, DARK.colours(used), strict=True))
    return f"{light}\n@media (prefers-color-scheme: dark) {{{dark}}}\n"


def _dark() -> dict[str, str]:
    """Colours of light pages to those of dark ones."""
    pairs = zip((*LIGHT.palette, *_plain_colours(LIGHT)), (*DARK.palette, *_plain_colours(DARK)), strict=True)
    return dict(pairs)


def _plain_colours(theme: Any) -> tuple[str, str, str]:
    return theme.background, theme.ink, theme.faint


def _json(value: Any) -> str:
    """JSON that can stand in a page: no tag begins in it."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _summary(summary: Summary, shown: list[dict[str, Any]]) -> dict[str, Any]:
    """The summary as the template takes it. Columns without a test, and rows of little use, are shown on request."""
    tested = any(each.verdict.tested for each in summary.findings)
    heads = [{"name": "method", "meaning": "", "kind": ""}]
    if summary.ranks:
        meaning = "average over the columns with a test, of the methods that all of these have; 1 is the best"
        heads.append({"name": "average rank", "meaning": meaning, "kind": "number"})
    kinds = ["number further" if tested and not each.verdict.tested else "number" for each in summary.findings]
    heads += [
        {"name": name, "meaning": each.verdict.column.description, "kind": kind}
        for name, each, kind in zip(summary.places, summary.findings, kinds, strict=True)
    ]
    main = summary.main
    rows = []
    for name in summary.names:
        row: list[dict[str, Any]] = [_content(name, name, "" if name in main else "further")]
        if summary.ranks:
            rank = f"{summary.ranks[name]:.1f}" if name in summary.ranks else ""
            row.append(_content(rank, rank, "number"))
        row += [_matrix_cell(summary, name, place, kind) for place, kind in enumerate(kinds)]
        rows.append(row)
    words = f"{' or '.join(summary.measures)}, mean ± half of the 95 % t interval over seeds."
    if tested:
        words += (
            " Coloured: the best tier of its column, the best mean and every mean that is not found different from it "
            f"(all pairs tested together at {100 * LEVEL:g} %)."
        )
    return {
        "sentences": summary.sentences,
        "heads": heads,
        "rows": rows,
        "further": len(rows) - len(main) + kinds.count("number further"),
        "reading": words,
        "legend": [
            {
                "name": name,
                "style": style,
                "outline": SHAPES[shape],
                "series": json.dumps(_drawn_as(name)),
                "further": name not in main,
            }
            for (name, style), shape in zip(summary.names.items(), shapes(summary.names.values()), strict=True)
        ],
        "figures": shown,
    }


def _content(text: str, value: str, kind: str, mark: str = "", below: str = "") -> dict[str, Any]:
    return {"text": text, "below": [below] if below else [], "value": value, "kind": kind, "mark": mark}


def _drawn_as(name: str) -> list[str]:
    """What charts may call a series: its name, whole or in lines."""
    return [visible(each, keep="\n") for each in (name, *wrapped([name]))]


def _matrix_cell(summary: Summary, name: str, place: int, kind: str) -> dict[str, Any]:
    cell = summary.cells.get((name, place))
    if cell is None:
        return _content("", "", kind)
    column = summary.findings[place].verdict.column
    mark = "untested" if cell.best is None else "best" if cell.best else ""
    text, half = number(cell.value.mean, column), half_of(cell.value, column)
    return _content(text, plain_value(cell.value.mean), kind, mark, half)


def _figure(figure: Figure) -> dict[str, Any]:
    from markupsafe import Markup

    rows = [[visible(plain_value(value)) for value in row] for row in figure.data.itertuples(index=False)]
    spec = figure.spec(LIGHT)
    tables = {name: packed_records(table) for name, table in spec["datasets"].items()}
    data = {"spec": {**spec, "datasets": tables}, "numbers": packed(list(figure.data.columns), rows)}
    return {
        "title": figure.title,
        "note": figure.note,
        "alt": f"{figure.title}. {figure.alt} The numbers are in the table below.",
        "choices": figure.choices,
        "whole": spec.get("width", 0) > 1.5 * WIDTH,  # in half a page it would be too small to read
        "data": Markup(_json(data)),
    }


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
    each = ", ".join(f"{number} {state}" for state, number in sorted(states.items()))
    return f"{counted(len(records), 'run')}: {each}"


def _period(records: Sequence[Record]) -> str:
    days = sorted(str(record[key])[:10] for record in records for key in ("started", "finished") if record.get(key))
    if not days:
        return ""
    return f"made on {days[0]}" if days[0] == days[-1] else f"made from {days[0]} to {days[-1]}"


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
