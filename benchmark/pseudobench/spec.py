"""What one run is: every choice that determines its result, resolved to plain values, and a name for it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from pseudobench.errors import BenchError
from pseudobench.methods import STAGES, Method
from pseudobench.parameters import Value, checked, defaults, identifying, suggest
from pseudobench.presets import GROUPS, HEAD, PRESETS, Network
from pseudobench.protocols import DatasetSource
from pseudobench.registry import Registry
from pseudobench.splits import VALIDATION_SHARE
from pseudobench.types import SINGLE

Group = TypeVar("Group")


@dataclass(frozen=True)
class RunSpec:
    """One method on one dataset with one label budget, backbone and seed.

    ``settings`` holds every parameter of every component in use, so that a changed default is another run; what was
    added since, with a default that means what was done before, is left out at that default.
    ``overrides`` are those of them that the user asked for and that differ from what they would have been.
    """

    dataset: str
    labels: int
    method: str
    seed: int
    backbone: str
    preset: str
    stages: Mapping[str, str]
    trains_on: str
    evaluates_on: str
    settings: Mapping[str, Mapping[str, Value]]
    overrides: Mapping[str, Value] = field(default_factory=dict)

    @property
    def run_id(self) -> str:
        """A readable name that no other spec has."""
        identity = {key: value for key, value in asdict(self).items() if key != "overrides"}
        digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:10]
        return f"{re.sub(r'[^A-Za-z0-9._-]+', '_', self.dataset)}-{self.labels}-{self.method}-s{self.seed}-{digest}"

    @property
    def policy(self) -> str | None:
        """The calibration policy; None for a method that needs no calibration data."""
        group = self.settings.get("calibration")
        return None if group is None else str(group["policy"])

    def group(self, kind: type[Group]) -> Group:
        """One of the groups of settings (`Recipe`, `Network`, `Loop`, `Calibration`) as an object."""
        return kind(**self.settings.get(kind.name, {}))  # type: ignore[attr-defined]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RunSpec:
        """A spec as a record holds it."""
        return cls(**data)


def choices_of(spec: RunSpec) -> dict[str, Value]:
    """Every choice of a run by name, as trackers log them: ``method``, ``ups.tau_p``."""
    names = ("dataset", "labels", "method", "seed", "backbone", "preset", "evaluates_on")
    return {name: getattr(spec, name) for name in names} | flat(spec.settings)


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
    for key in chosen.settings:
        if key.partition(".")[0] not in groups:
            raise BenchError(f"method {method!r} sets {key}, but has no {key.partition('.')[0]!r}")
    _apply(values, groups, chosen.settings)
    before = flat(values)
    _apply(values, groups, settings or {})
    overrides = {key: value for key, value in flat(values).items() if value != before[key]}
    _check_stages(registry, chosen, values, task_of(source))
    _check_network(values["network"], values["recipe"])
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
    """The settings that identify a run; a group of the harness that has none is left out."""
    kept = {group: identifying(groups[group], held) for group, held in values.items()}
    return {group: held for group, held in kept.items() if held or group not in GROUPS}


def _parameter_groups(registry: Registry, method: Method) -> dict[str, Any]:
    """Name to the class that declares its parameters, for all that this method uses."""
    used = {name: registry.get(STAGES[stage], name) for stage, name in method.stages.items()}
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


def flat(values: Mapping[str, Mapping[str, Value]]) -> dict[str, Value]:
    """Settings by their whole names, ``group.parameter``."""
    return {f"{group}.{name}": value for group, held in values.items() for name, value in held.items()}


def check_settings(registry: Registry, methods: list[str], settings: Mapping[str, Value]) -> None:
    """Raise unless every ``group.parameter=value`` exists, is allowed, and matters to one of the methods."""
    used: dict[str, Any] = {}
    for text in methods:
        used |= _parameter_groups(registry, registry.method(text))
    everything = {entry.name: entry for entry in registry if entry.kind in STAGES.values()}
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
        component = registry.get(STAGES[stage], name)(**values[name])
        if task not in getattr(component, "tasks", (SINGLE,)):
            able = [entry.name for entry in registry.of(STAGES[stage]) if task in getattr(entry.component, "tasks", ())]
            raise BenchError(
                f"method {method.name!r}: {stage} {name!r} is not made for {task} data; these are: {', '.join(able)}"
            )
        if getattr(component, "needs_sets", False) and method.sets is None:
            known = ", ".join(entry.name for entry in registry.of("set-predictors"))
            raise BenchError(
                f"method {method.name!r}: {stage} {name!r} needs a set predictor, as it is set; add one of: {known}"
            )
        if getattr(component, "needs_images", False) and values["network"]["tune"] == "head":
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


def check_labels(
    source: DatasetSource, labels: int, method: Method, calibration: Mapping[str, Value] | None, *, validation: bool
) -> None:
    """Raise unless the dataset has that many labels to give, evenly over classes and enough for calibration."""
    classes, size = source.classes, source.train_size
    if validation:
        size -= size // VALIDATION_SHARE
    if labels > size:
        raise BenchError(f"--labels {labels}: {source.name} has {size} training images")
    if labels == size and method.selector is not None:
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
