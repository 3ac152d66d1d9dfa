"""Resolving a run: every choice filled in, checked, and turned into a `RunSpec`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pseudobench.contracts.datasets import SINGLE
from pseudobench.contracts.kinds import STAGE_KINDS
from pseudobench.contracts.methods import Method
from pseudobench.contracts.parameters import Value, checked, defaults, identifying, suggest
from pseudobench.contracts.protocols import DatasetSource, needs_calibration
from pseudobench.contracts.run_spec import RunSpec, flat
from pseudobench.contracts.settings import GROUPS, Network
from pseudobench.errors import BenchError
from pseudobench.experiments.presets import HEAD, PRESETS
from pseudobench.experiments.splits import VALIDATION_SHARE
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
) -> RunSpec:
    """Fill in and check every choice. Later ones win: defaults, preset, dataset's preset, method, user."""
    chosen = registry.method(method)
    source = registry.dataset(dataset)
    if preset not in PRESETS:
        raise BenchError(f"there is no preset {preset!r}{suggest(preset, PRESETS)}")
    budget = source.default_labels if labels is None else labels
    groups = _parameter_groups(registry, chosen)
    values = {name: defaults(kind) for name, kind in groups.items()}
    head = (settings or {}).get("network.tune") == "head"
    for layer in (PRESETS[preset].settings, source.presets.get(preset, {}), HEAD[preset] if head else {}):
        _apply(values, groups, layer)
    for layer in chosen.layers(preset):
        _apply(values, groups, layer)
    before = flat(values)
    _apply(values, groups, settings or {})
    if not _calibrates(registry, chosen, values):
        del values["calibration"], groups["calibration"]
    _check_method(chosen, groups)
    overrides = {key: value for key, value in flat(values).items() if value != before[key]}
    _check_stages(registry, chosen, values, task_of(source))
    _check_network(values["network"], values["recipe"])
    _check_backbones(values)
    check_labels(source, budget, chosen, values.get("calibration"), validation=validation)
    return RunSpec(
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
            raise BenchError(f"there is no component {group!r}{suggest(group, [*everything, *GROUPS])}")
        if group not in used:
            raise BenchError(f"{key}: none of the methods {', '.join(methods)} uses {group!r}")
        checked(group, used[group], {name: value})


def task_of(source: DatasetSource) -> str:
    """Whether a sample of a dataset has one class, as it does unless its source says otherwise."""
    return str(getattr(source, "task", SINGLE))


def _check_stages(registry: Registry, method: Method, values: Mapping[str, Mapping[str, Value]], task: str) -> None:
    """Raise if a stage is not made for the task, needs sets that are not there, or images that will not be."""
    for stage, name in method.stages.items():
        component = registry.make(stage, name, values[name])
        if task not in getattr(component, "tasks", (SINGLE,)):
            rivals = registry.of(STAGE_KINDS[stage].name)
            able = [entry.name for entry in rivals if task in getattr(entry.component, "tasks", ())]
            raise BenchError(
                f"method {method.name!r}: {stage} {name!r} is not made for {task} data; these are: {', '.join(able)}"
            )
        if getattr(component, "needs_sets", False) and method.sets is None:
            known = ", ".join(entry.name for entry in registry.of("set-predictors"))
            raise BenchError(
                f"method {method.name!r}: {stage} {name!r} needs a set predictor, as it is set; add one of: {known}"
            )
        views = bool(getattr(component, "views", ()))
        if views and method.labels == "all":
            raise BenchError(f"method {method.name!r}: {stage} {name!r} learns from the pool, and all is labeled")
        if getattr(component, "needs_images", views) and values["network"]["tune"] == "head":
            raise BenchError(
                f"method {method.name!r}: {stage} {name!r} augments images, and --tune head has features alone"
            )


def _check_network(network: Mapping[str, Value], recipe: Mapping[str, Value]) -> None:
    """Raise if only a head is to be trained and that makes no sense."""
    if network["tune"] != "head":
        return
    if network["weights"] is None:
        raise BenchError(f"--tune head freezes the backbone, so it needs {Network.name}.weights: --weights says which")
    if recipe["augment"] != "none":
        raise BenchError(f"recipe.augment={recipe['augment']}: with --tune head features are computed once; take none")


def _check_backbones(values: Mapping[str, Mapping[str, Value]]) -> None:
    """Raise if rounds have backbones of their own where there is one for all: features, or pretrained weights."""
    named = values.get("loop", {}).get("backbones")
    if named is None:
        return
    if not all(name.strip() for name in str(named).split(",")):
        raise BenchError(f"loop.backbones={named}: names separated by commas, such as resnet18,resnet34")
    if values["network"]["tune"] == "head" or values["network"]["weights"] is not None:
        raise BenchError("loop.backbones: each round trains its backbone from scratch; omit --tune head and --weights")


def check_labels(
    source: DatasetSource, labels: int, method: Method, calibration: Mapping[str, Value] | None, *, validation: bool
) -> None:
    """Raise unless the dataset has that many labels to give, evenly over classes and enough for calibration."""
    classes, size = source.classes, source.train_size
    if validation:
        size -= size // VALIDATION_SHARE
    if labels > size:
        raise BenchError(f"--labels {labels}: {source.name} has {size} training images")
    if labels == size and method.stages:
        raise BenchError(f"--labels {labels}: all of {source.name} is labeled, and {method.name!r} needs a pool")
    if task_of(source) == SINGLE:
        _check_per_class(source, labels)
    if calibration and calibration["policy"] == "held-out":
        held = round(labels * float(calibration["fraction"] or 0))
        left = classes if task_of(source) == SINGLE else 1
        if held < 1 or labels - held < left:
            raise BenchError(
                f"calibration.fraction={calibration['fraction']} of {labels} labels holds out {held}; at least 1 must "
                f"be held out and {left} left to train on: change it, or take more labels, or --calibration cross"
            )
    if calibration and calibration["policy"] == "cross" and int(calibration["folds"] or 0) > labels // 2:
        raise BenchError(f"calibration.folds={calibration['folds']}: at most half of the {labels} labels")


def _check_per_class(source: DatasetSource, labels: int) -> None:
    """Raise unless every class can get equally many labels."""
    classes = source.classes
    if labels < classes:
        raise BenchError(f"--labels {labels}: {source.name} has {classes} classes and each needs a label")
    if labels % classes:
        low = labels - labels % classes
        raise BenchError(
            f"--labels {labels}: not divisible by the {classes} classes of {source.name}, and every class gets "
            f"equally many; take {low} or {low + classes}"
        )
