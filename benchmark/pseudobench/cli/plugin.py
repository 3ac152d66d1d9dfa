"""``bench plugin``."""

from __future__ import annotations

import re
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pseudobench.base.text import counted
from pseudobench.registry.scaffold import KINDS

if TYPE_CHECKING:
    from types import ModuleType

    from pseudobench.registry.components import Entry, Registry
    from pseudobench.testing import Check


@click.group()
def command() -> None:
    """Write a new plugin, or check one."""


@command.command(epilog="\b\nExample:\n  bench plugin new my-rule --kind selector")
@click.argument("name")
@click.option("--kind", default="selector", show_default=True, help=f"One of: {', '.join(KINDS)}.")
@click.option("--folder", type=click.Path(path_type=Path), help="Folder to write it to. [NAME, in the current folder]")
def new(name: str, kind: str, folder: Path | None) -> None:
    """Write a small distribution with one component: module, entry point, test and README."""
    from pseudobench.cli.main import COMMANDS
    from pseudobench.errors import BenchError
    from pseudobench.output import console
    from pseudobench.registry.scaffold import create

    if kind == "command" and name in COMMANDS:
        raise BenchError(f"the name {name!r} is taken: bench has a command of that name; choose another")
    folder = folder or Path(name)
    written = list(create(name, kind, folder))
    for path in written:
        console.say(str(path))
    module = next(path for path in written if path.name.startswith("pseudobench_"))
    console.say(f"next: bench plugin check {module}; later pip install -e '{folder}[test]' && pytest {folder}")


@command.command(epilog="\b\nExamples:\n  bench plugin check my_rule\n  bench plugin check ./my_rule.py")
@click.argument("module")
def check(module: str) -> int:
    """Check every component of a plugin against the contract of its kind.

    MODULE is a file, the folder of a new plugin, a module's name, or the name of an installed plugin.
    """
    from pseudobench.errors import PluginError
    from pseudobench.output import console

    with console.working("loading torch"):
        from pseudobench.testing import contract

    found, registry, plugin = _components(module)
    rows: dict[tuple[str, str], list[str]] = {}
    checks: list[tuple[Entry | str, Check]] = [
        (entry, each) for entry in found for each in contract(entry.component, entry.kind, registry=registry)
    ]
    for about, each in checks + _hook_checks(plugin):
        name = about if isinstance(about, str) else about.name
        try:
            rows[name, str(each)] = ["ok", each() or ""]
        except PluginError as error:
            note = f"{error} ({_place(error, about, plugin)})"
            same = [row for key, row in rows.items() if key[0] == name and _shape(row[:2]) == _shape(["broken", note])]
            if same:  # one problem, seen by another check too
                same[0].append(str(each))
            else:
                rows[name, str(each)] = ["broken", note]
    broken = sum(row[0] == "broken" for row in rows.values())
    shown = [
        [*key, state, "; also: ".join([note, *([", ".join(also)] if also else [])])]
        for key, (state, note, *also) in rows.items()
    ]
    title = f"{module}: {counted(len(shown), 'check')}, {broken} broken"
    console.show_table(["component", "check", "", "note"], shown, title=title)
    return int(bool(broken))


def _shape(row: list[str]) -> list[str]:
    """A row without its numbers: shapes that are wrong for one pool are wrong for all."""
    return [re.sub(r"\d+", "0", text.rpartition(" (")[0]) + text.rpartition(" (")[2] for text in row]


def _hook_checks(plugin: ModuleType) -> list[tuple[Entry | str, Check]]:
    """The checks of what is no component: commands, which are added to a bench of their own, and listeners."""
    from pseudobench.contracts.kinds import KINDS as ALL_KINDS
    from pseudobench.testing import Check

    offers = {kind.hook for kind in ALL_KINDS}
    own = [name for name in vars(plugin) if name.startswith("bench_") and name not in offers]
    return [
        (name.removeprefix("bench_"), Check("can be added to bench", lambda: _commands(plugin)))
        if name == "bench_commands"
        else (name.removeprefix("bench_"), Check("takes what it is given", lambda: "not called here: a run calls it"))
        for name in own
    ]


