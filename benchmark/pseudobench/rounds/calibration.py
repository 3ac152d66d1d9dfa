"""Where calibration points come from: held out, the training data itself (the paper), or cross-fitted folds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from pseudobench.contracts.datasets import MULTI
from pseudobench.contracts.pools import Fold
from pseudobench.contracts.values import Selection
from pseudobench.learning.pool import NetworkPool
from pseudobench.rounds.round_networks import Networks
from pseudobench.rounds.run import Run

if TYPE_CHECKING:
    from torch import nn


def calibration_folds(
    run: Run, networks: Networks, pool: NetworkPool, selection: Selection | None
) -> list[Fold[NetworkPool]]:
    """The calibration points of a round; ``networks`` were trained on labels and on ``selection``."""
    if run.spec.policy == "cross":
        return [
            _fold(run, held, network, run.pool(network, run.data.pool))
            for held, network in zip(run.folds, networks.folds, strict=True)
        ]
    if run.spec.policy == "train":
        return [_training_data(run, networks, pool, selection)]
    return [_fold(run, run.data.split.calibration, networks.main, pool)]


def _fold(run: Run, indices: tuple[int, ...], network: nn.Module, rest: NetworkPool) -> Fold[NetworkPool]:
    return Fold(run.pool(network, run.data.samples(indices)), run.data.labels_of(indices), rest)


def _training_data(run: Run, networks: Networks, pool: NetworkPool, selection: Selection | None) -> Fold[NetworkPool]:
    """Algorithm 2 to the letter: RAPS is given the data that the network was trained on, pseudo-labels included."""
    labeled = run.data.split.labeled
    samples, labels = run.data.samples(labeled), run.data.labels_of(labeled)
    if selection is not None:
        used = selection.positive.any(1)
        chosen = selection.positive[used]
        samples = torch.cat([samples, run.data.pool[used]])
        labels = torch.cat([labels, chosen if run.data.task == MULTI else chosen.int().argmax(1)])
    return Fold(run.pool(networks.main, samples), labels, pool)
