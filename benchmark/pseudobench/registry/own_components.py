"""Components of this process as a plugin: classes and methods from a notebook's cell, say."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from pseudobench.contracts.hookspecs import hookimpl
from pseudobench.contracts.kinds import Kind
from pseudobench.registry.checks import kind_of


def as_plugin(components: Sequence[Any], name: str = "here") -> ModuleType:
    """A module that offers ``components``, classes or values, by the hooks of their kinds."""
    module = ModuleType(name)
    by_kind: dict[Kind, list[Any]] = {}
    for component in components:
        by_kind.setdefault(kind_of(component), []).append(component)
    for kind, members in by_kind.items():
        setattr(module, kind.hook, _offering(members))
    return module


def _offering(members: list[Any]) -> Any:
    @hookimpl
    def offer() -> list[Any]:
        return members

    return offer
