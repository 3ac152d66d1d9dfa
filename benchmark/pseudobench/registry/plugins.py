"""Loading plugins, each by itself, so that a broken one is named and the rest works."""

from __future__ import annotations

import inspect
import warnings
from copy import deepcopy
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import pluggy

from pseudobench.contracts import hookspecs
from pseudobench.contracts.parameters import suggest
from pseudobench.errors import BenchError, BenchWarning, PluginError, one_line
from pseudobench.registry.edited_files import forget_changed
from pseudobench.registry.plugin_files import import_plugin, plugin_files

#: The version of the plugin API: hooks, protocols, data types. It rises with what plugins can rely on.
API = 2
#: The versions that plugins may be made for.
ACCEPTED = (1, 2)
#: The attribute with which pluggy marks what is decorated with `hookimpl`.
_MARK = f"{hookspecs.PROJECT}_impl"
#: Where plugins come from that are not installed, in place of a distribution.
FILE, HERE = "a file", "this process"


@dataclass(frozen=True)
class PluginInfo:
    """One plugin: its distribution, the hooks it implements, or the reason why it is not in use."""

    name: str
    distribution: str
    version: str
    hooks: tuple[str, ...] = ()
    error: str | None = None

    def __str__(self) -> str:
        return f"plugin {self.name!r} ({self.distribution} {self.version})"


class Plugins:
    """The plugins in use (``manager``), and a description of each, broken ones included (``infos``)."""

    def __init__(self) -> None:
        self.manager = pluggy.PluginManager(hookspecs.PROJECT)
        self.manager.add_hookspecs(hookspecs)
        self.infos: dict[str, PluginInfo] = {}

    def add(self, plugin: Any, info: PluginInfo) -> None:
        """Register a plugin object, or note why it can't be."""
        try:
            _check_api(plugin)
            self.manager.register(plugin, info.name)
            self._check_hooks(plugin)
        except Exception as error:
            self.fail(info, error)
            return
        callers = self.manager.get_hookcallers(plugin) or []
        if not callers:
            self.fail(info, PluginError("it supplies nothing: none of its functions is a pseudobench.hookimpl"))
            return
        hooks = tuple(sorted(caller.name for caller in callers))
        self.infos[info.name] = PluginInfo(info.name, info.distribution, info.version, hooks)

    def _check_hooks(self, plugin: Any) -> None:
        """Raise for hooks that do not exist or are not marked, and for options of pluggy that have no effect here."""
        known = [name for name, value in vars(hookspecs).items() if inspect.isfunction(value)]
        for name in known:
            if inspect.isroutine(found := getattr(plugin, name, None)) and not hasattr(found, _MARK):
                raise PluginError(f"{name} is not in use: it lacks the line @hookimpl above it")
        for caller in self.manager.get_hookcallers(plugin) or []:
            if not caller.has_spec():
                raise LookupError(f"there is no hook {caller.name!r}{suggest(caller.name, known)}")
            for each in caller.get_hookimpls():
                if each.plugin is plugin and (each.tryfirst or each.trylast or each.wrapper or each.hookwrapper):
                    raise PluginError(f"{caller.name}: tryfirst, trylast and wrappers have no effect; omit them")

    def fail(self, info: PluginInfo, error: BaseException, hook: str = "") -> None:
        """Take a plugin out of use and say why, and in which hook."""
        if self.manager.has_plugin(info.name):
            self.manager.unregister(name=info.name)
        reason = (f"{hook}: " if hook else "") + one_line(error)
        self.infos[info.name] = PluginInfo(info.name, info.distribution, info.version, error=reason)

    def each(self, hook: str, **arguments: Any) -> list[tuple[PluginInfo, Any]]:
        """Call a hook on every plugin by itself, in load order; one that raises is taken out of use."""
        results = []
        implementations = list(getattr(self.manager.hook, hook).get_hookimpls())
        for implementation in sorted(implementations, key=lambda i: list(self.infos).index(i.plugin_name)):
            info = self.infos[implementation.plugin_name]
            wanted = {name: arguments[name] for name in implementation.argnames}
            try:
                results.append((info, implementation.function(**wanted)))
            except (Exception, SystemExit) as error:
                self.fail(info, error, hook)
        return results

    def notify(self, event: str, **arguments: Any) -> None:
        """Tell every listener of an event; one that raises is warned of by name."""
        for implementation in getattr(self.manager.hook, event).get_hookimpls():
            # Copies: a listener that changes its arguments must not change the record.
            wanted = {name: deepcopy(arguments[name]) for name in implementation.argnames}
            try:
                implementation.function(**wanted)
            except (Exception, SystemExit) as error:
                info = self.infos[implementation.plugin_name]
                warnings.warn(f"{info} failed in {event}: {one_line(error)}", BenchWarning, stacklevel=2)

    @property
    def versions(self) -> dict[str, str]:
        """Plugin to the distribution and version that it comes from, for those in use."""
        return {info.name: f"{info.distribution} {info.version}" for info in self.infos.values() if not info.error}

    @property
    def broken(self) -> list[PluginInfo]:
        """The plugins that are not in use."""
        return [info for info in self.infos.values() if info.error]


def _check_api(plugin: Any) -> None:
    """Raise if a plugin says that it was made for another API (`PSEUDOBENCH_API = 2` in its module)."""
    wanted = getattr(plugin, "PSEUDOBENCH_API", API)
    if wanted not in ACCEPTED:
        newer = isinstance(wanted, int) and wanted > API
        cure = "a newer pseudobench" if newer else "a newer version of the plugin, or an older pseudobench"
        raise PluginError(f"it is made for version {wanted} of the plugin API, and this has {API}: install {cure}")


def load_plugins(*, bundled: bool = True) -> Plugins:
    """Every installed plugin, or all but the bundled. Bundled ones come first: no other plugin can take their names."""
    plugins = Plugins()
    for point in sorted(entry_points(group=hookspecs.PROJECT), key=_own_first):
        if not bundled and _distribution(point) == hookspecs.PROJECT:
            continue
        version = point.dist.version if point.dist else "?"
        info = PluginInfo(point.name, _distribution(point), version)
        if point.name in plugins.infos:
            taken = plugins.infos[point.name].distribution
            twin = PluginInfo(f"{point.name} ({info.distribution})", info.distribution, version)
            plugins.fail(twin, LookupError(f"the plugin name {point.name!r} is taken by {taken}"))
            continue
        try:
            plugin = point.load()
        except (Exception, SystemExit) as error:
            plugins.fail(info, error)
        else:
            plugins.add(plugin, info)
    forget_changed(plugin_files())
    for file in plugin_files():
        _add_file(plugins, file)
    return plugins


def _add_file(plugins: Plugins, file: str) -> None:
    """Register a plugin that is a file; raises if it can't be used: somebody has asked for it by name."""
    info = PluginInfo(Path(file).stem, FILE, Path(file).name)
    if info.name in plugins.infos:
        info = replace(info, name=file)
    try:
        plugins.add(import_plugin(file), info)
    except (Exception, SystemExit) as error:
        raise BenchError(f"the plugin file {file} can't be used: {one_line(error)}") from error
    if plugins.infos[info.name].error:
        raise BenchError(f"the plugin file {file} can't be used: {plugins.infos[info.name].error}")


def _distribution(point: EntryPoint) -> str:
    return point.dist.name if point.dist else "?"


def _own_first(point: EntryPoint) -> tuple[bool, str, str]:
    """The plugins of this distribution, then others, by name: the order does not depend on how they were installed."""
    distribution = _distribution(point)
    return distribution != hookspecs.PROJECT, distribution, point.name
