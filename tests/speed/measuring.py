"""Ratios of times, both sides measured in turn in one run, so that a slow minute of the machine hits both."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from pseudobench import Dataset
from pseudobench.learning.networks import NetworkSpec, make_network
from pseudobench.learning.pool import Normalizer
from pseudobench.registry.components import installed

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Row:
    """One measured ratio, and what it is meant to be."""

    what: str
    ratio: str
    target: str
    note: str = ""


def ratio(ours: Callable[[], object], theirs: Callable[[], object], times: int = 7) -> tuple[float, str]:
    """The median of our time over theirs, and a text with the range; the first turn is for warming up."""
    ratios = []
    for turn in range(times + 1):
        first, second = seconds(ours), seconds(theirs)
        if turn:
            ratios.append(first / second)
    middle = statistics.median(ratios)
    return middle, f"{middle:.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def inverse(text_of: tuple[float, str]) -> str:
    """How many times faster we are, from `ratio`."""
    return f"{1 / text_of[0]:.1f} times"


def seconds(work: Callable[[], object]) -> float:
    """How long it takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def cifar(name: str, data_dir: Path) -> Dataset:
    """Real images."""
    return installed()[1].dataset(name).load(data_dir)


def network(backbone: str, data: Dataset, classes: int | None = None) -> torch.nn.Module:
    """A new network for the images of ``data``."""
    spec = NetworkSpec(backbone, classes or data.classes, (3, 32, 32), 0.3)
    return make_network(installed()[1], spec, seed=0, device=CPU)


def normalizer(data: Dataset) -> Normalizer:
    """What the networks are fed through."""
    return Normalizer(data.train.moments, CPU)
