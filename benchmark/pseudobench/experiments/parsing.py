"""Experiments from the command line, from TOML files, and from Python: text and tables to checked values."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from pseudobench.base.paths import instead_of_file
from pseudobench.base.text import is_path_text
from pseudobench.contracts.parameters import Value, suggest
from pseudobench.errors import BenchError, one_line
from pseudobench.experiments.experiment import Experiment
from pseudobench.registry.plugin_files import name_file

#: Seeds that a command may ask for: more can't be meant.
_MOST_SEEDS = 10_000


def parse_seeds(text: str | int | Sequence[int]) -> tuple[int, ...]:
    """``3`` is seeds 0, 1, 2; ``5-9`` and ``0,4,7`` name them; ``7,`` is seed 7 alone."""
    if isinstance(text, int):
        return parse_seeds(str(text))
    seeds: Sequence[int]
    if not isinstance(text, str):
        seeds = tuple(islice(text, _MOST_SEEDS + 1))
    elif re.fullmatch(r"\d{1,20}", text):
        seeds = range(int(text))
    elif match := re.fullmatch(r"(\d{1,20})-(\d{1,20})", text):
        seeds = range(int(match[1]), int(match[2]) + 1)
    elif re.fullmatch(r"\d{1,20}(,\d{1,20})*,?", text):
        seeds = tuple(int(part) for part in text.split(",") if part)
    else:
        raise BenchError(f"seeds {text!r}: give a count (3), a range (5-9) or a list (0,4,7)")
    if len(seeds[: _MOST_SEEDS + 1]) > _MOST_SEEDS:
        raise BenchError(f"seeds {text!r}: at most {_MOST_SEEDS} at a time")
    if not seeds or any(not _is_seed(seed) for seed in seeds) or len(set(seeds)) != len(seeds):
        raise BenchError(f"seeds {text!r}: at least one, each once, whole, not negative and below 2^64")
    return tuple(seeds)


def _is_seed(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**64


def parse_names(value: str | Sequence[str], what: str) -> tuple[str, ...]:
    """Names from ``a,b`` or a list of them, each once."""
    parts = value.split(",") if isinstance(value, str) else list(value)
    names = [part.strip() for part in parts if isinstance(part, str) and part.strip() and is_path_text(part)]
    if not names or len(names) < len([part for part in parts if part != ""]):
        raise BenchError(f"{what} {value!r}: names, separated by commas")
    return tuple(dict.fromkeys(names))


def parse_labels(value: str | int | Sequence[int]) -> tuple[int, ...]:
    """Label counts from ``50``, ``50,100`` or a list of numbers."""
    parts = value.split(",") if isinstance(value, str) else [value] if isinstance(value, int) else list(value)
    try:
        numbers = tuple(int(str(part)) for part in parts)
    except ValueError:
        raise BenchError(f"labels {value!r}: whole numbers, separated by commas") from None
    if not numbers or any(number < 1 for number in numbers):
        raise BenchError(f"labels {value!r}: at least one label")
    return tuple(dict.fromkeys(numbers))


def parse_settings(pairs: Sequence[str]) -> dict[str, Value]:
    """``["ups.tau_p=0.8"]`` as a mapping; the values stay text until their parameter is known."""
    settings: dict[str, Value] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise BenchError(f"--set takes component.parameter=value, such as ups.tau_p=0.8, not {pair!r}")
        settings[key.strip()] = value.strip()
    return settings


def read_file(path: Path) -> dict[str, Any]:
    """The keys of an experiment file: those of the command line, a table ``[set]`` of settings, and ``[[arms]]``.

    ``plugins``, files relative to it, is not among them: see `name_plugins`.
    """
    return {key: value for key, value in _read_toml(path).items() if key != "plugins"}


def name_plugins(path: Path) -> None:
    """Make the plugin files that an experiment file names plugins of this process."""
    named = _read_toml(path).get("plugins", [])
    if not isinstance(named, list) or not all(isinstance(file, str) and is_path_text(file) for file in named):
        raise BenchError(f'{path}: plugins = {named!r}: a list of files, such as ["my_rule.py"]')
    for file in named:
        name_file(str(path.parent / file))


def _read_toml(path: Path) -> dict[str, Any]:
    odd = instead_of_file(path)
    if odd not in (None, "a pipe"):  # a shell's <(command) is one
        raise BenchError(f"{path} is {odd}, not a TOML file")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BenchError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise BenchError(f"{path} is not a TOML file: {one_line(error)}") from None


def _text(value: Any) -> str:
    if not isinstance(value, str) or not is_path_text(value):
        raise TypeError
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


_READERS: dict[str, Callable[[Any], Any]] = {
    "methods": lambda value: parse_names(value, "methods"),
    "dataset": lambda value: parse_names(value, "dataset"),
    "labels": parse_labels,
    "seeds": parse_seeds,
    "backbone": _text,
    "preset": _text,
    "validation": _flag,
    "results": _text,
}


#: Keys that are short for a setting.
SHORT = {
    "calibration": "calibration.policy",
    "imbalance": "data.imbalance",
    "tune": "network.tune",
    "weights": "network.weights",
    "image_size": "network.image_size",
}


def experiment_from(*layers: Mapping[str, Any]) -> Experiment:
    """An experiment from the keys of a file, of the command line, or of `pseudobench.run`; later layers win.

    ``arms`` are tables of keys: each is an experiment of its own, with the layer's keys where it has none.
    """
    bare = [{key: value for key, value in layer.items() if key != "arms"} for layer in layers]
    arms = [
        _experiment(*bare[: index + 1], _arm(arm), *bare[index + 1 :])
        for index, layer in enumerate(layers)
        for arm in _tables(layer.get("arms", []))
    ]
    return replace(_experiment(*bare), arms=tuple(arms))


def _tables(arms: Any) -> Sequence[Mapping[str, Any]]:
    if not isinstance(arms, list) or not all(isinstance(arm, Mapping) for arm in arms):
        raise BenchError("arms: tables, each below a line [[arms]]")
    return arms


def _arm(arm: Mapping[str, Any]) -> Mapping[str, Any]:
    if "results" in arm:
        raise BenchError("'results' is for all arms alike: put it above the first [[arms]]")
    return arm


def _experiment(*layers: Mapping[str, Any]) -> Experiment:
    """An experiment without arms from its layers of keys."""
    parts: dict[str, Any] = {}
    settings: dict[str, Value] = {}
    for layer in layers:
        given = {key: value for key, value in layer.items() if value is not None}
        settings |= {SHORT[key]: given.pop(key) for key in SHORT if key in given}
        settings |= _flatten(given.pop("set", {}))
        for key, value in given.items():
            if key not in _READERS:
                raise BenchError(f"unknown key {key!r}{suggest(key, [*_READERS, *SHORT, 'set', 'arms'])}")
            try:
                parts[key] = _READERS[key](value)
            except TypeError:
                raise BenchError(f"{key} = {value!r}: not a value that {key} can have") from None
    if "dataset" in parts:
        parts["datasets"] = parts.pop("dataset")
    return Experiment(settings=settings, **parts)


def _flatten(settings: Mapping[str, Any]) -> dict[str, Value]:
    """``{"ups": {"tau_p": 0.8}}`` and ``{"ups.tau_p": 0.8}`` both as the latter."""
    if not isinstance(settings, Mapping):
        raise BenchError(f"set = {settings!r}: a table, such as [set] with ups.tau_p = 0.8 below it")
    flat: dict[str, Value] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping):
            flat |= {f"{key}.{name}": inner for name, inner in value.items()}
        else:
            flat[key] = value
    return flat


def check_jobs(jobs: int | str | None) -> int | None:
    """The number of runs at a time; None (``auto``): as many as the executor likes."""
    if jobs is None or jobs == "auto":
        return None
    try:
        count = int(jobs)
    except ValueError:
        raise BenchError(f"--jobs {jobs}: a number, or auto") from None
    if count < 1:
        raise BenchError(f"--jobs {jobs}: at least 1")
    return count
