"""The stages of a round in their order: scale, build sets, estimate, label, select."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Protocol, TypeVar

import torch

from pseudobench.contracts.kinds import STAGE_KINDS
from pseudobench.contracts.pools import Fold
from pseudobench.contracts.protocols import CalibratedSets, FittedScaling, needs_calibration
from pseudobench.contracts.values import Context, Estimate, PredictionSets, PseudoLabels, Selection
from pseudobench.errors import PluginError
from pseudobench.learning.pool import NetworkPool
from pseudobench.rounds.blame import blame, unchanged
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
    with watch.time("scale"), blame(run, "scaling"):
        scaling = _fit_scaling(run, folds)
        if scaling is not None:
            pool = pool.scaled(scaling)
            folds = [replace(f, pool=f.pool.scaled(scaling), rest=f.rest.scaled(scaling)) for f in folds]
    with watch.time("sets"), blame(run, "sets"):
        calibrated, sets, test_sets = _predict_sets(run, networks, folds, scaling, context)

    def ask(stage: str, *given: Any) -> Any:
        """The answer of a component to what it is given, the context last."""
        component = run.component(stage)
        seen = replace(context, calibration=tuple(folds)) if needs_calibration(component) else context
        with unchanged(*_tensors((pool, folds, given))):
            return getattr(component, STAGE_KINDS[stage].verb)(*given, seen)

    with watch.time("estimate"), blame(run, "estimator"):
        estimate = _expect(Estimate, ask("estimator", pool, sets), shape)
    with watch.time("label"), blame(run, "labeler"):
        labels = _expect(PseudoLabels, ask("labeler", estimate, sets), shape)
    with watch.time("select"), blame(run, "selector"):
        selection = _expect(Selection, ask("selector", estimate, labels, sets), shape)
        selection.check_target(context.task)
        score = _score(run.component("selector"), estimate, labels, sets, context)
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
    logits, labels = (torch.cat(parts) for parts in zip(*((f.pool.logits(), f.labels) for f in folds), strict=True))
    with unchanged(logits, labels):
        fitted: FittedScaling = component.fit(logits, labels)
    return fitted


def _predict_sets(
    run: Run, networks: Networks, folds: list[Fold[NetworkPool]], scaling: FittedScaling | None, context: Context
) -> tuple[CalibratedSets | None, PredictionSets | None, PredictionSets | None]:
    """The calibrated predictor, and its sets for the pool and for the test samples."""
    component = run.component("sets")
    if component is None:
        return None, None, None
    with unchanged(*_tensors(folds)):
        calibrated: CalibratedSets = component.calibrate(folds, context)
    rest = [fold.rest for fold in folds]
    tests = [run.pool(network, run.data.test.tensor) for network in networks.folds or (networks.main,)]
    tests = tests if scaling is None else [test.scaled(scaling) for test in tests]

    def predict(pools: list[NetworkPool]) -> PredictionSets:
        with unchanged(*_tensors(pools)):
            return _expect(PredictionSets, calibrated.predict(pools, context), (len(pools[0]), context.classes))

    return calibrated, predict(rest), predict(tests)


def _expect(kind: type[Result], result: Any, shape: tuple[int, int]) -> Result:
    """``result`` if it has the type and shape that the stage promises. A subclass's own fields would be ignored."""
    if type(result) is not kind:
        raise PluginError(f"returned {type(result).__name__}, not {kind.__name__}")
    if result.shape != shape:
        raise PluginError(f"returned {kind.__name__} of shape {list(result.shape)}, not {list(shape)}")
    return result


def _tensors(value: Any) -> list[torch.Tensor]:
    """The tensors within a value that is handed to a stage: those that it could change for others."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, NetworkPool):
        return value.shared()
    if isinstance(value, list | tuple):
        return [tensor for each in value for tensor in _tensors(each)]
    if is_dataclass(value):
        return [tensor for each in fields(value) for tensor in _tensors(getattr(value, each.name))]
    return []
