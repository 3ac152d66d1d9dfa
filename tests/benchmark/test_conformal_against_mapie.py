"""Prediction sets against those of MAPIE."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from made_up_probabilities import sample_labels, softmax
from mapie.classification import SplitConformalClassifier
from mapie.conformity_scores import APSConformityScore, RAPSConformityScore
from sklearn.model_selection import StratifiedShuffleSplit

from given_probabilities import Given
from pseudobench import conformal


def mapie_sets(score, alpha, cal, labels, pool):
    model = Given().fit(cal.numpy(), labels.numpy())
    mapie = SplitConformalClassifier(
        model, confidence_level=1 - alpha, conformity_score=score, prefit=True, random_state=SEED
    )
    mapie.conformalize(cal.numpy(), labels.numpy())
    _, sets = mapie.predict_set(pool.numpy(), conformity_score_params={"include_last_label": False})
    return torch.from_numpy(sets[:, :, 0])


def mapie_u(n):
    """MAPIE takes u times the own mass away where Eq. 2 adds it: its u is our 1 - u."""
    return 1 - torch.from_numpy(np.random.RandomState(SEED).uniform(size=n))


SEED = 3


def agree_unless_empty(ours, theirs):
    """MAPIE puts the most probable class into a set that would be empty."""
    filled = ours.any(1)
    assert filled.float().mean() > 0.7
    assert torch.equal(ours[filled], theirs[filled])
    assert (theirs[~filled].sum(1) == 1).all()


@pytest.mark.parametrize("alpha", [0.1, 0.3])
def test_sets_without_penalty_agree_with_mapie(alpha):
    rng = np.random.default_rng(5)
    cal, pool = softmax(rng, 300, 8), softmax(rng, 400, 8)
    labels = sample_labels(rng, cal)
    tau = conformal.conformal_threshold(conformal.label_scores(cal, labels, mapie_u(300), 0, 0), alpha)
    ours = conformal.set_mask(pool, torch.ones(400, dtype=torch.float64), tau, 0, 0)
    agree_unless_empty(ours, mapie_sets(APSConformityScore(), alpha, cal, labels, pool))


@pytest.mark.parametrize("alpha", [0.1, 0.3])
def test_sets_with_penalty_agree_with_mapie(alpha):
    """MAPIE chooses k_reg and lambda itself, on a part of the points; with its choice the sets agree."""
    rng = np.random.default_rng(6)
    cal, pool = softmax(rng, 500, 8, 1.5), softmax(rng, 400, 8, 1.5)
    labels = sample_labels(rng, cal)
    score = RAPSConformityScore()
    theirs = mapie_sets(score, alpha, cal, labels, pool)
    part = StratifiedShuffleSplit(n_splits=1, test_size=len(score.X_raps), random_state=SEED)
    rest, _ = next(part.split(cal.numpy(), labels.numpy()))
    lam, k_reg = float(np.squeeze(score.lambda_star)), int(np.squeeze(score.k_star))
    assert lam > 0
    scores = conformal.label_scores(cal[rest], labels[rest], mapie_u(len(rest)), lam, k_reg)
    tau = conformal.conformal_threshold(scores, alpha)
    assert tau == pytest.approx(float(np.squeeze(score.quantiles_)), abs=1e-12)
    ours = conformal.set_mask(pool, torch.ones(400, dtype=torch.float64), tau, lam, k_reg)
    agree_unless_empty(ours, theirs)
