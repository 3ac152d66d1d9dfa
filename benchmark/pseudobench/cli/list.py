"""``bench list``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pseudobench.cli.completing import anything
from pseudobench.cli.showing import show_json
from pseudobench.contracts.datasets import MULTI, SINGLE
from pseudobench.contracts.kinds import KINDS, STAGE_KINDS
from pseudobench.contracts.methods import Method
from pseudobench.contracts.parameters import Parameter, parameters, suggest
from pseudobench.contracts.settings import GROUPS
from pseudobench.errors import BenchError
from pseudobench.experiments.presets import PRESETS
from pseudobench.experiments.run_checks import samples_of
from pseudobench.registry.components import installed

if TYPE_CHECKING:
    from pseudobench.registry.components import Entry, Registry

_EXAMPLES = """\b
Examples:
  bench list
  bench list methods
  bench list ups
  bench list recipe
"""


@click.command(epilog=_EXAMPLES)
@click.argument("what", required=False, shell_complete=anything)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(what: str | None, as_json: bool) -> None:
    """List components: how many of each kind, and their names.

    WHAT is a kind (methods, datasets, selectors, ...), whose components are described, or a name, whose parameters are
    shown.
    """
    _, registry = installed()
    kinds = [*(kind.name for kind in KINDS), "presets", "settings"]
    if what == "methods":
        _print_methods(registry, as_json)
        return
    if what is None or what in kinds:
        shown = [what] if what else kinds
        rows = [(kind, name, text, who) for kind in shown for name, text, who in _rows(registry, kind)]
        _print_rows(rows, what, as_json)
        return
    entries = registry.find(what)
    if what in GROUPS:
        _print_parameters([(what, parameters(GROUPS[what]), GROUPS[what].__doc__ or "", [])], as_json)
    elif entries:
        _print_parameters([_described(entry) for entry in entries], as_json)
    else:
        known = [*kinds, *GROUPS, *(entry.name for entry in registry)]
        raise BenchError(f"there is no kind or component {what!r}{suggest(what, known, 'bench list')}")


def _rows(registry: Registry, kind: str) -> list[tuple[str, str, str]]:
    if kind == "presets":
        return [(preset.name, preset.description, "pseudobench") for preset in PRESETS.values()]
    if kind == "settings":
        return [(name, (group.__doc__ or "").split("\n")[0], "pseudobench") for name, group in GROUPS.items()]
    return [(entry.name, entry.summary, entry.plugin) for entry in registry.of(kind)]


def _print_rows(rows: list[tuple[str, str, str, str]], kind: str | None, as_json: bool) -> None:
    """Print the components of one kind, each with its description; without a kind the names of all, by kind."""
    if as_json:
        names = ("kind", "name", "description", "plugin")
        show_json([dict(zip(names, row, strict=True)) for row in rows])
        return
    from pseudobench.output.console import show_table, tell

    if kind is not None:
        show_table(["name", "what it is", "plugin"], [list(row[1:]) for row in rows])
        return
    by_kind: dict[str, list[str]] = {}
    for each, name, _, _ in rows:
        by_kind.setdefault(each, []).append(name)
    show_table(["kind", "count", "names"], [[each, str(len(held)), ", ".join(held)] for each, held in by_kind.items()])
    tell("`bench list KIND` describes each of a kind, `bench list NAME` shows the parameters of one.")


def _print_methods(registry: Registry, as_json: bool) -> None:
    """Methods with the tasks that all their stages are made for, and their source."""
    names = ("name", "description", "tasks", "source", "plugin")
    rows = [
        (each.name, each.summary, ", ".join(_tasks(registry, each.component)), each.component.reference, each.plugin)
        for each in registry.of("methods")
    ]
    if as_json:
        show_json([{"kind": "methods", **dict(zip(names, row, strict=True))} for row in rows])
        return
    from pseudobench.output.console import show_table

    show_table(["name", "what it is", "tasks", "source", "plugin"], [list(row) for row in rows])


def _tasks(registry: Registry, method: Method) -> list[str]:
    """The tasks that every stage of a method is made for."""
    made_for = [
        getattr(registry.get(STAGE_KINDS[stage].name, name), "tasks", (SINGLE,))
        for stage, name in method.stages.items()
    ]
    return [task for task in (SINGLE, MULTI) if all(task in tasks for tasks in made_for)]


def _described(entry: Entry) -> tuple[str, tuple[Parameter, ...], str, list[str]]:
    """Title, parameters, description and further lines of a component."""
    component = entry.component
    lines = []
    if entry.kind == "methods":
        lines += [f"{stage}: {name}" for stage, name in component.stages.items()]
        lines += [f"{key} = {value}" for key, value in component.settings.items()]
        lines += [
            f"{key} = {value} ({name})" for name, held in component.presets.items() for key, value in held.items()
        ]
        lines += [f"calibration: {component.calibration}"] if component.calibration else []
        lines += [f"reference: {component.reference}"] if component.reference else []
    elif entry.kind == "datasets":
        if isinstance(component.classes, int):
            sizes = f"{component.train_size} training and {component.test_size} test {samples_of(component)}"
            lines.append(f"{component.classes} classes, {sizes}")
            lines.append(f"default budget: {component.default_labels} labels")
        lines.append(f"default backbone: {component.backbone}")
    found = parameters(component) if isinstance(component, type) else ()
    return f"{entry.name} ({entry.kind}, plugin {entry.plugin})", found, entry.summary, lines


def _print_parameters(described: list[tuple[str, tuple[Parameter, ...], str, list[str]]], as_json: bool) -> None:
    if as_json:
        show_json([_as_json(*each) for each in described])
        return
    from pseudobench.output.console import show_table, tell

    for title, found, text, lines in described:
        tell(f"{title}: {text}")
        for line in lines:
            tell(line, indent=2)
        if found:
            rows = [[p.name, str(p.default), p.allowed, p.meaning] for p in found]
            show_table(["parameter", "default", "allowed", "meaning"], rows)


def _as_json(title: str, found: tuple[Parameter, ...], text: str, lines: list[str]) -> dict[str, Any]:
    described = [{"name": p.name, "default": p.default, "allowed": p.allowed, "meaning": p.meaning} for p in found]
    return {"component": title, "description": text, "details": lines, "parameters": described}
