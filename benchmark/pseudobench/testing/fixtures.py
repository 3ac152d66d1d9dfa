"""The fakes as pytest fixtures: ``pytest_plugins = ["pseudobench.testing.fixtures"]`` in a plugin's conftest.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pseudobench.testing import fakes

if TYPE_CHECKING:
    from pseudobench.contracts.datasets import Dataset
    from pseudobench.contracts.pools import Fold
    from pseudobench.contracts.values import Context, Estimate, PredictionSets, PseudoLabels


@pytest.fixture
def fake_pool() -> fakes.FakePool:
    """A pool of 60 samples and 5 classes."""
    return fakes.FakePool()


@pytest.fixture
def fake_context() -> Context:
    """The first of three rounds."""
    return fakes.fake_context()


@pytest.fixture
def fake_estimate(fake_pool: fakes.FakePool) -> Estimate:
    """Probabilities of the pool, and an uncertainty below 0.2."""
    return fakes.fake_estimate(fake_pool)


@pytest.fixture
def fake_labels(fake_estimate: Estimate) -> PseudoLabels:
    """The most probable class of every sample."""
    return fakes.fake_labels(fake_estimate)


@pytest.fixture
def fake_sets(fake_estimate: Estimate) -> PredictionSets:
    """Sets of the classes with probability 0.2 or more."""
    return fakes.fake_sets(fake_estimate)


@pytest.fixture
def fake_folds(fake_pool: fakes.FakePool) -> list[Fold[fakes.FakePool]]:
    """One fold of calibration points, with the pool."""
    return fakes.fake_folds(rest=fake_pool)


@pytest.fixture
def fake_dataset() -> Dataset:
    """Grey images of one shade for each class."""
    return fakes.fake_dataset()
