"""Where calibration points come from: held out, the training data itself (the paper), or cross-fitted folds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from pseudobench.protocols import Fold
from pseudobench.types import MULTI

if TYPE_CHECKING:
    from pseudobench.pool import NetworkPool
    from pseudobench.rounds import Run
    from pseudobench.training import Networks
    from pseudobench.types import Selection


def calibration_folds(
    run: Run, networks: Networks, pool: NetworkPool, selection: Selection | None
) -> list[Fold[NetworkPool]]:
    """The calibration points of a round; ``selection`` is what ``networks`` were trained on besides labels."""
    if run.spec.policy == "cross":
        return [
            _fold(run, held, network, run.pool(network, run.images(run.split.unlabeled)))
            for held, network in zip(run.fold_indices, networks.folds, strict=True)
        ]
    if run.spec.policy == "train":
        return [_training_data(run, networks, pool, selection)]
    return [_fold(run, run.split.calibration, networks.main, pool)]


def _fold(run: Run, indices: tuple[int, ...], network: torch.nn.Module, rest: NetworkPool) -> Fold[NetworkPool]:
    return Fold(run.pool(network, run.images(indices)), run.data.train_labels[list(indices)], rest)


def _training_data(run: Run, networks: Networks, pool: NetworkPool, selection: Selection | None) -> Fold[NetworkPool]:
    """Algorithm 2 to the letter: RAPS is given what the network was trained on, pseudo-labels and all."""
    images, labels = run.images(run.split.labeled), run.data.train_labels[list(run.split.labeled)]
    if selection is not None:
        used = selection.positive.any(1)
        chosen = selection.positive[used]
        images = torch.cat([images, run.images(run.split.unlabeled)[used]])
        labels = torch.cat([labels, chosen if run.data.task == MULTI else chosen.int().argmax(1)])
    return Fold(run.pool(networks.main, images), labels, pool)
