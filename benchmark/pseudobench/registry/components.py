"""All components in use, by kind and name. Duplicates raise, unknown names suggest."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

from pseudobench.contracts.kinds import KINDS, STAGE_KINDS, Kind, kind_named
from pseudobench.contracts.methods import Method
from pseudobench.contracts.parameters import Value, parameters, suggest
from pseudobench.contracts.protocols import DatasetSource
from pseudobench.contracts.run_spec import RunSpec
from pseudobench.errors import BenchError, BenchWarning, PluginError
from pseudobench.registry.checks import check_component
from pseudobench.registry.edited_files import forget_hashes
from pseudobench.registry.plugin_files import plugin_files
from pseudobench.registry.plugins import FILE, HERE, PluginInfo, Plugins, load_plugins


@dataclass(frozen=True)
class Entry:
    """A component and the plugin that supplied it; ``owner`` adds the plugin's distribution and version."""

    kind: str
    name: str
    component: Any
    plugin: str
    owner: str

    @property
    def summary(self) -> str:
        """One line about the component."""
        text = getattr(self.component, "description", None) or (self.component.__doc__ or "")
        return str(text).strip().split("\n")[0]


class Registry:
    """Every component in use."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str], Entry] = {}

    def add(self, kind: Kind, component: Any, plugin: str, owner: str = "") -> None:
        """Take in a component; raises if it is malformed or its name is taken.

        Names differ across all stages, not only within one kind: a composition such as ``raps+hard+ups`` gives names
        alone.
        """
        check_component(kind, component)
        name = component.name
        for rival in STAGE_KINDS.values() if kind.stage else (kind,):
            if (rival.name, name) in self._entries:
                first = self._entries[rival.name, name].owner
                raise PluginError(f"the name {name!r} is taken: {first} supplies it in {rival.name}")
        self._entries[kind.name, name] = Entry(kind.name, name, component, plugin, owner or f"plugin {plugin!r}")

    def discard(self, plugin: str) -> None:
        """Take out everything that a plugin supplied."""
        self._entries = {key: entry for key, entry in self._entries.items() if entry.plugin != plugin}

    def of(self, kind: str) -> list[Entry]:
        """Every component of a kind: methods by rank, others in the order in which plugins load."""
        found = [entry for entry in self._entries.values() if entry.kind == kind]
        return sorted(found, key=lambda entry: entry.component.rank) if kind == "methods" else found

    def get(self, kind: str, name: str) -> Any:
        """A component by kind and name."""
        if (kind, name) not in self._entries:
            known = [entry.name for entry in self.of(kind)]
            singular = kind_named(kind).singular.replace("-", " ")
            raise BenchError(f"there is no {singular} {name!r}{suggest(name, known, f'bench list {kind}')}")
        return self._entries[kind, name].component

    def make(self, stage: str, name: str, values: Mapping[str, Value]) -> Any:
        """The component ``name`` of a stage with these parameters. Stages are made here and nowhere else."""
        return self.get(STAGE_KINDS[stage].name, name)(**values)

    def stage_of_run(self, spec: RunSpec, stage: str) -> Any:
        """The component that does a stage of a run; None where the run's method has no such stage."""
        name = spec.stages.get(stage)
        return None if name is None else self.make(stage, name, spec.settings[name])

    def dataset(self, text: str) -> DatasetSource:
        """A dataset's source by name; the text behind a colon (``folder:PATH``) is its first parameter."""
        name, colon, argument = text.partition(":")
        source = self.get("datasets", name)
        takes = parameters(source)
        if colon and not takes:
            raise BenchError(f"the dataset {name!r} takes nothing behind a colon")
        made: DatasetSource = source(**{takes[0].name: argument}) if colon else source()
        return made

    def owner(self, kind: str, name: str) -> str:
        """The plugin that supplied a component, with its distribution and version."""
        return self._entries[kind, name].owner

    def find(self, name: str) -> list[Entry]:
        """Every entry with this name, of whatever kind."""
        return [entry for entry in self._entries.values() if entry.name == name]

    def defaults(self, kind: str) -> list[str]:
        """The names of the components of a kind that are taken where none is named."""
        return [entry.name for entry in self.of(kind) if getattr(entry.component, "is_default", False)]

    def method(self, text: str) -> Method:
        """A method by name, or a composition of components such as ``mc-dropout+raps+set-argmax+ups``.

        A selector's name alone is a composition with the default estimator and labeler.
        """
        alone = ("methods", text) not in self._entries and any(
            (kind.name, text) in self._entries for kind in STAGE_KINDS.values()
        )
        method: Method = self._compose(text) if alone or "+" in text else self.get("methods", text)
        return method

    def _compose(self, text: str) -> Method:
        stages: dict[str, str] = {}
        said = [name.strip() for name in text.split("+")]
        for name in said:
            stage = self._stage_of(name)
            if stage in stages:
                raise BenchError(f"method {text!r} names two for its {stage}: {stages[stage]!r} and {name!r}")
            stages[stage] = name
        if "selector" not in stages:
            names = ", ".join(entry.name for entry in self.of("selectors"))
            raise BenchError(f"method {text!r} needs a selector; add one of: {names}")
        if "sets" in stages:
            stages.setdefault("scaling", self.get("set-predictors", stages["sets"]).scaling)
            if "labeler" not in stages:
                names = ", ".join(entry.name for entry in self.of("labelers"))
                raise BenchError(f"method {text!r} has sets, so say which labeler it takes; one of: {names}")
        for stage in ("estimator", "labeler"):
            if stage not in stages:
                stages[stage] = self._default(text, stage)
        named = [stages[stage] for stage in STAGE_KINDS if stages.get(stage) in said]
        return Method(name="+".join(named), description="composed on the command line", **stages)  # type: ignore[arg-type]

    def _stage_of(self, name: str) -> str:
        """The stage that the component called ``name`` does."""
        for stage, kind in STAGE_KINDS.items():
            if (kind.name, name) in self._entries:
                return stage
        known = [entry.name for kind in STAGE_KINDS.values() for entry in self.of(kind.name)]
        raise BenchError(f"there is no component {name!r}{suggest(name, known, 'bench list')}")

    def _default(self, method: str, stage: str) -> str:
        """The component that a composition takes for a stage it does not name."""
        found = self.defaults(STAGE_KINDS[stage].name)
        if not found:
            raise BenchError(f"method {method!r} needs to name its {stage}: no installed one is a default")
        return found[0]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())


