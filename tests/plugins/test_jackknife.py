"""Leave-one-out sets in closed form: against refitted ridge regressions, and the coverage that theory promises."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge

from harness import make_runner
from pseudobench import Fold, RunError
from pseudobench.conformal import conformal_rank
from pseudobench.experiments.resolving import resolve
from pseudobench.registry.components import installed
from pseudobench.testing import contract, fake_context
from pseudobench.testing.fakes import FakePool
from pseudobench_jackknife import Jackknife
from pseudobench_jackknife.ridge import fit_heads

CLASSES = 4


class Featured(FakePool):
    """A pool whose features are given."""

    def __init__(self, features):
        super().__init__(len(features), CLASSES)
        self._features = features

    def features(self):
        return self._features


def world(seed, count, spread=1.2):
    """Points around one centre for each class."""
    rng = np.random.default_rng(seed)
    labels = torch.from_numpy(rng.integers(0, CLASSES, count))
    centres = torch.from_numpy(np.random.default_rng(99).normal(size=(CLASSES, 6)))
    return (centres[labels] + spread * torch.from_numpy(rng.normal(size=(count, 6)))).double(), labels


def sets(n, seed, alpha=0.1, count=60):
    features, labels = world(seed, n + count)
    rest = Featured(features[n:])
    made = Jackknife(alpha=alpha).calibrate([Fold(Featured(features[:n]), labels[:n], rest)], fake_context(CLASSES))
    return made.predict([rest], fake_context(CLASSES)).mask, features, labels


@pytest.mark.parametrize("check", contract(Jackknife), ids=str)
def test_contract(check):
    check()


def test_sets_are_those_of_heads_fitted_again_without_each_point():
    n, alpha = 30, 0.2
    mask, features, labels = sets(n, seed=3, alpha=alpha)
    with_one = np.hstack([features.numpy(), np.ones((len(features), 1))])  # the intercept is penalized like the rest
    targets = np.eye(CLASSES)[labels.numpy()]
    better = np.zeros((len(features) - n, CLASSES), int)
    for i in range(n):
        rest = [j for j in range(n) if j != i]
        head = Ridge(alpha=3.0 * 6, fit_intercept=False, solver="svd").fit(with_one[rest], targets[rest])
        own = head.predict(with_one[i : i + 1])[0, labels[i]]
        better += head.predict(with_one[n:]) < own
    assert (mask.numpy() == (better < conformal_rank(n, alpha))).all()


def test_errors_are_those_of_heads_fitted_again():
    features, labels = world(5, 25)
    heads = fit_heads(features, labels, CLASSES, 2.0)
    with_one = np.hstack([features.numpy(), np.ones((25, 1))])
    for i in range(25):
        rest = [j for j in range(25) if j != i]
        head = Ridge(alpha=2.0, fit_intercept=False, solver="svd").fit(with_one[rest], heads.targets[rest].numpy())
        expected = heads.targets[i].numpy() - head.predict(with_one[i : i + 1])[0]
        np.testing.assert_allclose(heads.errors[i].numpy(), expected, atol=1e-9)


@pytest.mark.parametrize("n", [1, 5, 40, 400])
@pytest.mark.parametrize("alpha", [0.02, 0.1, 0.5])
def test_sets_that_the_reach_decides_are_those_of_all_heads(n, alpha):
    mask, features, labels = sets(n, seed=n, alpha=alpha, count=300)
    heads = fit_heads(features[:n], labels[:n], CLASSES, 3.0 * 6)
    weights = heads.weights(features[n:])
    for c in range(CLASSES):
        outputs = heads.outputs(weights)[:, c, None] - weights * heads.errors[:, c]
        assert (outputs - heads.outputs(weights)[:, c, None]).abs().amax() <= heads.reach(weights)[:, c].amax() + 1e-12
        better = (outputs < heads.own).sum(1)
        assert (mask[:, c] == (better < conformal_rank(n, alpha))).all()


@pytest.mark.parametrize(("alpha", "n"), [(0.1, 40), (0.2, 25)])
def test_coverage_is_near_nominal_and_never_below_its_bound(alpha, n):
    draws = 300
    covered = []
    for seed in range(draws):
        mask, _, labels = sets(n, seed, alpha, count=40)
        covered.append(float(mask.gather(1, labels[n:, None]).double().mean()))
    error = np.std(covered, ddof=1) / math.sqrt(draws)
    assert np.mean(covered) >= 1 - 2 * alpha  # Barber et al.: for any data and any head
    assert abs(np.mean(covered) - (1 - alpha)) <= 3 * error + 1 / n  # typical: the rank is rounded up by up to 1 / n


def test_networks_that_differ_are_refused():
    features, labels = world(0, 60)
    folds = [
        Fold(Featured(features[k:40:2]), labels[k:40:2], Featured(features[40:] + shift))
        for k, shift in ((0, 0.0), (1, 0.1))
    ]
    with pytest.raises(RunError, match="--tune head"):
        Jackknife().calibrate(folds, fake_context(CLASSES))


def test_as_a_run_on_vectors(tmp_path):
    plugins, registry = installed()
    spec = resolve(
        registry,
        method="jackknife-singleton",
        dataset="wine",
        seed=0,
        labels=60,
        backbone="linear",
        settings={"loop.rounds": 2, "recipe.epochs": 4},
    )
    (record,) = make_runner(tmp_path, registry, plugins).run([spec])
    assert record["status"] == "done", record["error"]
    assert {each["selection"]["calibration_points"] for each in record["rounds"][1:]} == {60}
    assert record["rounds"][1]["selection"]["calibrated"] == {"points": 60}
