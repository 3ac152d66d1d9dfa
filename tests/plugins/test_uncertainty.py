"""Estimators against scipy and closed forms."""

from __future__ import annotations

import math

import pytest
import torch
from scipy import stats

from pseudobench import Context
from pseudobench_uncertainty import Bald, Entropy, Margin
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
