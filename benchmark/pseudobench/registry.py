"""Name to component, with who supplied it. Duplicates raise, unknown names suggest."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, is_dataclass
from functools import cache
from typing import Any

from pseudobench.columns import COLUMNS, Column
from pseudobench.errors import BenchError, BenchWarning, PluginError
from pseudobench.methods import STAGES, UNSAID, Method
from pseudobench.parameters import parameters, suggest
from pseudobench.plugins import PluginInfo, Plugins, load_plugins
from pseudobench.presets import GROUPS
from pseudobench.processes import Processes
from pseudobench.protocols import Backbone, DatasetSource

#: Kind of component to the hook that offers it.
KINDS = {
    "methods": "bench_methods",
    "datasets": "bench_datasets",
    "backbones": "bench_backbones",
    "scalings": "bench_scalings",
    "set-predictors": "bench_set_predictors",
    "estimators": "bench_estimators",
    "labelers": "bench_labelers",
    "selectors": "bench_selectors",
    "executors": "bench_executors",
    "columns": "bench_columns",
}
#: Kinds whose names must differ from each other too: a composition such as ``raps+hard+ups`` gives names alone.
STAGE_KINDS = tuple(STAGES.values())


#: Kinds whose components are values, and the type of the value.
VALUES: dict[str, type] = {"methods": Method, "backbones": Backbone, "columns": Column}
#: The method that makes a class a component of its kind, and what that is called with.
VERBS = {
    "scalings": ("fit", ("logits", "labels")),
    "set-predictors": ("calibrate", ("folds", "context")),
    "estimators": ("estimate", ("pool", "sets", "context")),
    "labelers": ("label", ("estimate", "sets", "context")),
    "selectors": ("select", ("estimate", "labels", "sets", "context")),
    "executors": ("execute", ("batch",)),
    "datasets": ("load", ("data_dir",)),
}
#: What the class of a component must have, by kind.
NEEDS = {
    "scalings": ("fit",),
    "set-predictors": ("calibrate", "scaling"),
    "estimators": ("estimate", "needs_sets"),
    "labelers": ("label", "needs_sets"),
    "selectors": ("select", "needs_sets"),
    "executors": ("execute",),
    "datasets": ("load", "is_present", "classes", "train_size", "test_size", "default_labels", "backbone", "presets"),
}


@dataclass(frozen=True)
class Entry:
    """A component and the plugin that supplied it; ``owner`` also says its distribution and version."""

    kind: str
    name: str
    component: Any
    plugin: str
    owner: str

    @property
    def summary(self) -> str:
        """What it is, in a line."""
        text = getattr(self.component, "description", None) or (self.component.__doc__ or "")
        return str(text).strip().split("\n")[0]


class Registry:
    """Every component in use."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str], Entry] = {}

    def add(self, kind: str, component: Any, plugin: str, owner: str = "") -> None:
        """Take in a component; raises if it is malformed or its name is taken."""
        check_component(kind, component)
        name = component.name
        rivals = STAGE_KINDS if kind in STAGE_KINDS else (kind,)
        for rival in rivals:
            if (rival, name) in self._entries:
                first = self._entries[rival, name].owner
                raise PluginError(f"the name {name!r} is taken: {first} supplies it in {rival}")
        self._entries[kind, name] = Entry(kind, name, component, plugin, owner or f"plugin {plugin!r}")

    def discard(self, plugin: str) -> None:
        """Forget everything that a plugin supplied."""
        self._entries = {key: entry for key, entry in self._entries.items() if entry.plugin != plugin}

    def of(self, kind: str) -> list[Entry]:
        """The entries of a kind, in load order."""
        return [entry for entry in self._entries.values() if entry.kind == kind]

    def get(self, kind: str, name: str) -> Any:
        """A component by its name; an unknown name is the user's mistake."""
        if (kind, name) not in self._entries:
            singular = kind.removesuffix("s").replace("-", " ")
            known = [entry.name for entry in self.of(kind)]
            raise BenchError(f"there is no {singular} {name!r}{suggest(name, known)}")
        return self._entries[kind, name].component

    def dataset(self, text: str) -> DatasetSource:
        """A dataset's source by name; what stands behind a colon (``folder:PATH``) is its first parameter."""
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

    def stage_of(self, name: str) -> tuple[str, Any]:
        """The stage that the component called ``name`` does, and the component."""
        for stage, kind in STAGES.items():
            if (kind, name) in self._entries:
                return stage, self._entries[kind, name].component
        known = [entry.name for kind in STAGE_KINDS for entry in self.of(kind)]
        raise BenchError(f"there is no component {name!r}{suggest(name, known)}")

    def method(self, text: str) -> Method:
        """A method by name, or a composition of components such as ``mc-dropout+raps+set-argmax+ups``."""
        method: Method = self._compose(text) if "+" in text else self.get("methods", text)
        return method

    def _compose(self, text: str) -> Method:
        stages: dict[str, str] = {}
        for name in text.split("+"):
            stage, _ = self.stage_of(name)
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
        stages = {**UNSAID, **stages}
        return Method(name=text, description="composed on the command line", **stages)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())