def _commands(plugin: ModuleType) -> str:
    """Add the commands of a plugin to a new group; their names. Raises if one can't be added, or has no help."""
    from pseudobench.cli.main import Bench
    from pseudobench.errors import PluginError

    group = Bench("bench")
    plugin.bench_commands(cli=group)
    for name, each in group.commands.items():
        if not (each.help or each.short_help):
            raise PluginError(f"the command {name!r} has no help: give its function a docstring")
    return ", ".join(group.commands)


def _place(error: BaseException, about: Entry | str, plugin: ModuleType) -> str:
    """File and line of a problem: the plugin's last line that ran, else where the component begins."""
    import inspect

    from pseudobench.contracts.kinds import kind_named

    folder = Path(str(plugin.__file__)).parent
    frames = traceback.extract_tb((error.__cause__ or error).__traceback__)
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(folder)]
    if own:
        return f"{Path(own[-1].filename).name}:{own[-1].lineno}"
    verb = "" if isinstance(about, str) else kind_named(about.kind).verb or "read"
    code = getattr(getattr(about, "component", None), verb, None) if verb else None
    code = getattr(code, "__code__", None)
    if code is not None:
        return f"{Path(code.co_filename).name}:{code.co_firstlineno}"
    hook = getattr(plugin, f"bench_{about}" if isinstance(about, str) else kind_named(about.kind).hook, None)
    line = inspect.getsourcelines(hook)[1] if inspect.isfunction(hook) else 1
    return f"{Path(str(plugin.__file__)).name}:{line}"


def _components(module: str) -> tuple[list[Entry], Registry, ModuleType]:
    """The components of a plugin, those of all plugins, and the plugin; raises if it can't be loaded."""
    from pseudobench.errors import BenchError, PluginError, one_line
    from pseudobench.registry.components import build_registry
    from pseudobench.registry.plugins import PluginInfo, load_plugins

    try:
        plugin = _plugin(module)
    except BenchError:
        raise
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and error.name == module:
            raise BenchError(f"there is no plugin and no module {module!r}; a file ends in .py") from None
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if Path(frame.filename).is_relative_to(Path(module).absolute().parent)]
        place = f" ({Path(own[-1].filename).name}:{own[-1].lineno})" if own else ""
        raise BenchError(f"{module} can't be imported: {one_line(error)}{place}") from None
    plugins = load_plugins()
    name = plugins.manager.get_name(plugin)
    if name is None:
        name = plugin.__name__
        plugins.add(plugin, PluginInfo(name, "this check", "-"))
    registry = build_registry(plugins)
    if plugins.infos[name].error:
        raise PluginError(f"{module}: {plugins.infos[name].error}")
    return [entry for entry in registry if entry.plugin == name], registry, plugin


def _plugin(name: str) -> Any:
    """A plugin by the name under which it is installed, its file, its folder with one plugin, or its module.

    In a folder, modules whose names continue that of another are parts of that one.
    """
    from importlib.metadata import entry_points

    from pseudobench.contracts.hookspecs import PROJECT
    from pseudobench.errors import BenchError
    from pseudobench.registry.plugin_files import import_plugin

    for point in entry_points(group=PROJECT, name=name):
        return point.load()
    folder = Path(name)
    if not folder.is_dir():
        return import_plugin(name)
    found = list(folder.glob("pseudobench_*.py"))
    modules = [path for path in found if not any(path.stem.startswith(f"{other.stem}_") for other in found)]
    if len(modules) != 1:
        such = folder / f"pseudobench_{folder.resolve().name.replace('-', '_')}.py"
        raise BenchError(f"{name} is a folder; name the module in it, such as {such}")
    return import_plugin(str(modules[0]))
