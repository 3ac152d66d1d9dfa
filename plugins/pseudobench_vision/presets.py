"""Settings of the datasets, by preset, and label budgets.

No part of a run's code: what a run took of them is among its settings. So a preset can change, and runs of its earlier
values stay valid under these.
"""

from __future__ import annotations

from collections.abc import Mapping

from pseudobench import Value

#: The settings of a dataset, by preset.
Presets = Mapping[str, Mapping[str, Value]]

#: Chosen with --validation. Without augmentation 40 labels leave room above supervised training; a quarter of them is
#: what conformal sets at alpha = 0.1 need at least. One thread is the fastest for images this small, and makes results
#: the same however many cores there are.
DIGITS: Presets = {
    "cpu": {
        "recipe.epochs": 20,
        "recipe.steps": 40,
        "recipe.batch_size": 32,
        "recipe.augment": "none",
        "recipe.threads": 1,
        "calibration.fraction": 0.25,
    },
    "smoke": {"recipe.batch_size": 32, "recipe.threads": 1, "calibration.fraction": 0.25},
}

#: For `cifar_fast`, chosen on training images held out (results/cpu-budget.md). All networks see equally many labeled
#: images in a step, as in UPS and USB; pseudo-labels come beside them, so that their networks cost twice as much. At
#: equal compute (`half`) negative labels would take places of labeled images, of which so short a training needs every
#: one: UPS would fall far below labels alone on CIFAR-100.
_FAST: Mapping[str, Value] = {
    "recipe.steps": 25,
    "recipe.batch_size": 256,
    "recipe.lr": 0.2,
    "recipe.weight_decay": 1e-3,
    "recipe.warmup": 0.2,
    "recipe.decay": "linear",
    "recipe.batches": "beside",
    "recipe.mirror": True,
    "loop.rounds": 1,
}
# UPS balances classes on CIFAR-10 but never on CIFAR-100.
_UNBALANCED: Mapping[str, Value] = {"ups.balance_rounds": 0}

#: The smaller of the published label counts of each, where pseudo-labels have most to add.
CIFAR10_LABELS, CIFAR100_LABELS = 1000, 4000
CIFAR10: Presets = {"cpu": {**_FAST, "recipe.augment": "cutout"}}
CIFAR100: Presets = {"smoke": _UNBALANCED, "cpu": {**_FAST, **_UNBALANCED}, "paper": _UNBALANCED}

#: For `cifar_cnn`, chosen with --validation for images of one class.
PHOTOGRAPHS: Presets = {
    "cpu": {"recipe.steps": 150, "recipe.batch_size": 128, "recipe.cosine": 0.5, "loop.rounds": 1},
}
#: A quarter of their batch, since a grid has four times the pixels, and half their steps: minutes on two cores.
CIFAR10_GRID: Presets = {"cpu": {**PHOTOGRAPHS["cpu"], "recipe.steps": 75, "recipe.batch_size": 32}}
