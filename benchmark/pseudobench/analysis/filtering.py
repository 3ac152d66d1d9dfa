"""Which records are meant: by dataset, method, label count, and anything else that a run's spec says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pseudobench.analysis.run_facts import column_name, plain, policy, settings_of
from pseudobench.base.text import in_order
from pseudobench.contracts.parameters import suggest
from pseudobench.errors import BenchError

Record = Mapping[str, Any]
#: Keys that any run has; further ones are its settings, such as ``ups.tau_p``, and its stages, such as ``selector``.
KEYS: dict[str, Callable[[Record], Any]] = {
    "dataset": lambda record: record["spec"]["dataset"],
    "labels": lambda record: record["spec"]["labels"],
    "method": lambda record: record["spec"]["method"],
    "seed": lambda record: record["spec"]["seed"],
    "backbone": lambda record: record["spec"]["backbone"],
    "preset": lambda record: record["spec"]["preset"],
    "evaluated-on": lambda record: record["spec"]["evaluates_on"],
    "calibration": lambda record: policy(settings_of(record["spec"])) or "none",
    "status": lambda record: record["status"],
}


def parse_where(pairs: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """``["labels=40,100", "ups.tau_p=0.8"]`` as a mapping from keys to the values wanted."""
    where: dict[str, tuple[str, ...]] = {}
    for pair in pairs:
        key, _, values = pair.partition("=")
        wanted = tuple(value.strip() for value in values.split(",") if value.strip())
        if not key.strip() or not wanted:
            raise BenchError(f"{pair!r}: a key and its values, such as labels=40,100 or ups.tau_p=0.8")
        where[key.strip()] = wanted
    return where


def matching(records: Iterable[Record], where: Mapping[str, Sequence[str]]) -> Iterator[Record]:
    """The records that have one of the values wanted for every key; raises at the end for a value that none has.

    One after another: ten thousand whole records at a time would fill the memory, and cost more time than reading them.
    """
    seen: dict[str, dict[str, str]] = {key: {} for key in where}
    wanted = {key: {_normal(value) for value in values} for key, values in where.items()}
    known, count, kept = dict.fromkeys(KEYS), 0, 0
    for record in records:
        count += 1
        fits = True
        for key in where:
            value = _value(record, key, known)
            if value is not None:
                seen[key].setdefault(_normal(value), value)
            fits = fits and value is not None and _normal(value) in wanted[key]
        if fits:
            kept += 1
            yield record
    for key, values in where.items() if count else ():
        if not seen[key]:
            raise BenchError(f"no run record says anything of {key!r}{suggest(key, known)}")
        for value in values:
            if _normal(value) not in seen[key]:
                there = ", ".join(sorted(seen[key].values(), key=_by_value))
                raise BenchError(f"no run record has the {key} {value!r}; there are: {there}")
    if count and not kept:
        asked = ", ".join(f"{key} {' or '.join(values)}" for key, values in where.items())
        raise BenchError(f"none of {count} run records has all of: {asked}")


def known_methods(names: Sequence[str], known: Iterable[str]) -> set[str]:
    """The methods named, whatever their case; raises for one that no run has."""
    spelt = {_normal(name): name for name in known}
    for name in names:
        if _normal(name) not in spelt:
            raise BenchError(f"no run record has the method {name!r}; there are: {', '.join(sorted(spelt.values()))}")
    return {spelt[_normal(name)] for name in names}


def _value(record: Record, key: str, known: dict[str, None]) -> str | None:
    """What a record says of a key, by its own name or by that of a data frame's column (``ups_tau_p``)."""
    if key in KEYS:
        return plain(KEYS[key](record))
    settings = settings_of(record["spec"])
    known.update(dict.fromkeys(settings))
    if key in settings:
        return plain(settings[key])
    wanted = column_name(key)
    for name, read in KEYS.items():
        if column_name(name) == wanted:
            return plain(read(record))
    return next((plain(value) for name, value in settings.items() if column_name(name) == wanted), None)


def _normal(text: str) -> str:
    """Numbers by what they are, words whatever their case."""
    try:
        return repr(float(text))
    except ValueError:
        return text.lower()


def _by_value(text: str) -> tuple[bool, float, tuple[str | float, ...]]:
    """A key that sorts numbers by their value, and words after them."""
    try:
        return False, float(text), ()
    except ValueError:
        return True, 0.0, in_order(text)
