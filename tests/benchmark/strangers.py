"""Plugins of strangers, for tests of what becomes of them."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import ClassVar

from pseudobench import hookimpl, param
from pseudobench.registry.components import build_registry
from pseudobench.registry.plugins import PluginInfo, load_plugins


def plugin(name="stranger", **hooks):
    module = ModuleType(name)
    for hook, function in hooks.items():
        setattr(module, hook, hookimpl(function))
    return module


def load(*modules):
    """The bundled plugins and then these."""
    plugins = load_plugins()
    for module in modules:
        plugins.add(module, PluginInfo(module.__name__, f"dist-{module.__name__}", "1.2"))
    return plugins, build_registry(plugins)


@dataclass(frozen=True)
class Anything:
    """Selects nothing, and labels nothing."""

    name: ClassVar[str] = "anything"
    needs_sets: ClassVar[bool] = False
    share: float = param(0.5, "a share", low=0, high=1)

    def select(self, *given): ...

    label = estimate = select