def build_registry(plugins: Plugins) -> Registry:
    """Ask every plugin for its components. One that breaks the rules is taken out whole, and noted."""
    registry = Registry()
    for kind in KINDS:
        for info, offered in plugins.each(kind.hook):
            _take(registry, plugins, info, kind, offered)
    for info in plugins.broken:
        registry.discard(info.name)
    return registry


def _take(registry: Registry, plugins: Plugins, info: PluginInfo, kind: Kind, offered: Any) -> None:
    try:
        if not isinstance(offered, list | tuple):
            raise PluginError(f"it must return a list, not {type(offered).__name__}")
        for component in offered:
            registry.add(kind, component, info.name, str(info))
    except Exception as error:
        plugins.fail(info, error, kind.hook)


@cache
def installed() -> tuple[Plugins, Registry]:
    """The installed plugins and their components, loaded once per process. Warns of each that is not in use."""
    return with_plugins()


def as_of_now(*further: ModuleType) -> tuple[Plugins, Registry]:
    """As `with_plugins`, with code as it is now: in a session of Python, files and classes change between two calls.

    Installed plugins do not: they are those of `installed`, unless there are others.
    """
    forget_hashes()
    return with_plugins(*further) if further or plugin_files() else installed()


def with_plugins(*further: ModuleType) -> tuple[Plugins, Registry]:
    """The installed plugins, and ``further`` ones, with their components. Warns of each that is not in use."""
    plugins = load_plugins()
    for module in further:
        plugins.add(module, PluginInfo(module.__name__, HERE, "-"))
    registry = build_registry(plugins)
    for info in plugins.infos.values():
        if info.error and info.distribution in (FILE, HERE):
            raise BenchError(f"{info} can't be used: {info.error}")
    for broken in plugins.broken:
        warnings.warn(f"{broken} is not in use: {broken.error}", BenchWarning, stacklevel=2)
    return plugins, registry
