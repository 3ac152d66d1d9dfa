"""Set predictors against MAPIE, closed forms, and what theory promises."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from mapie.classification import SplitConformalClassifier
from scipy import stats

from given_probabilities import Given
from pseudobench import Context, Fold
from pseudobench.maths.conformal import class_ranks
from pseudobench_sets import Aps, ClassConditional, Lac, Saps, TopK

PREDICTORS = [Lac(), Aps(), Saps(), TopK(), ClassConditional(), ClassConditional(score="aps")]
NAMES = ["lac", "aps", "saps", "top-k", "class-conditional", "class-conditional-aps"]


class Known:
    """A pool whose logits are given."""

    def __init__(self, probs):
        self._logits = probs.log()

    def __len__(self):
        return len(self._logits)

    def logits(self):
        return self._logits


def context(seed=0, classes=6):
    return Context(seed=seed, round=1, rounds=3, classes=classes)


def world(seed, n, classes=6):
    """Probabilities, and labels that follow another distribution than they say: no score may need a calibrated one."""
    rng = np.random.default_rng(seed)
    probs = torch.from_numpy(rng.normal(size=(n, classes)) * 2).softmax(1)
    flat = probs.sqrt() / probs.sqrt().sum(1, keepdim=True)
    labels = torch.from_numpy((flat.cumsum(1).numpy() < rng.random((n, 1))).sum(1)).clamp(max=classes - 1)
    return probs, labels


def sets(predictor, probs, labels, n, seed=0):
    """Calibrated on the first ``n`` points, predicted for the rest."""
    pool, rest = Known(probs[:n]), Known(probs[n:])
    calibrated = predictor.calibrate([Fold(pool, labels[:n], rest)], context(seed))
    return calibrated.predict([rest], context(seed))


@pytest.mark.parametrize("predictor", PREDICTORS, ids=NAMES)
@pytest.mark.parametrize("alpha", [0.1, 0.3])
def test_coverage_is_at_least_nominal(predictor, alpha):
    predictor = type(predictor)(**{**vars(predictor), "alpha": alpha})
    splits, n = 300, 40
    covered = 0
    for seed in range(splits):
        probs, labels = world(seed, n + 20)
        found = sets(predictor, probs, labels, n, seed)
        covered += int(found.mask.gather(1, labels[n:, None]).sum())
    # Points of a split share a threshold, so the spread is that of splits: beta distributed coverage.
    rank = math.ceil((n + 1) * (1 - alpha))
    spread = stats.beta.std(rank, n + 1 - rank) if rank <= n else 0.0
    error = 4 * math.sqrt((spread**2 + alpha * (1 - alpha) / 20) / splits)
    assert covered / (20 * splits) >= 1 - alpha - error


def test_class_conditional_sets_cover_every_class():
    probs, labels = world(0, 40_000)
    probs = probs * torch.tensor([1.0, 1, 1, 1, 1, 0.2])  # one class that the network hardly believes in
    probs = probs / probs.sum(1, keepdim=True)
    for predictor, every in ((ClassConditional(), True), (Lac(), False)):
        mask = sets(predictor, probs, labels, 20_000).mask
        covered = mask.gather(1, labels[20_000:, None])[:, 0]
        by_class = [float(covered[labels[20_000:] == each].double().mean()) for each in range(6)]
        assert (min(by_class) > 0.88) is every


@pytest.mark.parametrize("predictor", PREDICTORS, ids=NAMES)
def test_sets_grow_with_confidence_and_repeat_by_seed(predictor):
    probs, labels = world(1, 260)
    small, large = (sets(type(predictor)(**{**vars(predictor), "alpha": a}), probs, labels, 200) for a in (0.4, 0.1))
    assert not (small.mask & ~large.mask).any()
    assert torch.equal(large.mask, sets(type(predictor)(**{**vars(predictor), "alpha": 0.1}), probs, labels, 200).mask)


@pytest.mark.parametrize("predictor", PREDICTORS, ids=NAMES)
def test_too_few_points_give_full_sets(predictor):
    probs, labels = world(2, 25)
    assert sets(predictor, probs, labels, 5).mask.all()


def test_lac_and_top_k_are_mapies():
    probs, labels = world(3, 900)
    x, y = probs.numpy(), labels.numpy()
    for predictor, theirs in ((Lac(), "lac"), (TopK(), "top_k")):
        mapie = SplitConformalClassifier(
            Given().fit(x, y), confidence_level=0.9, conformity_score=theirs, prefit=True, random_state=0
        ).conformalize(x[:600], y[:600])
        expected = torch.from_numpy(mapie.predict_set(x[600:])[1][:, :, 0])
        assert torch.equal(sets(predictor, probs, labels, 600).mask, expected), theirs


def test_aps_is_raps_without_a_penalty():
    from pseudobench import conformal

    probs, labels = world(4, 300)
    u = torch.rand(300, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    scores = Aps().scores(probs, u)
    own = conformal.label_scores(probs, labels, u, 0, 0)
    assert torch.equal(scores.gather(1, labels[:, None])[:, 0], own)


def test_saps_written_out():
    probs = torch.tensor([[0.2, 0.5, 0.3]], dtype=torch.float64)
    scores = Saps(lam=0.1).scores(probs, torch.tensor([0.4], dtype=torch.float64))
    # The largest: u of it. The second: all of it, and u ranks. The third: one rank more.
    torch.testing.assert_close(scores, torch.tensor([[0.5 + 1.4 * 0.1, 0.4 * 0.5, 0.5 + 0.4 * 0.1]]).double())


def test_ranks_break_ties_by_class():
    assert class_ranks(torch.tensor([[0.25, 0.5, 0.25], [1 / 3] * 3])).tolist() == [[1, 0, 2], [0, 1, 2]]


def test_several_folds_are_cross_conformal(registry):
    probs, labels = world(5, 300)
    folds = [Fold(Known(probs[k:200:4]), labels[k:200:4], Known(probs[200:])) for k in range(4)]
    for predictor in PREDICTORS:
        calibrated = predictor.calibrate(folds, context())
        found = calibrated.predict([fold.rest for fold in folds], context())
        assert math.isnan(found.tau)
        assert found.mask.gather(1, labels[200:, None]).double().mean() > 0.8
