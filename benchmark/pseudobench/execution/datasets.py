"""Loading the datasets of runs, and checking label budgets and networks before the first run starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from pseudobench.contracts.datasets import IMAGES, VECTORS, Dataset
from pseudobench.contracts.events import Listener
from pseudobench.contracts.executing import RunnerConfig
from pseudobench.contracts.run_spec import RunSpec
from pseudobench.contracts.settings import Data, Network, Recipe
from pseudobench.errors import BenchError, PluginError, one_line
from pseudobench.experiments.run_checks import samples_of
from pseudobench.experiments.splits import check_budget, evaluated, label_budget
from pseudobench.learning.features import with_features
from pseudobench.learning.networks import check_backbone, make_network, network_spec, try_network
from pseudobench.learning.pool import draws
from pseudobench.registry.components import Registry
from pseudobench.storage.cache import Cache

#: Length of the made-up features that a head's dropout is tried on.
_FEATURES = 16


@dataclass(frozen=True)
class DatasetLoader:
    """Loads each dataset once, as its runs see it. Raises before anything is trained if a run can't be done."""

    config: RunnerConfig
    registry: Registry
    cache: Cache | None
    listener: Listener
    _originals: dict[str, Dataset] = field(default_factory=dict)
    _views: dict[tuple[Any, ...], Dataset] = field(default_factory=dict)
    _checked: set[tuple[Any, ...]] = field(default_factory=set)

    def check(self, specs: Sequence[RunSpec]) -> None:
        """Raise if a run can't be done, as far as that can be told without fetching data or making networks."""
        self._check_backbones(specs)
        present = {name: is_present(self.registry, name, self.config.data) for name in {each.dataset for each in specs}}
        for spec in specs:
            if present[spec.dataset]:
                self._checked_original(spec)

    def load(self, specs: Sequence[RunSpec], device: torch.device, *, features: bool = True) -> dict[str, Dataset]:
        """The dataset of each run, by run id; without ``features``, with its images even where a backbone is frozen."""
        self._check_backbones(specs)
        for spec in specs:
            original = self._checked_original(spec)
            for backbone in spec.backbones:
                self._check_network(replace(spec, backbone=backbone), original, device)
            view = (_view(spec), features)
            if view not in self._views:
                seen = self._seen(spec, original, device) if features else original
                self._views[view] = evaluated(spec, seen)
        return {spec.run_id: self._views[_view(spec), features] for spec in specs}

    def _check_backbones(self, specs: Sequence[RunSpec]) -> None:
        for backbone in dict.fromkeys(backbone for spec in specs for backbone in spec.backbones):
            check_backbone(self.registry, backbone)

    def _checked_original(self, spec: RunSpec) -> Dataset:
        """The dataset, which has labels enough for the run, in images that are large enough."""
        if spec.dataset not in self._originals:
            self._originals[spec.dataset] = read_dataset(self.registry, spec.dataset, self.config.data)
        original = self._originals[spec.dataset]
        self._check_budget(spec, original)
        _check_size(spec, original)
        return original

    def _seen(self, spec: RunSpec, data: Dataset, device: torch.device) -> Dataset:
        """Images, or features of a frozen backbone."""
        if spec.group(Network).tune == "full":
            return data
        return with_features(
            data,
            spec,
            self.registry,
            weights_file=self.config.weights_file(spec),
            cache=self.cache,
            device=device,
            on_progress=self.listener.features_computed,
        )

    def _check_budget(self, spec: RunSpec, data: Dataset) -> None:
        imbalance, selects = spec.group(Data).imbalance, "selector" in spec.stages
        key = spec.dataset, spec.evaluates_on, spec.trains_on, spec.labels, imbalance, selects
        if key not in self._checked:
            self._checked.add(key)
            seen = evaluated(spec, data)
            budget = label_budget(spec, seen)
            check_budget(spec.dataset, seen.strata, budget, imbalance)
            if selects and budget == len(seen.train_labels):
                raise BenchError(
                    f"--labels {budget}: all of {spec.dataset} is labeled, and {spec.method!r} needs a pool"
                )

    def _check_network(self, spec: RunSpec, data: Dataset, device: torch.device) -> None:
        """Try the network, and its dropout if a stage draws with it."""
        drawing = [name for stage, name in spec.stages.items() if self._draws(spec, stage)]
        dropout = spec.group(Recipe).dropout
        key = spec.dataset, spec.backbone, str(spec.settings.get("network")), dropout, bool(drawing)
        if key in self._checked:
            return
        self._checked.add(key)
        made = network_spec(spec, data.train, data.classes, self.config.weights_file(spec))
        network = try_network(self.registry, made, device)
        if spec.group(Network).tune == "head":
            made = replace(made, shape=(_FEATURES,))
            network = make_network(self.registry, made, seed=0, device=device)
        inputs = torch.rand(4, *made.shape, generator=torch.Generator().manual_seed(0))
        if drawing and not draws(network, network, inputs.to(device)):
            raise BenchError(
                f"{drawing[0]} needs dropout, and {spec.backbone} has none active with recipe.dropout={dropout:g}: "
                "there would be no uncertainty at all; take another backbone, or a recipe.dropout above 0"
            )

    def _draws(self, spec: RunSpec, stage: str) -> bool:
        return bool(getattr(self.registry.stage_of_run(spec, stage), "needs_dropout", False))


def _check_size(spec: RunSpec, data: Dataset) -> None:
    """Raise if images are too small for the augmentation: shifted by a pixel, one of one pixel is gone."""
    augment, tuned = spec.group(Recipe).augment, spec.group(Network).tune == "full"
    if augment == "none" or data.train.are_vectors or not tuned:
        return
    _, height, width = data.train.shape
    if min(height, width) <= (width // 8 or 1):
        raise BenchError(
            f"images of {height} x {width} pixels, as {spec.dataset} has, can't be shifted, which is part of "
            f"recipe.augment={augment}; --set recipe.augment=none trains on them as they are"
        )


def is_present(registry: Registry, name: str, folder: Path) -> bool:
    """Whether a dataset can be loaded without fetching anything; not if its plugin can't say."""
    try:
        return bool(registry.dataset(name).is_present(folder))
    except Exception:  # of any plugin; loading it says why
        return False


def read_dataset(registry: Registry, name: str, folder: Path) -> Dataset:
    """A dataset by name, fetched first if need be; any error becomes one line that names its plugin."""
    source, owner = registry.dataset(name), registry.owner("datasets", name.partition(":")[0])
    try:
        data = source.load(folder)
    except BenchError:
        raise
    except Exception as error:
        raise PluginError(f"dataset {name!r} of {owner} can't be loaded: {one_line(error)}") from error
    found = VECTORS if data.train.are_vectors else IMAGES
    if found != samples_of(source):
        raise PluginError(f"dataset {name!r} of {owner} has {found}: its class must say samples = {found!r}")
    return data


def _view(spec: RunSpec) -> tuple[Any, ...]:
    """The choices that decide which data a run sees."""
    frozen = spec.group(Network).tune == "head"
    seen = spec.dataset, spec.evaluates_on, spec.group(Data).imbalance
    return *seen, *((spec.backbone, str(spec.settings["network"])) if frozen else ())
