"""The stages of a round in their order: scale, build sets, estimate, label, select."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from pseudobench.calibration import calibration_folds
from pseudobench.errors import PluginError
from pseudobench.types import Estimate, PredictionSets, PseudoLabels, Selection

if TYPE_CHECKING:
    from pseudobench.pool import NetworkPool
    from pseudobench.protocols import FittedScaling, Fold
    from pseudobench.rounds import Run, Stopwatch
    from pseudobench.training import Networks
    from pseudobench.types import Context

Result = TypeVar("Result")


@dataclass(frozen=True)
class Choice:
    """Everything that a round's stages produced; ``test_sets`` is for the record alone."""

    estimate: Estimate
    labels: PseudoLabels
    selection: Selection
    sets: PredictionSets | None
    test_sets: PredictionSets | None
    scaling: FittedScaling | None
    calibration_points: int


def choose(run: Run, networks: Networks, trained_on: Selection | None, context: Context, watch: Stopwatch) -> Choice:
    """Choose pseudo-labels for the pool with the networks of the round before."""
    with watch.time("predict"):
        pool = run.pool(networks.main, run.images(run.split.unlabeled))
        pool.logits()
        folds = calibration_folds(run, networks, pool, trained_on) if run.spec.policy else []
    with watch.time("scale"):
        scaling = _fit_scaling(run, folds)
        if scaling is not None:
            pool = pool.scaled(scaling)
            folds = [replace(f, pool=f.pool.scaled(scaling), rest=f.rest.scaled(scaling)) for f in folds]
    with watch.time("sets"):
        sets, test_sets = _predict_sets(run, networks, folds, scaling, context)
    with watch.time("estimate"):
        estimator = run.component("estimator")
        estimate = _expect(Estimate, estimator, estimator.estimate(pool, sets, context), len(pool), context)
    with watch.time("label"):
        labeler = run.component("labeler")
        labels = _expect(PseudoLabels, labeler, labeler.label(estimate, sets, context), len(pool), context)
    with watch.time("select"):
        selector = run.component("selector")
        chosen = selector.select(estimate, labels, sets, context)
        selection = _expect(Selection, selector, chosen, len(pool), context)
    points = sum(len(fold.labels) for fold in folds)
    return Choice(estimate, labels, selection, sets, test_sets, scaling, points)


def _fit_scaling(run: Run, folds: list[Fold[NetworkPool]]) -> FittedScaling | None:
    """One scaling for all folds: each point is predicted by a network that was not trained on it."""
    component = run.component("scaling")
    if component is None:
        return None
    logits = torch.cat([fold.pool.logits() for fold in folds])
    fitted: FittedScaling = component.fit(logits, torch.cat([fold.labels for fold in folds]))
    return fitted


def _predict_sets(
    run: Run,
    networks: Networks,
    folds: list[Fold[NetworkPool]],
    scaling: FittedScaling | None,
    context: Context,
) -> tuple[PredictionSets | None, PredictionSets | None]:
    """Sets of the pool and of the test set."""
    component = run.component("sets")
    if component is None:
        return None, None
    calibrated = component.calibrate(folds, context)
    rest = [fold.rest for fold in folds]
    sets = _expect(PredictionSets, component, calibrated.predict(rest, context), len(rest[0]), context)
    tests = [run.pool(network, run.data.test_images) for network in networks.folds or (networks.main,)]
    tests = tests if scaling is None else [test.scaled(scaling) for test in tests]
    return sets, calibrated.predict(tests, context)


def _expect(kind: type[Result], component: Any, result: Any, samples: int, context: Context) -> Result:
    """``result`` if it is what the stage promises; else an error that names the component."""
    name = getattr(component, "name", type(component).__name__)
    if not isinstance(result, kind):
        raise PluginError(f"{name!r} returned {type(result).__name__}, not {kind.__name__}")
    first = next(iter(vars(result).values()))
    if tuple(first.shape) != (samples, context.classes):
        wanted = f"[{samples}, {context.classes}]"
        raise PluginError(f"{name!r} returned a {kind.__name__} of shape {list(first.shape)}, not {wanted}")
    return result
