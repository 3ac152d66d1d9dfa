"""FixMatch, FlexMatch, FreeMatch, SoftMatch: their formulas on batches made by hand, and learning from the pool."""

from __future__ import annotations

import math

import pytest
import torch

from harness import make_runner
from pseudobench import Step
from pseudobench.experiments.resolving import resolve
from pseudobench.registry.components import installed
from pseudobench.testing import fake_context
from pseudobench_consistency import FixMatch, FlexMatch, FreeMatch, SoftMatch
from pseudobench_consistency.rules import flexible_thresholds

CLASSES = 3


def step(weak, strong, labeled=((5.0, 0.0, 0.0),)):
    """A step whose inputs are the logits that the network is to give for them."""
    inputs = torch.tensor(labeled)
    positive = torch.nn.functional.one_hot(torch.zeros(len(inputs), dtype=torch.int64), CLASSES).bool()
    views = (torch.tensor(weak), torch.tensor(strong))
    pool = torch.arange(len(weak))
    return Step(inputs, positive, torch.zeros_like(positive), torch.Generator(), views=views, pool=pool)


def softmax(row):
    total = sum(math.exp(value) for value in row)
    return [math.exp(value) / total for value in row]


def loss(objective, made, state=None):
    return float(objective.loss(made, lambda x: x, {} if state is None else state))


LABELED = -math.log(softmax((5.0, 0.0, 0.0))[0])
WEAK = ((6.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 8.0))
STRONG = ((1.0, 0.0, 0.0), (0.0, 2.0, 0.0), (0.0, 0.5, 1.0))
OWN = [-math.log(softmax(row)[top]) for row, top in zip(STRONG, (0, 1, 2), strict=True)]


def test_fixmatch_counts_confident_samples_and_divides_by_all():
    assert loss(FixMatch(), step(WEAK, STRONG)) == pytest.approx(LABELED + (OWN[0] + OWN[2]) / 3)
    assert loss(FixMatch(weight=0.5), step(WEAK, STRONG)) == pytest.approx(LABELED + (OWN[0] + OWN[2]) / 6)
    assert loss(FixMatch(tau=0.0), step(WEAK, STRONG)) == pytest.approx(LABELED + sum(OWN) / 3)


def test_the_weak_view_has_no_gradient():
    made = step(WEAK, STRONG)
    for part in made.views:
        part.requires_grad_()
    FixMatch().loss(made, lambda x: x, {}).backward()
    assert made.views[0].grad.abs().max() == 0
    assert made.views[1].grad[0].abs().max() > 0
    assert made.views[1].grad[1].abs().max() == 0


def test_flexmatch_thresholds_written_out():
    """Six samples of class 0, three of class 1, none of class 2 and one of none: x is 1, 1/2 and 0."""
    classes = torch.tensor([0] * 6 + [1] * 3 + [-1])
    torch.testing.assert_close(flexible_thresholds(classes, 3, 0.9), torch.tensor([0.9, 0.9 * 0.5 / 1.5, 0.0]))
    # Warm-up: while most samples are of no class, their number divides.
    torch.testing.assert_close(flexible_thresholds(torch.tensor([0, -1, -1]), 2, 0.9), torch.tensor([0.3, 0.0]))


def test_flexmatch_counts_what_its_state_allows_and_then_remembers_confident_classes():
    objective = FlexMatch(tau=0.8)
    state = objective.start(fake_context(CLASSES), 3)
    assert state["classes"].tolist() == [-1, -1, -1]
    # At first all thresholds are 0; of the three weak views the first and the last are confident.
    assert loss(objective, step(WEAK, STRONG), state) == pytest.approx(LABELED + sum(OWN) / 3)
    assert state["classes"].tolist() == [0, -1, 2]
    # Class 1 is still of status 0, so its sample counts although it is not confident.
    assert loss(objective, step(WEAK, STRONG), state) == pytest.approx(LABELED + sum(OWN) / 3)
    state["classes"] = torch.tensor([1, 1, 1])  # now class 1 has the threshold 0.8, and the second sample has 0.58
    assert loss(objective, step(WEAK, STRONG), state) == pytest.approx(LABELED + (OWN[0] + OWN[2]) / 3)


