"""One round, and Algorithm 2's loop of rounds.

Round 0 trains on the labels. Round k predicts the pool with round k-1's network, calibrates, labels, selects,
and trains a new network on labels and selection. Stages see the pool's images, never its labels.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pseudobench import splits
from pseudobench.augment import augmentation
from pseudobench.choosing import Choice, choose
from pseudobench.listeners import Progress
from pseudobench.methods import STAGES
from pseudobench.networks import input_moments, make_head, make_network, network_spec
from pseudobench.pool import NetworkPool, Normalizer
from pseudobench.presets import Calibration, Loop, Recipe
from pseudobench.training import train_networks
from pseudobench.types import Context, Dataset, Selection, Split

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from pseudobench.cache import Cache
    from pseudobench.recorder import Recorder
    from pseudobench.registry import Registry
    from pseudobench.spec import RunSpec


class Stopwatch:
    """Seconds per stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def time(self, stage: str) -> Iterator[None]:
        """Add what happens inside to ``stage``."""
        start = time.perf_counter()
        yield
        self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - start


@dataclass(frozen=True)
class Run:
    """Everything that stays the same over the rounds of one run."""

    spec: RunSpec
    registry: Registry
    data: Dataset
    split: Split
    device: torch.device
    on_progress: Callable[[Progress], None] = lambda _progress: None
    weights_file: Path | None = None
    cache: Cache | None = None

    @cached_property
    def normalize(self) -> Normalizer:
        """What is done to images before a network sees them."""
        pixels = self.data.train_images.ndim == 4
        return Normalizer(input_moments(self.spec, self.data), self.device, pixels=pixels)

    def new_network(self, seed: int) -> nn.Module:
        """A network before training: the whole backbone, or a head for features."""
        dropout = self.spec.group(Recipe).dropout
        if self.data.train_images.ndim == 2:
            return make_head(self.data.train_images.shape[1], self.data.classes, dropout, seed=seed, device=self.device)
        made = network_spec(self.spec, self.data, self.weights_file)
        return make_network(self.registry, made, seed=seed, device=self.device)

    @property
    def rounds(self) -> int:
        """How many rounds follow the first training at most."""
        return self.spec.group(Loop).rounds if "selector" in self.spec.stages else 0

    @property
    def fold_indices(self) -> list[tuple[int, ...]]:
        """The labeled images in folds, for cross calibration; else no fold."""
        if self.spec.policy != "cross":
            return []
        folds = self.spec.group(Calibration).folds
        return splits.make_folds(self.split, self.data.strata, folds=folds, name=self.data.name, seed=self.spec.seed)

    @cached_property
    def members(self) -> int:
        """How many networks the estimator asks."""
        return int(getattr(self.component("estimator"), "networks", 1))

    def component(self, stage: str) -> Any:
        """The component that does a stage, with this run's parameters; None where the method has no such stage."""
        name = self.spec.stages.get(stage)
        return None if name is None else self.registry.get(STAGES[stage], name)(**self.spec.settings[name])

    def images(self, indices: tuple[int, ...]) -> Tensor:
        """Training images by index."""
        return self.data.train_images[list(indices)]

    def pool(self, network: nn.Module, images: Tensor) -> NetworkPool:
        """Images as a network sees them."""
        return NetworkPool(network, images, self.normalize, augment=augmentation("weak", self.data.flip))


@dataclass(frozen=True)
class Round:
    """A finished round: what is recorded of it, and what the next one needs."""

    record: dict[str, Any]
    selection: Selection | None
    settled: bool


def run_rounds(run: Run, recorder: Recorder, last: Round | None = None) -> Iterator[Round]:
    """Algorithm 2: yields each round as it ends. ``last`` is the round after which an interrupted run goes on."""
    selection = last.selection if last else None
    if last is not None and last.settled:
        return
    first = last.record["round"] + 1 if last else 0
    networks = train_networks(run, selection, first - 1) if 0 < first <= run.rounds else None
    for round_ in range(first, run.rounds + 1):
        watch = Stopwatch()
        described, settled = None, False
        if networks is not None:
            context = Context(run.spec.seed, round_, run.rounds, run.data.classes, run.data.task)
            choice = choose(run, networks, selection, context, watch)
            settled = selection is not None and _settled(selection, choice.selection, run.spec.group(Loop).settle)
            described = describe(choice, recorder)
            if choice.scaling is not None:  # of the network that chose, before a new one takes its place
                test = run.pool(networks.main, run.data.test_images).scaled(choice.scaling)
                described["scaled_test"] = recorder.test(test.logits())
            selection = choice.selection
        with watch.time("fit"):
            networks = train_networks(run, selection, round_, last=settled or round_ == run.rounds)
        with watch.time("evaluate"):
            tested = recorder.test(run.pool(networks.main, run.data.test_images).logits())
        record = {"round": round_, "selection": described, "test": tested, "seconds": watch.seconds}
        yield Round({**record, "work": dict(networks.work)}, selection, settled)
        if settled:
            return


def _settled(before: Selection, now: Selection, tolerance: float) -> bool:
    """Whether the number of selected pseudo-labels has converged."""
    return abs(now.count - before.count) <= tolerance * before.count


def describe(choice: Choice, recorder: Recorder) -> dict[str, Any]:
    """What is recorded of a choice of pseudo-labels."""
    described = recorder.selection(choice.estimate, choice.labels, choice.selection)
    if choice.calibrated is not None and choice.sets is not None and choice.test_sets is not None:
        described |= recorder.sets(choice.sets, choice.test_sets, choice.calibration_points)
        described["calibrated"] = dict(choice.calibrated.numbers)
    if choice.scaling is not None:
        described["scaling"] = dict(choice.scaling.numbers)
    return described
