"""Checks of one run before anything is trained: do dataset, stages, network and labels go together?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress

from pseudobench.base.paths import data_folder
from pseudobench.contracts.datasets import IMAGES, SINGLE, VECTORS
from pseudobench.contracts.kinds import STAGE_KINDS
from pseudobench.contracts.methods import Method
from pseudobench.contracts.parameters import Value, defaults, parameters
from pseudobench.contracts.protocols import Backbone, DatasetSource
from pseudobench.contracts.settings import Network
from pseudobench.errors import BenchError
from pseudobench.experiments.splits import VALIDATION_SHARE, with_validation
from pseudobench.registry.components import Registry


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


def check_vectors(source: DatasetSource, dataset: str, values: Mapping[str, Mapping[str, Value]]) -> None:
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


def check_backbone_kind(registry: Registry, name: str, source: DatasetSource, dataset: str) -> None:
    """Raise if a backbone is for other samples than the dataset's. A name that no plugin has may be one of timm's."""
    samples = samples_of(source)
    backbones: list[Backbone] = [entry.component for entry in registry.of("backbones")]
    takes = next((each.takes for each in backbones if each.name == name), IMAGES)
    if takes != samples:
        able = ", ".join(each.name for each in backbones if each.takes == samples)
        known = f"{able}, and timm's" if samples == IMAGES else able
        raise BenchError(f"--backbone {name} takes {takes}, and {dataset} has {samples}; these take them: {known}")


def check_stages(
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
        views = bool(getattr(component, "views", ()))
        if views and method.labels == "all":
            raise BenchError(f"method {method.name!r}: {stage} {name!r} learns from the pool, and all is labeled")
        if getattr(component, "needs_images", views):
            place = f"method {method.name!r}: {stage} {name!r} augments images, and"
            if values["network"]["tune"] == "head":
                raise BenchError(f"{place} --tune head has features alone")
            if samples_of(source) == VECTORS:
                raise BenchError(f"{place} the dataset {source.name!r} has vectors")


def check_network(network: Mapping[str, Value], recipe: Mapping[str, Value]) -> None:
    """Raise if only a head is to be trained and that makes no sense."""
    if network["tune"] != "head":
        return
    if network["weights"] is None:
        raise BenchError(f"--tune head freezes the backbone, so it needs {Network.name}.weights: --weights says which")
    if recipe["augment"] != "none":
        raise BenchError(f"recipe.augment={recipe['augment']}: with --tune head features are computed once; take none")


def check_backbones(values: Mapping[str, Mapping[str, Value]]) -> None:
    """Raise if rounds have backbones of their own where there is one for all: features, or pretrained weights."""
    named = values.get("loop", {}).get("backbones")
    if named is None:
        return
    if not all(name.strip() for name in str(named).split(",")):
        raise BenchError(f"loop.backbones={named}: names separated by commas, such as resnet18,resnet34")
    if values["network"]["tune"] == "head" or values["network"]["weights"] is not None:
        raise BenchError("loop.backbones: each round trains its backbone from scratch; omit --tune head and --weights")


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
    if labels > size or (labels == size and method.stages):
        reason = f"all of {source.name} is labeled, and {method.name!r} needs a pool"
        if labels > size:
            reason = f"{source.name} has {size} training samples"
        room = size - bool(method.stages)
        most = f"; take at most {_most_labels(source, room, validation=validation)}" if balanced else ""
        raise BenchError(f"--labels {labels}: {reason}{most}")
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


def _most_labels(source: DatasetSource, room: int, *, validation: bool) -> int:
    """The most labels, up to ``room``, of which every class gets equally many; the data is read if it is there."""
    if task_of(source) != SINGLE:
        return room
    most = room - room % source.classes
    folder = data_folder(None)
    with suppress(Exception):  # of any plugin; a run says it
        if source.is_present(folder):
            data = source.load(folder)
            counts = Counter((with_validation(data) if validation else data).strata)
            if most < sum(counts.values()):  # all labels need not be equally many
                most = min(most, min(counts.values()) * source.classes)
    return most


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
