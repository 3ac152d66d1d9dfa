"""Resolving a run: every choice filled in, checked, and turned into a `RunSpec`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pseudobench.contracts.datasets import SINGLE, VECTORS
from pseudobench.contracts.kinds import STAGE_KINDS
from pseudobench.contracts.methods import Method
from pseudobench.contracts.parameters import Value, checked, defaults, identifying, suggest
from pseudobench.contracts.protocols import needs_calibration
from pseudobench.contracts.run_spec import RunSpec, flat
from pseudobench.contracts.settings import GROUPS
from pseudobench.errors import BenchError
from pseudobench.experiments.presets import HEAD, PRESETS, VECTOR
from pseudobench.experiments.run_checks import (
    canonical_name,
    check_backbone_kind,
    check_backbones,
    check_labels,
    check_network,
    check_stages,
    check_vectors,
    samples_of,
    task_of,
)
from pseudobench.experiments.run_sources import sources_of
from pseudobench.registry.components import Registry


def resolve(
    registry: Registry,
    *,
    method: str,
    dataset: str,
    seed: int,
    labels: int | None = None,
    backbone: str | None = None,
    preset: str = "cpu",
    validation: bool = False,
    settings: Mapping[str, Value] | None = None,
    fingerprints: dict[str, str] | None = None,
) -> RunSpec:
    """Fill in and check every choice. Later ones win: defaults, preset, dataset's preset, method, user.

    ``fingerprints`` holds the hashes of the user's own data by dataset, so that many runs hash it once.
    """
    chosen = registry.method(method)
    source = registry.dataset(dataset)
    dataset = canonical_name(source)
    if preset not in PRESETS:
        raise BenchError(f"there is no preset {preset!r}{suggest(preset, PRESETS)}")
    budget = source.default_labels if labels is None else labels
    groups = _parameter_groups(registry, chosen)
    values = {name: defaults(kind) for name, kind in groups.items()}
    vector = VECTOR if samples_of(source) == VECTORS else {}
    head = HEAD[preset] if (settings or {}).get("network.tune") == "head" else {}
    for layer in (PRESETS[preset].settings, vector, source.presets.get(preset, {}), head):
        _apply(values, groups, layer)
    for layer in chosen.layers(preset):
        _apply(values, groups, layer)
    before = flat(values)
    _apply(values, groups, settings or {})
    if not _calibrates(registry, chosen, values):
        del values["calibration"], groups["calibration"]
    _check_method(chosen, groups)
    overrides = {key: value for key, value in flat(values).items() if value != before[key]}
    check_vectors(source, dataset, values)
    check_stages(registry, chosen, values, source)
    check_network(values["network"], values["recipe"])
    check_backbones(values)
    check_backbone_kind(registry, backbone or source.backbone, source, dataset)
    imbalance = values["data"]["imbalance"]
    if imbalance is not None and task_of(source) != SINGLE:
        raise BenchError(f"--imbalance {imbalance}: a sample of {dataset} can have several classes; leave it out")
    check_labels(source, budget, chosen, values.get("calibration"), validation=validation, balanced=imbalance is None)
    spec = RunSpec(
        dataset=dataset,
        labels=budget,
        method=chosen.name,
        seed=seed,
        backbone=backbone or source.backbone,
        preset=preset,
        stages=chosen.stages,
        trains_on=chosen.labels,
        evaluates_on="validation" if validation else "test",
        settings=_identifying(values, groups),
        overrides=overrides,
    )
    return replace(spec, sources=sources_of(registry, spec, source, {} if fingerprints is None else fingerprints))


def _identifying(values: Mapping[str, Mapping[str, Value]], groups: Mapping[str, Any]) -> dict[str, dict[str, Value]]:
    """The settings that identify a run. A group of the harness without any is omitted."""
    kept = {group: identifying(groups[group], held) for group, held in values.items()}
    return {group: held for group, held in kept.items() if held or group not in GROUPS}


def _parameter_groups(registry: Registry, method: Method) -> dict[str, Any]:
    """Group or component name to the class that declares its parameters, for everything this method may use."""
    used = {name: registry.get(STAGE_KINDS[stage].name, name) for stage, name in method.stages.items()}
    groups = dict(GROUPS)
    if method.selector is None:
        del groups["loop"]
    return {**groups, **used}


def _calibrates(registry: Registry, method: Method, values: Mapping[str, Mapping[str, Value]]) -> bool:
    """Whether a method needs calibration points: for its scaling or sets, or because a stage of it says so."""
    stages = method.stages
    asks = any(needs_calibration(registry.make(stage, name, values[name])) for stage, name in stages.items())
    return asks or not stages.keys().isdisjoint(("scaling", "sets"))


def _check_method(method: Method, groups: Mapping[str, Any]) -> None:
    """Raise if a method sets what it does not have, or for a preset that there is not."""
    for preset in method.presets:
        if preset not in PRESETS:
            raise BenchError(f"method {method.name!r} has settings for a preset {preset!r}{suggest(preset, PRESETS)}")
    for key in (key for preset in PRESETS for layer in method.layers(preset) for key in layer):
        if key.partition(".")[0] not in groups:
            raise BenchError(f"method {method.name!r} sets {key}, but has no {key.partition('.')[0]!r}")


def _apply(values: dict[str, dict[str, Value]], groups: dict[str, Any], layer: Mapping[str, Value]) -> None:
    """Put the settings that concern this method's groups into ``values``."""
    for key, value in layer.items():
        group, _, name = key.partition(".")
        if group in groups:
            values[group].update(checked(group, groups[group], {name: value}))


def check_settings(registry: Registry, methods: list[str], settings: Mapping[str, Value]) -> None:
    """Raise unless every ``group.parameter=value`` exists, is allowed, and matters to one of the methods."""
    used: dict[str, Any] = {}
    calibrating = False
    for method in map(registry.method, methods):
        groups = _parameter_groups(registry, method)
        values = {name: defaults(kind) for name, kind in groups.items()}
        for layer in (method.settings, {key: value for key, value in settings.items() if key.partition(".")[2]}):
            _apply(values, groups, layer)
        calibrating = calibrating or _calibrates(registry, method, values)
        used |= groups
    if not calibrating:
        del used["calibration"]
    stages = {kind.name for kind in STAGE_KINDS.values()}
    everything = {entry.name: entry for entry in registry if entry.kind in stages}
    for key, value in settings.items():
        group, dot, name = key.partition(".")
        if not dot or not name:
            raise BenchError(f"--set takes component.parameter=value, such as ups.tau_p=0.8, not {key!r}")
        if group not in used and group not in everything and group not in GROUPS:
            raise BenchError(f"there is no component {group!r}{suggest(group, [*everything, *GROUPS], 'bench list')}")
        if group not in used:
            raise BenchError(f"{key}: none of the methods {', '.join(methods)} uses {group!r}")
        checked(group, used[group], {name: value})
