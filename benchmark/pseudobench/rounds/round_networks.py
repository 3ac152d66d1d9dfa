"""The networks that a round trains, and what they are trained on."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch

from pseudobench.base.seeds import derive_seed
from pseudobench.contracts.datasets import MULTI
from pseudobench.contracts.events import Progress
from pseudobench.contracts.settings import Recipe
from pseudobench.contracts.values import Selection
from pseudobench.learning.augmentation import augmentation
from pseudobench.learning.networks import make_network
from pseudobench.learning.training_loop import fit
from pseudobench.learning.training_set import TrainingSet
from pseudobench.rounds.cache_keys import network_key
from pseudobench.rounds.run import Run
from pseudobench.storage.cache import Checkpoint
from pseudobench.storage.cache_files import Kept

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class Networks:
    """A round's networks: the main one, one for each fold of cross calibration, and further ensemble members.

    The networks of folds are ensemble members too, so that an ensemble costs nothing under cross calibration. ``work``
    counts the networks that were trained and those that came from the cache, and the seconds that saved.
    """

    main: nn.Module
    folds: tuple[nn.Module, ...]
    others: tuple[nn.Module, ...]
    work: Mapping[str, float]


def train_networks(run: Run, selection: Selection | None, round_: int, *, last: bool = False) -> Networks:
    """New networks for a round, trained on the labels and the selected pseudo-labels.

    After the ``last`` round nothing is chosen any more, so one network is enough.
    """
    folds = [] if last else run.folds
    others = 0 if last else max(run.members - 1 - len(folds), 0)
    # Each entry: held-out indices, and names for deriving seeds. Adding folds or members never changes another
    # network's seeds.
    plan: list[tuple[tuple[int, ...], tuple[str | int, ...]]] = [((), (0,))]
    plan += [(held, (fold,)) for fold, held in enumerate(folds, 1)]
    plan += [((), ("member", member)) for member in range(1, others + 1)]
    trained = [
        _Training(run, round_, position, len(plan), names).train(selection, held)
        for position, (held, names) in enumerate(plan)
    ]
    saved = [seconds for _, seconds in trained if seconds is not None]
    work = {"trained": len(trained) - len(saved), "reused": len(saved), "saved_seconds": sum(saved)}
    networks = tuple(network for network, _ in trained)
    return Networks(networks[0], networks[1 : 1 + len(folds)], networks[1 : run.members], work)


@dataclass(frozen=True)
class _Training:
    """The training of one of the ``count`` networks of a round. ``names`` derive its seeds.

    Seeds do not depend on the method, so that methods differ only by what they train on.
    """

    run: Run
    round: int
    position: int
    count: int
    names: tuple[str | int, ...]

    def train(self, selection: Selection | None, held: tuple[int, ...]) -> tuple[nn.Module, float | None]:
        """The network, and the seconds saved if it came from the cache."""
        run = self.run
        seeds = (self._seed("network"), self._seed("fit"))
        network = make_network(run.registry, run.network_of(self.round), seed=seeds[0], device=run.device)
        data = training_set(run, selection, held)
        recipe = self._recipe(data)
        if run.cache is None:
            self._fit(network, data, recipe, seeds[1], None)
            return network, None
        key = network_key(run, self.round, data, recipe, seeds)
        with run.cache.lock("networks", key):
            saved = run.cache.load("networks", key, lambda kept: _restore(network, kept))
            if saved is not None:
                run.cache.saved("networks", saved)
                self._report(run.spec.group(Recipe).epochs)
                return network.eval(), saved
            start, checkpoint = time.perf_counter(), run.cache.checkpoint(key)
            self._fit(network, data, recipe, seeds[1], checkpoint)
            note = {"seconds": time.perf_counter() - start, "run": run.spec.run_id, "round": self.round}
            run.cache.store("networks", key, network.state_dict(), note)
            checkpoint.discard()  # not before: a kill in between would cost the training
        return network, None

    @property
    def _labels(self) -> int:
        """The label budget: labeled and calibration samples."""
        return len(self.run.data.split.labeled) + len(self.run.data.split.calibration)

    def _seed(self, use: str) -> int:
        return derive_seed(self.run.spec.seed, use, self.round, *self.names)

    def _recipe(self, data: TrainingSet) -> Recipe:
        """The recipe of this training, without choices that do not concern it: equal trainings are done once."""
        recipe = replace(self.run.spec.group(Recipe), mirror=False, halve_below=0)
        if self.round == 0 and self._labels < self.run.spec.group(Recipe).halve_below:
            recipe = replace(recipe, batch_size=max(recipe.batch_size // 2, 1))
        if data.labeled == len(data.rows) and recipe.batches in ("half", "beside"):
            recipe = replace(recipe, batches="mixed")
        return recipe

    def _fit(
        self, network: nn.Module, data: TrainingSet, recipe: Recipe, seed: int, checkpoint: Checkpoint | None
    ) -> None:
        fit(
            network,
            data,
            recipe,
            self.run.normalize,
            augment=augmentation(recipe.augment, self.run.data.flip),
            seed=seed,
            lesson=self.run.lesson(self.round),
            on_epoch=lambda epoch: self._report(epoch + 1),
            checkpoint=checkpoint,
        )

    def _report(self, done: int) -> None:
        epochs = self.run.spec.group(Recipe).epochs
        share = (self.round + (self.position + done / epochs) / self.count) / (self.run.rounds + 1)
        self.run.on_progress(Progress(self.round, self.run.rounds, done, epochs, share))


def _restore(network: nn.Module, kept: Kept) -> float:
    """Give a network the weights that were kept; the seconds that their training took."""
    seconds = float(kept.note["seconds"])
    shapes = {name: tensor.shape for name, tensor in network.state_dict().items()}
    if {name: tensor.shape for name, tensor in kept.tensors.items()} != shapes:
        raise ValueError("it is of something else")
    network.load_state_dict(kept.tensors)
    return seconds


def training_set(run: Run, selection: Selection | None, held: tuple[int, ...] = ()) -> TrainingSet:
    """The labeled samples but those ``held`` out, and the pool's samples that have a selected pseudo-label.

    Where a sample can have several classes, those that a labeled one does not have are its negatives. Beside selected
    samples with weights or soft labels, labeled ones have weight 1 and hard labels. An objective with views sees the
    pool and, after it, the samples that are held out, without their labels: to the network they are all alike, so that
    calibration points stay exchangeable with the pool.
    """
    labeled = sorted(set(run.data.split.labeled) - set(held))
    rows, known = torch.tensor(labeled), run.data.labels_of(labeled)
    positive = known if run.data.task == MULTI else one_hot(known, run.data.classes)
    negative = ~positive if run.data.task == MULTI else torch.zeros_like(positive)
    pool = torch.tensor(run.data.split.unlabeled, dtype=torch.int64)
    weight = target = None
    count = len(rows)
    if selection is not None:
        used = (selection.positive | selection.negative).any(1)
        if selection.weight is not None:
            weight = torch.cat([torch.ones(len(rows)), selection.weight[used].float()])
        if selection.target is not None:
            target = torch.cat([positive.float(), selection.target[used].float()])
        rows = torch.cat([rows, pool[used]])
        positive = torch.cat([positive, selection.positive[used]])
        negative = torch.cat([negative, selection.negative[used]])
    seen = torch.cat([pool, torch.tensor((*run.data.split.calibration, *held), dtype=torch.int64)])
    return TrainingSet(run.data.train.tensor, rows, positive, negative, run.data.task, weight, target, seen, count)


def one_hot(labels: torch.Tensor, classes: int) -> torch.Tensor:
    """``int64 [n]`` to ``bool [n, C]``."""
    return torch.nn.functional.one_hot(labels, classes).bool()