def build_registry(plugins: Plugins) -> Registry:
    """Ask every plugin for its components. One that breaks the rules is taken out whole, and noted."""
    registry = Registry()
    for column in COLUMNS:
        registry.add("columns", column, "pseudobench")
    registry.add("executors", Processes, "pseudobench")
    for kind, hook in KINDS.items():
        for info, offered in plugins.each(hook):
            _take(registry, plugins, info, kind, hook, offered)
    for info in plugins.broken:
        registry.discard(info.name)
    return registry


def _take(registry: Registry, plugins: Plugins, info: PluginInfo, kind: str, hook: str, offered: Any) -> None:
    try:
        if not isinstance(offered, list | tuple):
            raise PluginError(f"it must return a list, not {type(offered).__name__}")
        for component in offered:
            registry.add(kind, component, info.name, str(info))
    except Exception as error:
        plugins.fail(info, error, hook)


def check_component(kind: str, component: Any) -> None:
    """Raise unless a component is what its kind must be."""
    name = getattr(component, "name", None)
    if not isinstance(name, str) or not name or set(name) & set("+.,= /"):
        raise PluginError(f"{component!r} needs a `name` without spaces and without any of + . , = /")
    if kind in VALUES:
        if not isinstance(component, VALUES[kind]):
            raise PluginError(f"{name!r} must be a {VALUES[kind].__name__}, not {type(component).__name__}")
        if isinstance(component, Method):
            _check_method(component)
        return
    if not (isinstance(component, type) and is_dataclass(component) and component.__dataclass_params__.frozen):  # type: ignore[attr-defined]
        raise PluginError(f"{name!r} must be a frozen dataclass (the class itself)")
    missing = [needed for needed in NEEDS[kind] if not hasattr(component, needed)]
    if missing:
        raise PluginError(f"{name!r} in {kind} lacks {', '.join(missing)}")
    _check_signature(name, component, *VERBS[kind])
    parameters(component)
    if name in GROUPS:
        raise PluginError(f"the name {name!r} is taken by the settings of that name")


def _check_signature(name: str, component: type, verb: str, given: tuple[str, ...]) -> None:
    """Raise unless the method ``verb`` can be called with what it will be given."""
    signature = inspect.signature(getattr(component, verb))
    try:
        signature.bind(None, *given)
    except TypeError:
        raise PluginError(f"{name!r}: {verb} must take (self, {', '.join(given)}), not {signature}") from None


def _check_method(method: Method) -> None:
    if method.selector is None and method.stages:
        raise PluginError(f"method {method.name!r} has stages but no selector")
    if method.selector is not None and (method.estimator is None or method.labeler is None):
        raise PluginError(f"method {method.name!r} has a selector, so it needs an estimator and a labeler")
    if method.labels == "all" and method.stages:
        raise PluginError(f"method {method.name!r} trains on all labels, so there is no pool to choose from")


@cache
def installed() -> tuple[Plugins, Registry]:
    """The installed plugins and their components, loaded once per process. Warns of each that is not in use."""
    plugins = load_plugins()
    registry = build_registry(plugins)
    for broken in plugins.broken:
        warnings.warn(f"{broken} is not in use: {broken.error}", BenchWarning, stacklevel=2)
    return plugins, registry
