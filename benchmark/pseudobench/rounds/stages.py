"""The stages of a round in their order: scale, build sets, estimate, label, select."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import torch

from pseudobench.contracts.kinds import STAGE_KINDS
from pseudobench.contracts.protocols import CalibratedSets, FittedScaling, Fold
from pseudobench.contracts.values import Context, Estimate, PredictionSets, PseudoLabels, Selection
from pseudobench.errors import PluginError, RunError
from pseudobench.learning.pool import NetworkPool
from pseudobench.rounds.calibration import calibration_folds
from pseudobench.rounds.round_networks import Networks
from pseudobench.rounds.run import Run

Result = TypeVar("Result", Estimate, PredictionSets, PseudoLabels, Selection)


class Timer(Protocol):
    """Adds up the seconds of stages."""

    def time(self, stage: str) -> AbstractContextManager[None]:
        """Add the time spent inside to ``stage``."""
        ...


@dataclass(frozen=True)
class Choice:
    """Everything that a round's stages produced; ``test_sets`` and ``score [N]`` are for the record alone.

    The score is the order in which the method trusts its labels, highest first.
    """

    estimate: Estimate
    labels: PseudoLabels
    selection: Selection
    score: torch.Tensor
    scaling: FittedScaling | None
    calibrated: CalibratedSets | None
    sets: PredictionSets | None
    test_sets: PredictionSets | None
    calibration_points: int


def choose(run: Run, networks: Networks, trained_on: Selection | None, context: Context, watch: Timer) -> Choice:
    """Choose pseudo-labels for the pool with the networks of the last round, which were trained on ``trained_on``."""
    with watch.time("predict"):
        pool = run.pool(networks.main, run.data.pool).beside(networks.others)
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
        selector = run.component("selector")
        selection = _expect(Selection, selector.select(estimate, labels, sets, context), shape)
        score = _score(selector, estimate, labels, sets, context)
    points = sum(len(fold.labels) for fold in folds)
    return Choice(estimate, labels, selection, score, scaling, calibrated, sets, test_sets, points)


def _score(
    selector: Any, estimate: Estimate, labels: PseudoLabels, sets: PredictionSets | None, context: Context
) -> torch.Tensor:
    """The selector's own score of each sample ``[N]``, if it has one; else the probability of the label."""
    if not hasattr(selector, "score"):
        return (estimate.probs * labels.target).amax(1)
    score = selector.score(estimate, labels, sets, context)
    if not isinstance(score, torch.Tensor) or score.shape != (len(estimate.probs),) or bool(score.isnan().any()):
        raise PluginError(f"score must return a number for each of the {len(estimate.probs)} samples")
    return score


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
    """The calibrated predictor, and its sets for the pool and for the test samples."""
    component = run.component("sets")
    if component is None:
        return None, None, None
    calibrated: CalibratedSets = component.calibrate(folds, context)
    rest = [fold.rest for fold in folds]
    tests = [run.pool(network, run.data.test.tensor) for network in networks.folds or (networks.main,)]
    tests = tests if scaling is None else [test.scaled(scaling) for test in tests]
    of_pool, of_test = (
        _expect(PredictionSets, calibrated.predict(pools, context), (len(pools[0]), context.classes))
        for pools in (rest, tests)
    )
    return calibrated, of_pool, of_test


@contextmanager
def _blame(run: Run, stage: str) -> Iterator[None]:
    """Name the component and its plugin in any error raised inside."""
    try:
        yield
    except (RunError, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # a stage that calls sys.exit is one failed run
        name = run.spec.stages[stage]
        owner = run.registry.owner(STAGE_KINDS[stage].name, name)
        reason = str(error) if isinstance(error, PluginError) else f"{type(error).__name__}: {error}"
        raise PluginError(f"{stage} {name!r} of {owner}: {reason}") from error


def _expect(kind: type[Result], result: Any, shape: tuple[int, int]) -> Result:
    """``result`` if it has the type and shape that the stage promises."""
    if not isinstance(result, kind):
        raise PluginError(f"returned {type(result).__name__}, not {kind.__name__}")
    if result.shape != shape:
        raise PluginError(f"returned {kind.__name__} of shape {list(result.shape)}, not {list(shape)}")
    return result
