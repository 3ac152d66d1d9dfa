"""The rules that a component keeps, by its kind."""

from __future__ import annotations

import inspect
from dataclasses import is_dataclass
from typing import Any

from pseudobench.contracts.kinds import KINDS, Kind
from pseudobench.contracts.methods import Method
from pseudobench.contracts.parameters import parameters
from pseudobench.contracts.settings import GROUPS, Calibration
from pseudobench.errors import PluginError


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
        raise PluginError(f"{component!r} needs a `name` without spaces and without any of + . , = : /")
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
    parameters(component)
    if name in GROUPS:
        raise PluginError(f"the name {name!r} is taken by the settings of that name")


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
