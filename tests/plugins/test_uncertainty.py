"""Estimators against scipy and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import special, stats

from harness import make_runner
from pseudobench import BenchError, Context
from pseudobench.experiments.resolving import resolve
from pseudobench.registry.plugins import load_plugins
from pseudobench.testing import FakePool, contract
from pseudobench_uncertainty import Augmented, Bald, Ensemble, Entropy, Margin
from pseudobench_uncertainty.measures import mutual_information

LOGITS = torch.randn(20, 5, generator=torch.Generator().manual_seed(0)).double()


class Known:
    def __len__(self):
        return len(LOGITS)

    def logits(self):
        return LOGITS

    def samples(self, passes, seed):
        noise = torch.randn(passes, *LOGITS.shape, generator=torch.Generator().manual_seed(seed)).double()
        yield from torch.split(LOGITS + noise, 8, dim=1)


CONTEXT = Context(seed=0, round=1, rounds=3, classes=5)


@pytest.mark.parametrize("estimator", [Entropy(), Margin(), Bald()])
def test_every_class_of_a_sample_is_as_uncertain(estimator):
    found = estimator.estimate(Known(), None, CONTEXT)
    assert found.probs.shape == found.uncertainty.shape == LOGITS.shape
    assert (found.uncertainty == found.uncertainty[:, :1]).all()
    assert ((found.uncertainty >= 0) & (found.uncertainty <= 1)).all()


def test_entropy_is_scipys():
    found = Entropy().estimate(Known(), None, CONTEXT)
    expected = stats.entropy(LOGITS.softmax(1).numpy(), base=5, axis=1)
    torch.testing.assert_close(found.uncertainty[:, 0], torch.from_numpy(expected))


def test_margin_written_out():
    found = Margin().estimate(Known(), None, CONTEXT)
    first, second = LOGITS.softmax(1).sort(1, descending=True).values[:, :2].unbind(1)
    torch.testing.assert_close(found.uncertainty[:, 0], 1 - (first - second))


def test_bald_is_zero_without_disagreement_and_one_bit_for_two_certain_halves():
    same = torch.tensor([0.3, 0.1, -1.0]).expand(10, 1, 3)
    assert mutual_information(same)[1].item() == pytest.approx(0, abs=1e-7)
    certain = torch.tensor([[[50.0, 0.0]]] * 5 + [[[0.0, 50.0]]] * 5)
    mean, score = mutual_information(certain)
    assert score.item() == pytest.approx(1.0)  # log 2 over log 2
    assert mean.tolist() == [[pytest.approx(0.5), pytest.approx(0.5)]]


def test_bald_is_the_mutual_information_of_sample_and_pass():
    logits = torch.randn(6, 4, 3, generator=torch.Generator().manual_seed(1)).double()
    joint = logits.softmax(-1) / 6  # of pass and class, for each sample
    _, score = mutual_information(logits)
    for sample in range(4):
        table = joint[:, sample].numpy()
        independent = table.sum(0, keepdims=True) * table.sum(1, keepdims=True)
        assert score[sample].item() == pytest.approx(stats.entropy(table.ravel(), independent.ravel()) / math.log(3))


@pytest.mark.parametrize(("estimator", "pass_of"), [(Ensemble, "members"), (Augmented, "views")])
def test_mean_and_deviation_over_networks_or_views_are_numpys(estimator, pass_of):
    pool = FakePool(40, 4)
    found = estimator().estimate(pool, None, CONTEXT)
    if pass_of == "members":
        logits = np.stack([member.logits().double().numpy() for member in pool.members()])
    else:
        logits = np.concatenate([batch.double().numpy() for batch in pool.views(10, CONTEXT.seed_for("test-time"))], 1)
    for estimate, temperature in ((found, 1), (found.for_negatives, 2)):
        probs = special.softmax(logits / temperature, -1)
        np.testing.assert_allclose(estimate.probs, probs.mean(0), atol=1e-6)
        np.testing.assert_allclose(estimate.uncertainty, probs.std(0, ddof=1), atol=1e-6)


@pytest.mark.parametrize("component", [Bald, Ensemble, Entropy, Margin, Augmented])
def test_they_keep_the_contract(component):
    for check in contract(component):
        check()


QUICK = {"recipe.epochs": 1, "recipe.steps": 15, "recipe.threads": 1, "loop.rounds": 2, "loop.settle": 0}


def rounds_of(tmp_path, registry, method, **settings):
    spec = resolve(registry, method=method, dataset="digits", seed=0, labels=100, settings={**QUICK, **settings})
    (record,) = make_runner(tmp_path, registry, load_plugins()).run([spec])
    assert record["status"] == "done", record["error"]
    return record["rounds"]


def test_an_ensemble_is_trained_in_every_round_but_the_last(tmp_path, registry):
    rounds = rounds_of(tmp_path, registry, "ensemble+hard+ups", **{"ensemble.networks": 3})
    assert [each["work"]["trained"] for each in rounds] == [3, 3, 1]
    alone = rounds_of(tmp_path, registry, "supervised")
    assert rounds[0]["test"] == alone[0]["test"]  # what is evaluated is the first of them, as for every method


@pytest.mark.parametrize(("networks", "trained"), [(2, 3), (3, 3), (5, 5)])
def test_networks_of_folds_are_members_of_an_ensemble(tmp_path, registry, networks, trained):
    """The main network and two of folds; more are trained only if the ensemble is larger than that."""
    cross = {"calibration.policy": "cross", "calibration.folds": 2}
    rounds = rounds_of(tmp_path, registry, "ensemble+raps+set-argmax+ups", **cross, **{"ensemble.networks": networks})
    assert [each["work"]["trained"] for each in rounds] == [trained, trained, 1]
    dropout = rounds_of(tmp_path, registry, "mc-dropout+raps+set-argmax+ups", **cross)
    assert rounds[0]["test"] == dropout[0]["test"]


def test_views_are_taken_of_images_alone(tmp_path, registry):
    assert len(rounds_of(tmp_path, registry, "test-time+hard+ups")) == 3
    head = {"network.tune": "head", "network.weights": "timm", "recipe.augment": "none"}
    with pytest.raises(BenchError, match="'test-time' augments images, and --tune head has features"):
        resolve(registry, method="test-time+hard+ups", dataset="digits", seed=0, labels=100, settings=head)
