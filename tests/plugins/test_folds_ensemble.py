"""The networks of cross calibration as an ensemble."""

from __future__ import annotations

import pytest
import torch

from harness import make_runner
from pseudobench.experiments.resolving import resolve
from pseudobench.registry.components import installed
from pseudobench.testing import contract, fake_context
from pseudobench.testing.fakes import FakePool, fake_folds
from pseudobench_uncertainty import Folds


@pytest.mark.parametrize("check", contract(Folds), ids=str)
def test_contract(check):
    check()


def test_mean_and_deviation_are_over_the_main_network_and_those_of_the_folds():
    pools = [FakePool(seed=seed) for seed in range(3)]
    folds = [fake_folds(rest=rest)[0] for rest in pools[1:]]
    found = Folds().estimate(pools[0], None, fake_context(calibration=folds))
    probs = torch.stack([pool.logits().softmax(1) for pool in pools])
    torch.testing.assert_close(found.probs, probs.mean(0))
    torch.testing.assert_close(found.uncertainty, probs.std(0))


def test_as_a_run(tmp_path):
    plugins, registry = installed()
    settings = {"loop.rounds": 1, "recipe.epochs": 2, "calibration.folds": 2}
    spec = resolve(registry, method="pl-folds", dataset="digits", seed=0, labels=40, settings=settings)
    (record,) = make_runner(tmp_path, registry, plugins).run([spec])
    assert record["status"] == "done", record["error"]
    assert record["rounds"][0]["work"]["trained"] == 3
