"""The stages of a round in their order: scale, build sets, estimate, label, select."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from pseudobench.calibration import calibration_folds
from pseudobench.errors import PluginError, RunError
from pseudobench.methods import STAGES
from pseudobench.types import Estimate, PredictionSets, PseudoLabels, Selection

if TYPE_CHECKING:
    from pseudobench.pool import NetworkPool
    from pseudobench.protocols import CalibratedSets, FittedScaling, Fold
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
    scaling: FittedScaling | None
    calibrated: CalibratedSets | None
    sets: PredictionSets | None
    test_sets: PredictionSets | None
    calibration_points: int


def choose(run: Run, networks: Networks, trained_on: Selection | None, context: Context, watch: Stopwatch) -> Choice:
    """Choose pseudo-labels for the pool with the networks of the round before."""
    with watch.time("predict"):
        pool = run.pool(networks.main, run.images(run.split.unlabeled)).beside(networks.others)
        pool.logits()
        folds = calibration_folds(run, networks, pool, trained_on) if run.spec.policy else []
    shape = (len(pool), context.classes)
    with watch.time("scale"), _blame(run, "scaling"):
        scaling = _fit_scaling(run, folds)
        if scaling is not None:
            pool = pool.scaled(scaling)
            folds = [replace(f, pool=f.pool.scaled(scaling), rest=f.rest.scaled(scaling)) for f in folds]
    with watch.time("sets"), _blame(run, "sets"):
        calibrated, sets, test_sets = _predict_sets(run, networks, folds, scaling, context)
    with watch.time("estimate"), _blame(run, "estimator"):
        estimate = _expect(Estimate, run.component("estimator").estimate(pool, sets, context), shape)
    with watch.time("label"), _blame(run, "labeler"):
        labels = _expect(PseudoLabels, run.component("labeler").label(estimate, sets, context), shape)
    with watch.time("select"), _blame(run, "selector"):
        selection = _expect(Selection, run.component("selector").select(estimate, labels, sets, context), shape)
    points = sum(len(fold.labels) for fold in folds)
    return Choice(estimate, labels, selection, scaling, calibrated, sets, test_sets, points)


def _fit_scaling(run: Run, folds: list[Fold[NetworkPool]]) -> FittedScaling | None:
    """One scaling for all folds: each point is predicted by a network that was not trained on it."""
    component = run.component("scaling")
    if component is None:
        return None
    logits = torch.cat([fold.pool.logits() for fold in folds])
    fitted: FittedScaling = component.fit(logits, torch.cat([fold.labels for fold in folds]))
    return fitted


def _predict_sets(
    run: Run, networks: Networks, folds: list[Fold[NetworkPool]], scaling: FittedScaling | None, context: Context
) -> tuple[CalibratedSets | None, PredictionSets | None, PredictionSets | None]:
    """What calibration found, and the sets of the pool and of the test set."""
    component = run.component("sets")
    if component is None:
        return None, None, None
    calibrated: CalibratedSets = component.calibrate(folds, context)
    rest = [fold.rest for fold in folds]
    tests = [run.pool(network, run.data.test_images) for network in networks.folds or (networks.main,)]
    tests = tests if scaling is None else [test.scaled(scaling) for test in tests]
    of_pool, of_test = (
        _expect(PredictionSets, calibrated.predict(pools, context), (len(pools[0]), context.classes))
        for pools in (rest, tests)
    )
    return calibrated, of_pool, of_test


@contextmanager
def _blame(run: Run, stage: str) -> Iterator[None]:
    """Name the component and its plugin in whatever goes wrong inside."""
    try:
        yield
    except RunError:
        raise
    except Exception as error:
        name = run.spec.stages[stage]
        owner = run.registry.owner(STAGES[stage], name)
        reason = str(error) if isinstance(error, PluginError) else f"{type(error).__name__}: {error}"
        raise PluginError(f"{stage} {name!r} of {owner}: {reason}") from error


def _expect(kind: type[Result], result: Any, shape: tuple[int, int]) -> Result:
    """``result`` if it is what the stage promises."""
    if not isinstance(result, kind):
        raise PluginError(f"returned {type(result).__name__}, not {kind.__name__}")
    first = next(iter(vars(result).values()))
    if tuple(first.shape) != shape:
        raise PluginError(f"returned {kind.__name__} of shape {list(first.shape)}, not {list(shape)}")
    return result
