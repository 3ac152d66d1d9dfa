"""Names that a shell offers when it completes a command (`bench --help` says how to switch that on)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

from pseudobench.contracts.kinds import KINDS
from pseudobench.contracts.settings import GROUPS
from pseudobench.registry.components import Registry, installed

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def names_of(*kinds: str) -> Complete:
    """Names of components of these kinds; in a list with commas, of the last one."""

    def complete(_ctx: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
        registry = installed()[1]
        return _fitting(typed, ((entry.name, entry.summary) for kind in kinds for entry in registry.of(kind)))

    return complete


def anything(_ctx: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Kinds and components, for `bench list`."""
    return _fitting(typed, _everything(installed()[1]))


def _everything(registry: Registry) -> Iterable[tuple[str, str]]:
    yield from ((kind.name, "") for kind in KINDS)
    yield from ((name, "") for name in ("presets", "settings", *GROUPS))
    yield from ((entry.name, entry.summary) for entry in registry)


def _fitting(typed: str, known: Iterable[tuple[str, str]]) -> list[CompletionItem]:
    before, comma, last = typed.rpartition(",")
    return [CompletionItem(before + comma + name, help=text) for name, text in known if name.startswith(last)]
