"""``bench plugin``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pseudobench.registry.scaffold import KINDS

if TYPE_CHECKING:
    from pseudobench.registry.components import Entry


@click.group()
def command() -> None:
    """Start a plugin, and check one."""


@command.command(epilog="\b\nExample:\n  bench plugin new my-rule --kind selector")
@click.argument("name")
@click.option("--kind", default="selector", show_default=True, help=f"One of: {', '.join(KINDS)}.")
@click.option("--folder", type=click.Path(path_type=Path), help="Where to write it. [NAME, here]")
def new(name: str, kind: str, folder: Path | None) -> None:
    """Write a small distribution with one component: module, entry point, test and README."""
    from pseudobench.output import console
    from pseudobench.registry.scaffold import create

    folder = folder or Path(name)
    for path in create(name, kind, folder):
        console.say(str(path))
    console.say(f"next: pip install -e '{folder}[test]' && pytest {folder}, then `bench list {name}`")


@command.command(epilog="\b\nExamples:\n  bench plugin check my_rule\n  bench plugin check ./my_rule.py")
@click.argument("module")
def check(module: str) -> int:
    """Check every component of a plugin (a module's name, or a file) against the contract of its kind."""
    from pseudobench.errors import PluginError
    from pseudobench.output import console

    with console.working("loading torch"):
        from pseudobench.testing import contract

    failed, rows = 0, []
    for entry in _components(module):
        for each in contract(entry.component, entry.kind):
            try:
                rows.append([entry.name, str(each), "ok", each() or ""])
            except PluginError as error:
                failed += 1
                rows.append([entry.name, str(each), "broken", str(error)])
    console.show_table(["component", "check", "", "note"], rows, title=f"{module}: {len(rows)} checks, {failed} broken")
    return int(bool(failed))


def _components(module: str) -> list[Entry]:
    """The components that a plugin supplies as classes; raises if it can't be loaded beside the installed ones."""
    from pseudobench.errors import BenchError, PluginError, one_line
    from pseudobench.registry.components import build_registry
    from pseudobench.registry.plugin_files import import_plugin
    from pseudobench.registry.plugins import PluginInfo, load_plugins

    try:
        plugin = import_plugin(module)
    except BenchError:
        raise
    except (Exception, SystemExit) as error:
        raise BenchError(f"{module} can't be imported: {one_line(error)}") from None
    plugins = load_plugins()
    name = plugins.manager.get_name(plugin)
    if name is None:
        name = plugin.__name__
        plugins.add(plugin, PluginInfo(name, "this check", "-"))
    registry = build_registry(plugins)
    if plugins.infos[name].error:
        raise PluginError(f"{module}: {plugins.infos[name].error}")
    if not plugins.infos[name].hooks:
        raise BenchError(f"{module} is no plugin: no function in it is marked with @hookimpl and named as a hook is")
    return [entry for entry in registry if entry.plugin == name and isinstance(entry.component, type)]
