"""Algorithm 2: the loop of rounds.

Round 0 trains on the labels. Round k predicts the pool with round k-1's networks, calibrates, labels, selects, and
trains new networks on labels and selection. Stages see the pool's samples, never its labels.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pseudobench.contracts.settings import Loop
from pseudobench.contracts.values import Selection
from pseudobench.maths.selection import share_changed
from pseudobench.rounds.recorder import Recorder
from pseudobench.rounds.round_networks import Networks, train_networks
from pseudobench.rounds.run import Run
from pseudobench.rounds.stages import Choice, choose

if TYPE_CHECKING:
    from torch import Tensor


class Stopwatch:
    """Seconds per stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def time(self, stage: str) -> Iterator[None]:
        """Add the time spent inside to ``stage``."""
        start = time.perf_counter()
        yield
        self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - start


@dataclass(frozen=True)
class Outputs:
    """Logits ``[N, C]`` of a round's main network: for the test samples, and on request for the pool."""

    test: Tensor
    pool: Callable[[], Tensor]


@dataclass(frozen=True)
class Round:
    """A finished round: its record, what the next round needs, and the network's outputs (None: read from disk)."""

    record: dict[str, Any]
    selection: Selection | None
    settled: bool
    outputs: Outputs | None = None

    @property
    def number(self) -> int:
        """Its number, counted from 0."""
        return int(self.record["round"])


def run_rounds(run: Run, recorder: Recorder, last: Round | None = None) -> Iterator[Round]:
    """Algorithm 2: yields each round as it ends. ``last`` is the round after which an interrupted run goes on."""
    networks = None
    if last is None:
        last, networks = _first_round(run, recorder)
        yield last
    while last.number < run.rounds and not last.settled:
        networks = networks or train_networks(run, last.selection, last.number)  # of an interrupted run
        last, networks = _next_round(run, recorder, last, networks)
        yield last


def _first_round(run: Run, recorder: Recorder) -> tuple[Round, Networks]:
    """Train on the labels alone."""
    watch = Stopwatch()
    return _train(run, recorder, watch, Round({"round": 0, "selection": None}, None, settled=False))


def _next_round(run: Run, recorder: Recorder, last: Round, networks: Networks) -> tuple[Round, Networks]:
    """Choose pseudo-labels with the networks of the last round, then train new ones on labels and selection."""
    watch, number = Stopwatch(), last.number + 1
    choice = choose(run, networks, last.selection, run.context(number), watch)
    described = _describe(run, networks, choice, recorder)
    settled = _settled(run, last.selection, choice.selection)
    return _train(run, recorder, watch, Round({"round": number, "selection": described}, choice.selection, settled))


def _train(run: Run, recorder: Recorder, watch: Stopwatch, begun: Round) -> tuple[Round, Networks]:
    """Train the networks of a round that has its selection, and measure the main one on the test set."""
    with watch.time("fit"):
        is_last = begun.settled or begun.number == run.rounds
        networks = train_networks(run, begun.selection, begun.number, last=is_last)
    with watch.time("evaluate"):
        logits = run.pool(networks.main, run.data.test.tensor).logits()
        tested = recorder.test(logits)
    record = {**begun.record, "test": tested, "seconds": watch.seconds, "work": dict(networks.work)}
    outputs = Outputs(logits, lambda: run.pool(networks.main, run.data.pool).logits())
    return Round(record, begun.selection, begun.settled, outputs), networks


def _settled(run: Run, before: Selection | None, now: Selection) -> bool:
    """Whether the selection has converged, and the loop may end early."""
    tolerance = run.spec.group(Loop).settle
    return before is not None and tolerance is not None and share_changed(before, now) <= tolerance


def _describe(run: Run, networks: Networks, choice: Choice, recorder: Recorder) -> dict[str, Any]:
    """The record of a choice of pseudo-labels. ``networks`` made the choice, before new ones take their place."""
    described = recorder.selection(choice.estimate, choice.labels, choice.selection)
    described["precision_at"] = recorder.precision_at(choice.labels, choice.score)
    if choice.calibrated is not None and choice.sets is not None and choice.test_sets is not None:
        described |= recorder.sets(choice.sets, choice.test_sets, choice.calibration_points)
        described["calibrated"] = dict(choice.calibrated.numbers)
    elif choice.calibration_points:
        described["calibration_points"] = choice.calibration_points
    if choice.scaling is not None:
        described["scaling"] = dict(choice.scaling.numbers)
        scaled = run.pool(networks.main, run.data.test.tensor).scaled(choice.scaling)
        described["scaled_test"] = recorder.test(scaled.logits())
    return described
