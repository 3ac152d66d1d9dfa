"""Resolving a run: every choice filled in, checked, and turned into a `RunSpec`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pseudobench.contracts.datasets import IMAGES, SINGLE, VECTORS
from pseudobench.contracts.kinds import STAGE_KINDS
from pseudobench.contracts.methods import Method
from pseudobench.contracts.parameters import Value, checked, defaults, identifying, parameters, suggest
from pseudobench.contracts.protocols import Backbone, DatasetSource
from pseudobench.contracts.run_spec import RunSpec, flat
from pseudobench.contracts.settings import GROUPS, Network
from pseudobench.errors import BenchError
from pseudobench.experiments.presets import HEAD, PRESETS, VECTOR
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
    for key in chosen.settings:
        if key.partition(".")[0] not in groups:
            raise BenchError(f"method {method!r} sets {key}, but has no {key.partition('.')[0]!r}")
    _apply(values, groups, chosen.settings)
    before = flat(values)
    _apply(values, groups, settings or {})
    overrides = {key: value for key, value in flat(values).items() if value != before[key]}
    _check_vectors(source, dataset, values)
    _check_stages(registry, chosen, values, source)
    _check_network(values["network"], values["recipe"])
    _check_backbone(registry, backbone or source.backbone, source, dataset)
    imbalance = values["data"]["imbalance"]
    if imbalance is not None and task_of(source) != SINGLE:
        raise BenchError(f"--imbalance {imbalance}: a sample of {dataset} can have several classes; leave it out")
    check_labels(source, budget, chosen, values.get("calibration"), validation=validation, balanced=imbalance is None)
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
    """Group or component name to the class that declares its parameters, for everything this method uses."""
    used = {name: registry.get(STAGE_KINDS[stage].name, name) for stage, name in method.stages.items()}
    groups = dict(GROUPS)
    if method.selector is None:
        del groups["loop"]
    if not method.calibrates:
        del groups["calibration"]
    return {**groups, **used}


def _apply(values: dict[str, dict[str, Value]], groups: dict[str, Any], layer: Mapping[str, Value]) -> None:
    """Put the settings that concern this method's groups into ``values``."""
    for key, value in layer.items():
        group, _, name = key.partition(".")
        if group in groups:
            values[group].update(checked(group, groups[group], {name: value}))


def check_settings(registry: Registry, methods: list[str], settings: Mapping[str, Value]) -> None:
    """Raise unless every ``group.parameter=value`` exists, is allowed, and matters to one of the methods."""
    used: dict[str, Any] = {}
    for text in methods:
        used |= _parameter_groups(registry, registry.method(text))
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


def canonical_name(source: DatasetSource) -> str:
    """The one name of a dataset, however it was written: a source may put its parameter into a canonical form."""
    first = next(iter(parameters(type(source))), None)
    argument = "" if first is None else getattr(source, first.name)
    return f"{source.name}:{argument}" if argument else source.name


def task_of(source: DatasetSource) -> str:
    """Whether a sample of a dataset has one class, as it does unless its source says otherwise."""
    return str(getattr(source, "task", SINGLE))


def samples_of(source: DatasetSource) -> str:
    """Whether a dataset has images, as it does unless its source says otherwise, or vectors."""
    return str(getattr(source, "samples", IMAGES))


def _check_vectors(source: DatasetSource, dataset: str, values: Mapping[str, Mapping[str, Value]]) -> None:
    """Raise if a setting is for images and the dataset has vectors."""
    if samples_of(source) != VECTORS:
        return
    usual = defaults(Network)
    for name, value in values["network"].items():
        if value != usual[name]:
            raise BenchError(f"network.{name}={value} is for images, and {dataset} has vectors; leave it out")
    if values["recipe"]["augment"] != "none":
        augment = values["recipe"]["augment"]
        raise BenchError(f"recipe.augment={augment} is for images, and {dataset} has vectors; take none")


def _check_backbone(registry: Registry, name: str, source: DatasetSource, dataset: str) -> None:
    """Raise if a backbone is for other samples than the dataset's. A name that no plugin has may be one of timm's."""
    samples = samples_of(source)
    backbones: list[Backbone] = [entry.component for entry in registry.of("backbones")]
    takes = next((each.takes for each in backbones if each.name == name), IMAGES)
    if takes != samples:
        able = ", ".join(each.name for each in backbones if each.takes == samples)
        known = f"{able}, and timm's" if samples == IMAGES else able
        raise BenchError(f"--backbone {name} takes {takes}, and {dataset} has {samples}; these take them: {known}")


def _check_stages(
    registry: Registry, method: Method, values: Mapping[str, Mapping[str, Value]], source: DatasetSource
) -> None:
    """Raise if a stage is not made for the task, needs sets that are not there, or images that will not be."""
    task = task_of(source)
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
        if getattr(component, "needs_images", False):
            place = f"method {method.name!r}: {stage} {name!r} augments images, and"
            if values["network"]["tune"] == "head":
                raise BenchError(f"{place} --tune head has features alone")
            if samples_of(source) == VECTORS:
                raise BenchError(f"{place} the dataset {source.name!r} has vectors")


def _check_network(network: Mapping[str, Value], recipe: Mapping[str, Value]) -> None:
    """Raise if only a head is to be trained and that makes no sense."""
    if network["tune"] != "head":
        return
    if network["weights"] is None:
        raise BenchError(f"--tune head freezes the backbone, so it needs {Network.name}.weights: --weights says which")
    if recipe["augment"] != "none":
        raise BenchError(f"recipe.augment={recipe['augment']}: with --tune head features are computed once; take none")


def check_labels(
    source: DatasetSource,
    labels: int,
    method: Method,
    calibration: Mapping[str, Value] | None,
    *,
    validation: bool,
    balanced: bool = True,
) -> None:
    """Raise unless the dataset has that many labels to give, evenly over classes and enough for calibration."""
    classes, size = source.classes, source.train_size
    if validation:
        size -= size // VALIDATION_SHARE
    if labels > size:
        raise BenchError(f"--labels {labels}: {source.name} has {size} training samples")
    if labels == size and method.selector is not None:
        raise BenchError(f"--labels {labels}: all of {source.name} is labeled, and {method.name!r} needs a pool")
    if task_of(source) == SINGLE:
        _check_per_class(source, labels, balanced=balanced)
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


def _check_per_class(source: DatasetSource, labels: int, *, balanced: bool) -> None:
    """Raise unless every class can get a label and, if they are ``balanced``, equally many."""
    classes = source.classes
    if labels < classes:
        raise BenchError(f"--labels {labels}: {source.name} has {classes} classes and each needs a label")
    if balanced and labels % classes:
        low = labels - labels % classes
        raise BenchError(
            f"--labels {labels}: not divisible by the {classes} classes of {source.name}, and every class gets "
            f"equally many; take {low} or {low + classes}"
        )
