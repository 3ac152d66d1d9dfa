"""Parameters of components: declared once as dataclass fields, then described, parsed and checked from there."""

from __future__ import annotations

import difflib
import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass, field, fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from pseudobench.errors import BenchError

Value = bool | int | float | str | None


def param(
    default: Value,
    meaning: str,
    *,
    low: float | None = None,
    high: float | None = None,
    exclusive: bool = False,
    choices: tuple[str, ...] = (),
    added: bool = False,
) -> Any:
    """A field of a component: its default, what it means, and the values it may take.

    ``exclusive`` leaves the two ends of the range out. The field's annotation (``bool``, ``int``, ``float``
    or ``str``, with ``| None`` where None is allowed) gives its type.

    ``added`` is for a parameter that comes later, with a default that means what was done before: at its default it
    is no part of what identifies a run, so that runs from before are still those asked for.
    """
    limits = {"low": low, "high": high, "exclusive": exclusive, "choices": choices, "added": added}
    return field(default=default, metadata={"meaning": meaning, **limits})


@dataclass(frozen=True)
class Parameter:
    """One parameter, as ``bench list`` shows it."""

    name: str
    kind: str
    optional: bool
    default: Value
    meaning: str
    low: float | None
    high: float | None
    exclusive: bool
    choices: tuple[str, ...]
    added: bool

    @property
    def allowed(self) -> str:
        """The values it may take, in words."""
        if self.choices:
            words = "one of " + ", ".join(self.choices)
        elif self.kind == "bool":
            words = "true or false"
        else:
            words = {"int": "a whole number", "float": "a number", "str": "text"}[self.kind] + self._range
        return words + (" or none" if self.optional else "")

    @property
    def _range(self) -> str:
        if self.low is not None and self.high is not None:
            opening, closing = "()" if self.exclusive else "[]"
            return f" in {opening}{self.low:g}, {self.high:g}{closing}"
        if self.low is not None:
            return f" {'above' if self.exclusive else 'of at least'} {self.low:g}"
        return ""

    def parse(self, value: Value) -> Value:
        """``value`` (text from the command line, or a TOML value) as this parameter's type; raises if it can't be."""
        try:
            parsed = self._convert(value)
        except (ValueError, TypeError, OverflowError):
            raise BenchError(f"{value!r} is not {self.allowed}") from None
        if not self._inside(parsed):
            raise BenchError(f"{value!r} is not {self.allowed}")
        return parsed

    def _convert(self, value: Value) -> Value:
        if self.optional and (value is None or str(value).lower() == "none"):
            return None
        if value is None:
            raise TypeError
        if self.kind == "bool":
            return _BOOLS[str(value).lower()] if str(value).lower() in _BOOLS else _no()
        if isinstance(value, bool):
            raise TypeError
        if self.kind == "int":
            number = value if isinstance(value, int) else float(value)
            return int(number) if number == int(number) else _no()
        if self.kind == "float":
            return float(value)
        return str(value) if isinstance(value, str | int | float) else _no()

    def _inside(self, value: Value) -> bool:
        if self.choices and value is not None:
            return value in self.choices
        if isinstance(value, str) or value is None or isinstance(value, bool):
            return True
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        return math.isfinite(value) and (low < value < high if self.exclusive else low <= value <= high)


_BOOLS = {"true": True, "false": False}


def _no() -> Value:
    raise ValueError


@cache
def parameters(component: Any) -> tuple[Parameter, ...]:
    """The parameters that a component class (a frozen dataclass) declares."""
    found = []
    for each in fields(component):
        kinds = _types(component, each)
        named = [kind.__name__ for kind in kinds if kind in (bool, int, float, str)]
        if len(named) != 1 or set(kinds) - {bool, int, float, str, NoneType} or "meaning" not in each.metadata:
            raise BenchError(
                f"{component.__name__}.{each.name}: a parameter is declared as "
                f"`{each.name}: float = param(0.5, 'what it means')`, and what is none as `{each.name}: ClassVar[...]`"
            )
        default: Any = each.default
        found.append(Parameter(each.name, named[0], NoneType in kinds, default, **each.metadata))
    return tuple(found)


def _types(component: type, each: Field[Any]) -> tuple[Any, ...]:
    """The types that a field's annotation allows; none if it means nothing where it is written.

    One annotation at a time: those of class variables may name what was imported for type checking alone.
    """
    owners = [base for base in component.__mro__ if vars(base).get("__dataclass_fields__", {}).get(each.name) is each]
    module = sys.modules.get(owners[-1].__module__)
    alone = type("Alone", (), {"__annotations__": {each.name: each.type}})
    try:
        hint = get_type_hints(alone, {} if module is None else vars(module))[each.name]
    except Exception:
        return ()
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def defaults(component: Any) -> dict[str, Value]:
    """The default values of a component's parameters."""
    return {parameter.name: parameter.default for parameter in parameters(component)}


def identifying(component: Any, values: Mapping[str, Value]) -> dict[str, Value]:
    """``values`` without parameters that were added later and have their default."""
    unsaid = {each.name: each.default for each in parameters(component) if each.added}
    return {name: value for name, value in values.items() if name not in unsaid or value != unsaid[name]}


def checked(owner: str, component: Any, values: Mapping[str, Value]) -> dict[str, Value]:
    """``values`` parsed and checked against a component's parameters; ``owner`` names it in errors."""
    known = {parameter.name: parameter for parameter in parameters(component)}
    parsed = {}
    for name, value in values.items():
        if name not in known:
            raise BenchError(f"{owner} has no parameter {name!r}{suggest(name, known)}")
        try:
            parsed[name] = known[name].parse(value)
        except BenchError as error:
            raise BenchError(f"{owner}.{name}: {error}") from None
    return parsed


def suggest(name: str, known: Iterable[str], see: str = "") -> str:
    """The end of an error about an unknown name: the known one that is near, or some of all; ``see`` shows the rest."""
    names = sorted(known)
    near = difflib.get_close_matches(name[:100], names, n=1, cutoff=_NEAR)
    if near:
        return f"; did you mean {near[0]!r}?"
    more = f" and {len(names) - _LISTED} more{see and f': see `{see}`'}" if len(names) > _LISTED else ""
    return f"; known: {', '.join(names[:_LISTED])}{more}" if names else "; there is none"


#: How alike two names are from 0 to 1 for one to be suggested for the other, and how many names an error lists.
_NEAR, _LISTED = 0.65, 16