def test_freematch_thresholds_follow_the_closed_form():
    objective = FreeMatch(momentum=0.5, fairness=0.0)
    state = objective.start(fake_context(CLASSES), 10)
    found = loss(objective, step(WEAK, STRONG), state)
    probs = [softmax(row) for row in WEAK]
    tau = 0.5 / 3 + 0.5 * sum(map(max, probs)) / 3
    mean = [0.5 / 3 + 0.5 * sum(row[c] for row in probs) / 3 for c in range(3)]
    assert float(state["confidence"]) == pytest.approx(tau)
    assert state["probs"].tolist() == pytest.approx(mean)
    assert state["shares"].tolist() == pytest.approx([1 / 3] * 3)
    thresholds = [tau * each / max(mean) for each in mean]
    kept = [max(row) >= thresholds[top] for top, row in enumerate(probs)]
    assert kept == [True, True, True] or not all(kept)
    assert found == pytest.approx(LABELED + sum(own for own, keep in zip(OWN, kept, strict=True) if keep) / 3)


def test_freematch_fairness_is_the_negative_cross_entropy_of_normalized_means():
    plain, fair = (FreeMatch(momentum=0.5, fairness=weight) for weight in (0.0, 1.0))
    states = [each.start(fake_context(CLASSES), 10) for each in (plain, fair)]
    made = step(WEAK, STRONG)
    difference = loss(fair, made, states[1]) - loss(plain, made, states[0])
    probs = [softmax(row) for row in WEAK]
    mean = [0.5 / 3 + 0.5 * sum(row[c] for row in probs) / 3 for c in range(3)]
    strong = [softmax(row) for row in STRONG]
    batch = [sum(row[c] for row in strong) / 3 for c in range(3)]  # each class once among labels and argmaxes
    target, own = ([each / sum(part) for each in part] for part in (mean, batch))
    assert difference == pytest.approx(sum(t * math.log(o) for t, o in zip(target, own, strict=True)), rel=1e-5)


def test_softmatch_weights_follow_the_closed_form():
    objective = SoftMatch(momentum=0.5, align=False)
    state = objective.start(fake_context(CLASSES), 10)
    found = loss(objective, step(WEAK, STRONG), state)
    top = [max(softmax(row)) for row in WEAK]
    average = sum(top) / 3
    mean = 0.5 / 3 + 0.5 * average
    variance = 0.5 + 0.5 * sum((each - average) ** 2 for each in top) / 2
    assert float(state["mean"]) == pytest.approx(mean)
    assert float(state["variance"]) == pytest.approx(variance)
    weights = [math.exp(-(min(each - mean, 0) ** 2) / (2 * variance / 4)) for each in top]
    assert found == pytest.approx(LABELED + sum(w * own for w, own in zip(weights, OWN, strict=True)) / 3)


def test_uniform_alignment_lowers_the_weight_of_frequent_classes():
    often = ((2.0, 0.0, 0.0), (2.0, 0.0, 0.0), (0.0, 2.0, 0.0))
    objective = SoftMatch(momentum=0.0, sigmas=2.0)
    from pseudobench_consistency.rules import soft_weights

    probs = torch.tensor(often).softmax(1)
    weights = soft_weights(objective.start(fake_context(CLASSES), 10), probs, 0.0, 2.0, align=True)
    assert weights[0] == weights[1] < weights[2] == 1


@pytest.mark.parametrize("method", ["fixmatch", "flexmatch", "freematch", "softmatch"])
def test_each_is_a_method_whose_one_training_hears_of_the_pool(tmp_path, method):
    """Whether it helps is for experiments to say: here the pool's loss is to reach the network, and not to ruin it."""
    plugins, registry = installed()
    settings = {"recipe.epochs": 6, "recipe.steps": 25, "recipe.threads": 1}
    settings |= {f"{method}.tau": 0.8} if method in ("fixmatch", "flexmatch") else {f"{method}.momentum": 0.9}
    specs = [
        resolve(registry, method=method, dataset="digits", seed=0, labels=50, settings=settings | deaf)
        for deaf in ({}, {f"{method}.weight": 0.0} | ({"freematch.fairness": 0.0} if method == "freematch" else {}))
    ]
    hears, deaf = make_runner(tmp_path, registry, plugins).run(specs)
    for record in (hears, deaf):
        assert record["status"] == "done", record["error"]
        assert len(record["rounds"]) == 1
        assert record["rounds"][0]["test"]["accuracy"] > 0.4  # of ten classes
    assert hears["rounds"][0]["test"]["nll"] != deaf["rounds"][0]["test"]["nll"]
