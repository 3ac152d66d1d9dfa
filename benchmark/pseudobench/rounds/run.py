"""One run: everything that stays the same over its rounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pseudobench.contracts.datasets import RunData, strata_of
from pseudobench.contracts.events import Progress
from pseudobench.contracts.run_spec import RunSpec
from pseudobench.contracts.settings import Calibration, Loop, Recipe
from pseudobench.contracts.values import Context
from pseudobench.errors import RunError
from pseudobench.experiments.splits import make_folds
from pseudobench.learning.augmentation import augmentation
from pseudobench.learning.lessons import DEFAULT, Lesson
from pseudobench.learning.networks import NetworkSpec, input_moments, network_spec
from pseudobench.learning.pool import NetworkPool, Normalizer
from pseudobench.registry.components import Registry
from pseudobench.rounds.blame import blame
from pseudobench.storage.cache import Cache

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn


@dataclass(frozen=True)
class Run:
    """A run. ``data`` holds no label of the pool or of the test set: those are in the recorder alone."""

    spec: RunSpec
    registry: Registry
    data: RunData
    device: torch.device
    on_progress: Callable[[Progress], None] = lambda _progress: None
    weights_file: Path | None = None
    cache: Cache | None = None

    @property
    def rounds(self) -> int:
        """How many rounds follow the first training at most."""
        return self.spec.group(Loop).rounds if "selector" in self.spec.stages else 0

    def context(self, round_: int) -> Context:
        """What the stages of a round may know besides their inputs."""
        return Context(self.spec.seed, round_, self.rounds, self.data.classes, self.data.task)

    def network_of(self, round_: int) -> NetworkSpec:
        """The network that a round makes."""
        backbones = self.spec.backbones
        return replace(self.network, backbone=backbones[min(round_, len(backbones) - 1)])

    def lesson(self, round_: int) -> Lesson:
        """How the networks of a round learn."""
        objective = self.component("objective")
        if objective is None:
            return DEFAULT
        made = Lesson(objective, self.context(round_), self.data.flip, partial(blame, self, "objective"))
        if self.data.train.are_vectors and made.needs_images:
            raise RunError(f"objective {objective.name!r} augments images, and these samples are vectors")
        return made

    def component(self, stage: str) -> Any:
        """The component that does a stage; None where the method has no such stage."""
        return self.registry.stage_of_run(self.spec, stage)

    @cached_property
    def members(self) -> int:
        """How many networks the estimator asks."""
        return int(getattr(self.component("estimator"), "networks", 1))

    @cached_property
    def folds(self) -> list[tuple[int, ...]]:
        """The labeled samples in folds, for cross calibration; else none."""
        if self.spec.policy != "cross":
            return []
        labeled = self.data.split.labeled
        strata = strata_of(self.data.labels_of(labeled))
        count = self.spec.group(Calibration).folds
        return make_folds(labeled, strata, folds=count, name=self.data.name, seed=self.spec.seed)

    @cached_property
    def network(self) -> NetworkSpec:
        """The network that each round makes anew, unless ``loop.backbones`` names others."""
        return network_spec(self.spec, self.data.train, self.data.classes, self.weights_file)

    @cached_property
    def moments(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Mean and deviation that the network's inputs are normalized with."""
        return input_moments(self.spec, self.data.train)

    @cached_property
    def normalize(self) -> Normalizer:
        """From samples to the network's inputs."""
        return Normalizer(self.moments, self.device, pixels=not self.data.train.are_vectors)

    def pool(self, network: nn.Module, samples: Tensor) -> NetworkPool:
        """Samples as a network sees them."""
        mirror = self.spec.group(Recipe).mirror and self.data.flip and samples.ndim == 4
        weak = augmentation("weak", self.data.flip)
        return NetworkPool(network, samples, self.normalize, augment=weak, mirror=mirror)
