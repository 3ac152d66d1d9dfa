"""Run records as the harness writes them, with made-up results: what tables and comparisons are tested on."""

from __future__ import annotations

import copy
import hashlib
from functools import cache

from pseudobench.experiments.resolving import resolve
from pseudobench.registry.components import installed
from pseudobench.storage.records import FORMAT, KIND, Store

SPREAD = [0.000, 0.011, -0.012, 0.004, 0.017, -0.009, 0.002, -0.006, 0.013, -0.015]


@cache
def _spec(method, dataset, labels, backbone, preset, validation, settings):
    return vars(
        resolve(
            installed()[1],
            method=method,
            dataset=dataset,
            seed=0,
            labels=labels,
            backbone=backbone,
            preset=preset,
            validation=validation,
            settings=dict(settings),
        )
    )


def record(
    method,
    seed,
    accuracy,
    *,
    dataset="digits",
    labels=40,
    backbone=None,
    preset="cpu",
    validation=False,
    settings=(),
    status="done",
    environment=(),
    **test,
):
    """A finished run with these results on the test set; without accuracy, one that failed at once."""
    spec = copy.deepcopy(_spec(method, dataset, labels, backbone, preset, validation, tuple(dict(settings).items())))
    spec["seed"] = seed
    held = 10 if "calibration" in spec["settings"] else 0
    text = repr((spec["dataset"], labels, seed, held))
    rounds = [{"round": 0, "selection": None, "test": {"accuracy": accuracy, **test}, "seconds": {}}]
    return {
        "kind": KIND,
        "format": FORMAT,
        "run_id": f"{dataset}-{method}-s{seed}-{hashlib.sha256(repr(spec).encode()).hexdigest()[:10]}",
        "status": status if accuracy is not None else "failed",
        "spec": spec,
        "split": {"labeled": labels - held, "calibration": held, "sha256": hashlib.sha256(text.encode()).hexdigest()},
        "environment": dict(environment),
        "rounds": rounds if accuracy is not None else [],
        "error": None if accuracy is not None else {"message": "the loss became nan", "where": "fit"},
        "seconds": 1.0,
    }


def records(method, accuracies, **further):
    """A run for each accuracy, seeds from 0."""
    return [record(method, seed, accuracy, **further) for seed, accuracy in enumerate(accuracies)]


def around(mean, n=10, turn=0):
    """``n`` values around a mean, the same for everybody or in another order."""
    return [mean + SPREAD[(place + turn) % 10] for place in range(n)]


def save(folder, *groups):
    """Records on disk."""
    store = Store(folder)
    store.prepare()
    for group in groups:
        for each in group:
            store.save(each)
