"""From the specs of run records back to ``bench run`` commands that give exactly these runs."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pseudobench.contracts.parameters import Value, parameters
from pseudobench.contracts.run_spec import RunSpec, flat
from pseudobench.contracts.settings import GROUPS
from pseudobench.errors import BenchError
from pseudobench.experiments.parsing import SHORT
from pseudobench.experiments.resolving import resolve
from pseudobench.registry.components import Registry

_FLAGS = {setting: "--" + key.replace("_", "-") for key, setting in SHORT.items()}


@dataclass(frozen=True)
class Command:
    """A ``bench run`` command. ``problem`` says why the installed version would not give the same runs, if so."""

    text: str
    problem: str = ""


def commands(specs: Iterable[RunSpec], registry: Registry) -> list[Command]:
    """Commands for all of ``specs``; methods with the same options and the same seeds share one."""
    alike: dict[str, list[RunSpec]] = {}
    for spec in specs:
        alike.setdefault(json.dumps({**vars(spec), "seed": None}, sort_keys=True), []).append(spec)
    found: dict[tuple[tuple[str, ...], str, str], list[str]] = {}
    for runs in alike.values():
        settings, problem = _settings(runs[0], registry)
        key = (_shared(runs[0], settings), seeds_text(run.seed for run in runs), problem)
        found.setdefault(key, []).append(runs[0].method)
    return [
        Command(shlex.join(["bench", "run", "--methods", ",".join(methods), "--seeds", seeds, *shared]), problem)
        for (shared, seeds, problem), methods in found.items()
    ]


def _settings(spec: RunSpec, registry: Registry) -> tuple[dict[str, Value], str]:
    """The settings that give this run, and the problem if they do not suffice (else an empty text).

    They are the user's own, and every default that has changed since the record was made.
    """
    held = flat(spec.settings)
    said = dict(spec.overrides)
    try:
        now = _resolved(spec, said, registry)
        defaults = flat(now.settings)
        changed = {key: value for key, value in held.items() if key not in defaults or defaults[key] != value}
        changed |= {key: value for key, value in _left_out().items() if key in defaults and key not in held}
        if changed:
            said |= changed
            now = _resolved(spec, said, registry)
    except BenchError as error:
        return said, str(error)
    if replace(now, sources={}, method=spec.method).run_id != replace(spec, sources={}).run_id:
        return said, "the installed version runs something else under these names"
    other = sorted(name for name in spec.sources if spec.sources[name] != now.sources.get(name))
    return said, f"changed since: {', '.join(other)}" if other else ""


def _left_out() -> dict[str, Value]:
    """Settings of the harness that specs leave out at their default, which a preset may have changed since."""
    return {
        f"{group}.{each.name}": each.default
        for group, declared in GROUPS.items()
        for each in parameters(declared)
        if each.added
    }


def _resolved(spec: RunSpec, settings: Mapping[str, Value], registry: Registry) -> RunSpec:
    return resolve(
        registry,
        method=spec.method,
        dataset=spec.dataset,
        seed=spec.seed,
        labels=spec.labels,
        backbone=spec.backbone,
        preset=spec.preset,
        validation=spec.evaluates_on == "validation",
        settings=settings,
    )


def _shared(spec: RunSpec, settings: Mapping[str, Value]) -> tuple[str, ...]:
    """The words of the options that do not depend on method and seed."""
    words = ["--dataset", spec.dataset, "--labels", str(spec.labels)]
    words += ["--backbone", spec.backbone, "--preset", spec.preset]
    words += ["--validation"] if spec.evaluates_on == "validation" else []
    for key, value in settings.items():
        text = str(value).lower() if isinstance(value, bool) or value is None else str(value)
        if key == SHORT["weights"]:
            text = text.partition(" sha256:")[0]  # the record adds the hash of the file
        words += [_FLAGS[key], text] if key in _FLAGS else ["--set", f"{key}={text}"]
    return tuple(words)


def seeds_text(seeds: Iterable[int]) -> str:
    """The shortest value of ``--seeds``: ``3`` for 0 to 2, ``1-3``, ``0,2``, or ``5,`` for one seed."""
    known: Sequence[int] = sorted(set(seeds))
    if len(known) > 1 and known == list(range(known[0], known[-1] + 1)):
        return str(len(known)) if known[0] == 0 else f"{known[0]}-{known[-1]}"
    return ",".join(str(seed) for seed in known) + ("," if len(known) == 1 else "")
