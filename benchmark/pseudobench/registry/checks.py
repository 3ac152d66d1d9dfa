"""The rules that a component keeps, by its kind."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from pseudobench.contracts.kinds import KINDS, Kind
from pseudobench.contracts.methods import Method
from pseudobench.contracts.parameters import parameters
from pseudobench.contracts.settings import GROUPS, Calibration
from pseudobench.errors import BenchError, PluginError


def kind_of(component: Any) -> Kind:
    """The kind of a component: of a value by its type, of a class by the method that it has."""
    for kind in KINDS:
        if kind.value is not None and isinstance(component, kind.value):
            return kind
    if not isinstance(component, type):
        raise PluginError(f"{component!r} is no component: neither a class nor a value such as Method")
    verbs = {kind.verb: kind for kind in KINDS if kind.verb}
    for verb, kind in verbs.items():
        if hasattr(component, verb):
            return kind
    raise PluginError(f"{component.__name__} is no component: it has none of the methods {', '.join(verbs)}")


def check_component(kind: Kind, component: Any) -> None:
    """Raise unless a component keeps the rules of its kind."""
    name = getattr(component, "name", None)
    if not isinstance(name, str) or not name or set(name) & set("+.,=: /"):
        called = getattr(component, "__name__", repr(component))
        raise PluginError(f"{called} needs a `name` without spaces and without any of + . , = : /")
    if kind.value is not None:
        if not isinstance(component, kind.value):
            raise PluginError(f"{name!r} must be a {kind.value.__name__}, not {type(component).__name__}")
        if isinstance(component, Method):
            _check_method(component)
        return
    if not (isinstance(component, type) and is_dataclass(component) and component.__dataclass_params__.frozen):  # type: ignore[attr-defined]
        raise PluginError(f"{name!r} must be a frozen dataclass (the class itself)")
    missing = [needed for needed in (kind.verb, *kind.needs) if not hasattr(component, needed)]
    if missing:
        raise PluginError(f"{name!r} in {kind.name} lacks {', '.join(missing)}")
    _check_signature(name, component, kind.verb, kind.arguments)
    _check_parameters(kind, component)
    if name in GROUPS:
        raise PluginError(f"the name {name!r} is taken by the settings of that name")


def _check_parameters(kind: Kind, component: type) -> None:
    """Raise unless every field is a parameter, with a default that it may have."""
    for each in fields(component):
        if each.name in ("name", *kind.needs) and "meaning" not in each.metadata:
            hint = each.type if isinstance(each.type, str) else getattr(each.type, "__name__", each.type)
            right = f"{each.name}: ClassVar[{hint}] = {each.default!r}"
            raise PluginError(f"{_place(component, each.name)} is no parameter; write `{right}`")
    for parameter in parameters(component):
        try:
            sound = parameter.parse(parameter.default) == parameter.default
        except BenchError:
            sound = False
        if not sound:
            place = _place(component, parameter.name)
            raise PluginError(f"{place}: its default, {parameter.default!r}, is not {parameter.allowed}")


def _place(component: type, field: str) -> str:
    """A field of a class as ``Rule.share (rule.py:12)``."""
    named = f"{component.__name__}.{field}"
    owner = next(base for base in component.__mro__ if field in vars(base).get("__annotations__", {}))
    try:
        lines, first = inspect.getsourcelines(owner)
    except (OSError, TypeError):  # from a prompt, say
        return named
    ahead = next((number for number, line in enumerate(lines) if re.match(rf"\s*{field}\s*:", line)), 0)
    return f"{named} ({Path(inspect.getfile(owner)).name}:{first + ahead})"


def _check_signature(name: str, component: type, verb: str, given: tuple[str, ...]) -> None:
    """Raise unless the method ``verb`` can be called with the arguments ``given``."""
    signature = inspect.signature(getattr(component, verb))
    try:
        signature.bind(None, *given)
    except TypeError:
        raise PluginError(f"{name!r}: {verb} must take (self, {', '.join(given)}), not {signature}") from None


def _check_method(method: Method) -> None:
    policies = next(each.choices for each in parameters(Calibration) if each.name == "policy")
    if method.calibration is not None and method.calibration not in policies:
        raise PluginError(f"method {method.name!r}: calibration is one of {', '.join(policies)}")
    if method.selector is None and set(method.stages) - {"objective"}:
        raise PluginError(f"method {method.name!r} has stages but no selector")
    if method.selector is not None and (method.estimator is None or method.labeler is None):
        raise PluginError(f"method {method.name!r} has a selector, so it needs an estimator and a labeler")
    if method.labels == "all" and set(method.stages) - {"objective"}:
        raise PluginError(f"method {method.name!r} trains on all labels, so there is no pool to choose from")
