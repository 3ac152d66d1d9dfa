"""What runs need before the first of them starts: their datasets, and a backbone that can take them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from pseudobench.errors import BenchError, PluginError, one_line
from pseudobench.features import with_features
from pseudobench.methods import STAGES
from pseudobench.networks import check_backbone, make_head, network_spec, try_network
from pseudobench.pool import draws
from pseudobench.presets import Network, Recipe
from pseudobench.splits import check_budget, with_validation

if TYPE_CHECKING:
    from pseudobench.cache import Cache
    from pseudobench.listeners import Listener
    from pseudobench.registry import Registry
    from pseudobench.spec import RunSpec
    from pseudobench.types import Dataset


@dataclass(frozen=True)
class Loader:
    """Loads each dataset once, as its runs see it, and raises before anything is trained if something can't be."""

    registry: Registry
    data_dir: Path
    cache: Cache | None
    weights_file: Path | None
    listener: Listener
    _originals: dict[str, Dataset] = field(default_factory=dict)
    _views: dict[tuple[Any, ...], Dataset] = field(default_factory=dict)
    _checked: set[tuple[Any, ...]] = field(default_factory=set)

    def load(self, specs: Sequence[RunSpec], device: torch.device) -> dict[str, Dataset]:
        """The dataset of each run, by run id."""
        for backbone in dict.fromkeys(spec.backbone for spec in specs):
            check_backbone(self.registry, backbone)
        for spec in specs:
            if spec.dataset not in self._originals:
                self._originals[spec.dataset] = self._read(spec.dataset)
            original = self._originals[spec.dataset]
            self._check_budget(spec, original)
            self._check_network(spec, original, device)
            if _view(spec) not in self._views:
                self._views[_view(spec)] = evaluated(spec, self._seen(spec, original, device))
        return {spec.run_id: self._views[_view(spec)] for spec in specs}

    def _read(self, name: str) -> Dataset:
        try:
            return self.registry.dataset(name).load(self.data_dir)
        except BenchError:
            raise
        except Exception as error:
            owner = self.registry.owner("datasets", name.partition(":")[0])
            raise PluginError(f"dataset {name!r} of {owner} can't be loaded: {one_line(error)}") from error

    def _seen(self, spec: RunSpec, data: Dataset, device: torch.device) -> Dataset:
        """Images, or features of a frozen backbone."""
        if spec.group(Network).tune == "full":
            return data
        return with_features(
            data,
            spec,
            self.registry,
            weights_file=self.weights_file,
            cache=self.cache,
            device=device,
            on_progress=self.listener.features_computed,
        )

    def _check_budget(self, spec: RunSpec, data: Dataset) -> None:
        seen = evaluated(spec, data) if spec.evaluates_on == "validation" else data
        key = spec.dataset, spec.evaluates_on, label_budget(spec, seen)
        if key not in self._checked:
            self._checked.add(key)
            check_budget(spec.dataset, seen.strata, key[2])

    def _check_network(self, spec: RunSpec, data: Dataset, device: torch.device) -> None:
        """Try the network, and its dropout if a stage draws with it."""
        drawing = [name for stage, name in spec.stages.items() if self._draws(spec, stage, name)]
        dropout = spec.group(Recipe).dropout
        key = spec.dataset, spec.backbone, str(spec.settings.get("network")), dropout, bool(drawing)
        if key in self._checked:
            return
        self._checked.add(key)
        network = try_network(self.registry, network_spec(spec, data, self.weights_file), device)
        inputs = torch.rand(4, *data.train_images.shape[1:], generator=torch.Generator().manual_seed(0))
        if spec.group(Network).tune == "head":
            network = make_head(16, data.classes, dropout, seed=0, device=device)
            inputs = inputs.flatten(1)[:, :16]
        if drawing and not draws(network, network, inputs.to(device)):
            raise BenchError(
                f"{drawing[0]} needs dropout, and {spec.backbone} has none active with recipe.dropout={dropout:g}: "
                "there would be no uncertainty at all; take another backbone, or a recipe.dropout above 0"
            )

    def _draws(self, spec: RunSpec, stage: str, name: str) -> bool:
        component = self.registry.get(STAGES[stage], name)(**spec.settings[name])
        return bool(getattr(component, "needs_dropout", False))


def _view(spec: RunSpec) -> tuple[Any, ...]:
    """What tells one run's data from another's."""
    frozen = spec.group(Network).tune == "head"
    return spec.dataset, spec.evaluates_on, *((spec.backbone, str(spec.settings["network"])) if frozen else ())


def evaluated(spec: RunSpec, data: Dataset) -> Dataset:
    """The dataset as a run sees it: with validation images in place of test images where the spec says so."""
    return with_validation(data) if spec.evaluates_on == "validation" else data


def label_budget(spec: RunSpec, data: Dataset) -> int:
    """How many labels a run may use: all of them for a ceiling."""
    return len(data.train_labels) if spec.trains_on == "all" else spec.labels
