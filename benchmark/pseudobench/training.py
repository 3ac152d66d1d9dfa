"""What a round trains on, and the networks it trains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from pseudobench.augment import augmentation
from pseudobench.fit import TrainingSet, fit
from pseudobench.listeners import Progress
from pseudobench.presets import Recipe
from pseudobench.seeds import derive_seed

if TYPE_CHECKING:
    from torch import Tensor, nn

    from pseudobench.rounds import Run
    from pseudobench.types import Selection


@dataclass(frozen=True)
class Networks:
    """What a round trained: the network, and for cross calibration one more for each fold left out."""

    main: nn.Module
    folds: tuple[nn.Module, ...] = ()


def train_networks(run: Run, selection: Selection | None, round_: int) -> Networks:
    """New networks for a round, trained on the labels and the selected pseudo-labels."""
    left_out: list[tuple[int, ...]] = [(), *run.fold_indices]
    trained = [_train(run, selection, held, round_, place, len(left_out)) for place, held in enumerate(left_out)]
    return Networks(trained[0], tuple(trained[1:]))


def _train(
    run: Run, selection: Selection | None, held: tuple[int, ...], round_: int, place: int, places: int
) -> nn.Module:
    """One network. Its seeds do not depend on the method, so that methods differ by what they train on alone."""
    recipe = run.spec.group(Recipe)
    network = run.new_network(derive_seed(run.spec.seed, "network", round_, place))

    def report(epoch: int) -> None:
        share = (round_ + (place + (epoch + 1) / recipe.epochs) / places) / (run.rounds + 1)
        run.on_progress(Progress(round_, run.rounds, epoch + 1, recipe.epochs, share))

    seed = derive_seed(run.spec.seed, "fit", round_, place)
    data, augment = training_set(run, selection, held), augmentation(recipe.augment, run.data.flip)
    fit(network, data, recipe, run.normalize, augment=augment, seed=seed, on_epoch=report)
    return network


def training_set(run: Run, selection: Selection | None, held: tuple[int, ...] = ()) -> TrainingSet:
    """The labeled images but those ``held`` out, and the pool's images that have a selected pseudo-label."""
    keep = sorted(set(run.split.labeled) - set(held))
    images = run.data.train_images[keep]
    positive = one_hot(run.data.train_labels[keep], run.data.classes)
    negative = torch.zeros_like(positive)
    if selection is not None:
        used = (selection.positive | selection.negative).any(1)
        pool = torch.tensor(run.split.unlabeled)[used]
        images = torch.cat([images, run.data.train_images[pool]])
        positive = torch.cat([positive, selection.positive[used]])
        negative = torch.cat([negative, selection.negative[used]])
    return TrainingSet(images, positive, negative)


def one_hot(labels: Tensor, classes: int) -> Tensor:
    """``int64 [n]`` to ``bool [n, C]``."""
    return torch.nn.functional.one_hot(labels, classes).bool()
