"""What a round trains on, and the networks it trains."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from pseudobench.augment import augmentation
from pseudobench.fit import TrainingSet, fit
from pseudobench.identity import network_key
from pseudobench.listeners import Progress
from pseudobench.presets import Recipe
from pseudobench.seeds import derive_seed
from pseudobench.types import MULTI

if TYPE_CHECKING:
    from torch import Tensor, nn

    from pseudobench.cache import Checkpoint
    from pseudobench.rounds import Run
    from pseudobench.types import Selection


@dataclass(frozen=True)
class Networks:
    """What a round trained: the network, one for each fold left out in cross calibration, and an ensemble's others.

    Those of folds are members of the ensemble too, so that it costs nothing under cross calibration. ``work`` says how
    many were trained, how many came from the cache, and the seconds that saved.
    """

    main: nn.Module
    folds: tuple[nn.Module, ...]
    others: tuple[nn.Module, ...]
    work: Mapping[str, float]


def train_networks(run: Run, selection: Selection | None, round_: int, *, last: bool = False) -> Networks:
    """New networks for a round, trained on the labels and the selected pseudo-labels.

    After the ``last`` round nothing is chosen any more, so one network is enough.
    """
    folds = [] if last else run.fold_indices
    others = 0 if last else max(run.members - 1 - len(folds), 0)
    # What is left out, and what tells the network's seeds from the others': neither folds nor members move the others.
    plan: list[tuple[tuple[int, ...], tuple[str | int, ...]]] = [((), (0,))]
    plan += [(held, (fold,)) for fold, held in enumerate(folds, 1)]
    plan += [((), ("member", member)) for member in range(1, others + 1)]
    trained = [
        _Trainee(run, round_, place, len(plan), names).train(selection, held)
        for place, (held, names) in enumerate(plan)
    ]
    saved = [seconds for _, seconds in trained if seconds is not None]
    work = {"trained": len(trained) - len(saved), "reused": len(saved), "saved_seconds": sum(saved)}
    networks = tuple(network for network, _ in trained)
    return Networks(networks[0], networks[1 : 1 + len(folds)], networks[1 : run.members], work)


@dataclass(frozen=True)
class _Trainee:
    """One of the ``places`` networks of a round; ``names`` are those of its seeds.

    They do not depend on the method, so that methods differ by what they train on alone.
    """

    run: Run
    round: int
    place: int
    places: int
    names: tuple[str | int, ...]

    def train(self, selection: Selection | None, held: tuple[int, ...]) -> tuple[nn.Module, float | None]:
        """The network, and the seconds that were saved if it came from the cache."""
        run = self.run
        seeds = [derive_seed(run.spec.seed, use, self.round, *self.names) for use in ("network", "fit")]
        network = run.new_network(seeds[0])
        rows, *targets = samples(run, selection, held)
        data = TrainingSet(run.data.train_images, rows, targets[0], targets[1], run.data.task)
        if run.cache is None:
            self._fit(network, data, seeds[1], None)
            return network, None
        key = network_key(run, rows, (targets[0], targets[1]), seeds[0], seeds[1])
        with run.cache.lock("networks", key):
            kept = run.cache.load("networks", key, like=network.state_dict())
            if kept is not None:
                network.load_state_dict(kept.tensors)
                run.cache.saved("networks", kept.note["seconds"])
                self._report(run.spec.group(Recipe).epochs)
                return network.eval(), float(kept.note["seconds"])
            start, checkpoint = time.perf_counter(), run.cache.checkpoint(key)
            self._fit(network, data, seeds[1], checkpoint)
            note = {"seconds": time.perf_counter() - start, "run": run.spec.run_id, "round": self.round}
            run.cache.store("networks", key, network.state_dict(), note)
            checkpoint.discard()  # not before: a kill in between would cost the training
        return network, None

    def _fit(self, network: nn.Module, data: TrainingSet, seed: int, checkpoint: Checkpoint | None) -> None:
        recipe = self.run.spec.group(Recipe)
        augment = augmentation(recipe.augment, self.run.data.flip)
        fit(
            network,
            data,
            recipe,
            self.run.normalize,
            augment=augment,
            seed=seed,
            on_epoch=lambda epoch: self._report(epoch + 1),
            checkpoint=checkpoint,
        )

    def _report(self, done: int) -> None:
        epochs = self.run.spec.group(Recipe).epochs
        share = (self.round + (self.place + done / epochs) / self.places) / (self.run.rounds + 1)
        self.run.on_progress(Progress(self.round, self.run.rounds, done, epochs, share))


def samples(run: Run, selection: Selection | None, held: tuple[int, ...] = ()) -> tuple[Tensor, Tensor, Tensor]:
    """Rows ``int64 [M]`` of the training images, with their ``positive`` and ``negative`` labels ``bool [M, C]``.

    Where a sample can have several classes, those that a labeled one does not have are its
    negatives. The labeled images but those ``held`` out, and the pool's images that have a selected pseudo-label.
    """
    rows = torch.tensor(sorted(set(run.split.labeled) - set(held)))
    known = run.data.train_labels[rows]
    positive = known if run.data.task == MULTI else one_hot(known, run.data.classes)
    negative = ~positive if run.data.task == MULTI else torch.zeros_like(positive)
    if selection is not None:
        used = (selection.positive | selection.negative).any(1)
        rows = torch.cat([rows, torch.tensor(run.split.unlabeled)[used]])
        positive = torch.cat([positive, selection.positive[used]])
        negative = torch.cat([negative, selection.negative[used]])
    return rows, positive, negative


def one_hot(labels: Tensor, classes: int) -> Tensor:
    """``int64 [n]`` to ``bool [n, C]``."""
    return torch.nn.functional.one_hot(labels, classes).bool()
