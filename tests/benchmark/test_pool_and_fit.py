"""Running and training networks."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from pseudobench import Dataset, RunError
from pseudobench.contracts.settings import Recipe
from pseudobench.learning import pool
from pseudobench.learning.augmentation import augmentation
from pseudobench.learning.networks import NetworkSpec, make_network
from pseudobench.learning.pool import NetworkPool, Normalizer, dropout_on
from pseudobench.learning.training_loop import fit
from pseudobench.learning.training_set import TrainingSet

CPU = torch.device("cpu")
LABELS = torch.zeros(200, dtype=torch.int64)
NOTHING = augmentation("none", flip=False)
NORMALIZE = Normalizer(((0.5,), (0.25,)), CPU)


def new_network(registry, seed=0, dropout=0.3):
    return make_network(registry, NetworkSpec("digits_cnn", 4, (1, 8, 8), dropout), seed=seed, device=CPU)


@pytest.fixture
def network(registry):
    return new_network(registry)


def images(n=30, seed=0, channels=1, size=8):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (n, channels, size, size), generator=generator, dtype=torch.uint8)


def training_set(n=40, classes=4, negatives=0):
    labels = torch.arange(n) % classes
    positive = nn.functional.one_hot(labels, classes).bool()
    negative = torch.zeros_like(positive)
    if negatives:
        positive[-negatives:], negative[-negatives:, 0] = False, True
    pictures = (labels * 60).to(torch.uint8)[:, None, None, None].expand(n, 1, 8, 8).contiguous()
    return TrainingSet(pictures, torch.arange(len(pictures)), positive, negative)


def test_normalizer_gives_mean_0_and_deviation_1():
    pixels = images(200, channels=3)
    moments = (
        tuple((pixels.double() / 255).mean((0, 2, 3)).tolist()),
        tuple((pixels.double() / 255).transpose(0, 1).flatten(1).std(1).tolist()),
    )
    torch.testing.assert_close(
        Dataset("made-up", 2, pixels, LABELS, pixels, LABELS).train.moments, moments, rtol=1e-12, atol=0
    )
    out = Normalizer(moments, CPU)(pixels)
    torch.testing.assert_close(out.mean((0, 2, 3)), torch.zeros(3), atol=1e-5, rtol=0)
    torch.testing.assert_close(out.transpose(0, 1).flatten(1).std(1), torch.ones(3), atol=1e-5, rtol=0)


def test_logits_do_not_depend_on_batches(network, monkeypatch):
    whole = NetworkPool(network, images(), NORMALIZE).logits()
    monkeypatch.setattr(pool, "BATCH", 7)
    parts = NetworkPool(network, images(), NORMALIZE).logits()
    torch.testing.assert_close(whole, parts)


def test_an_empty_pool_has_results_without_rows(network):
    nobody = NetworkPool(network, images(0), NORMALIZE)
    assert nobody.logits().shape == (0, 4)
    assert [batch.shape for batch in nobody.samples(3, seed=0)] == [(3, 0, 4)]


def test_samples_differ_by_pass_and_repeat_by_seed(network):
    asked = NetworkPool(network, images(), NORMALIZE)
    first, again, other = (torch.cat(list(asked.samples(5, seed)), 1) for seed in (1, 1, 2))
    assert first.shape == (5, 30, 4)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert (first.std(0) > 0).all()


def test_samples_taken_side_by_side_are_those_taken_one_after_another(network, monkeypatch):
    monkeypatch.setattr(pool, "BATCH", 7)
    asked = NetworkPool(network, images(), NORMALIZE)
    expected = [torch.cat(list(asked.samples(5, seed)), 1) for seed in (1, 2)]
    pairs = list(zip(asked.samples(5, 1), asked.samples(5, 2), strict=True))
    found = [torch.cat(parts, 1) for parts in zip(*pairs, strict=True)]
    assert all(map(torch.equal, found, expected))


def test_shared_features_give_the_distribution_of_full_passes(network):
    """The mean over many passes is what full stochastic passes average to."""
    shared = torch.cat(list(NetworkPool(network, images(10), NORMALIZE).samples(4000, 0)), 1)
    with dropout_on(network), torch.no_grad():
        full = torch.stack([network(NORMALIZE(images(10))) for _ in range(4000)])
    error = (shared.var(0) / 4000 + full.var(0) / 4000).sqrt()
    assert ((shared.mean(0) - full.mean(0)).abs() < 5 * error).all()
    torch.testing.assert_close(shared.std(0), full.std(0), rtol=0.12, atol=1e-3)


def test_one_mask_for_a_batch_gives_each_sample_the_distribution_of_a_mask_of_its_own(network):
    """Against torch's own dropout: mean and deviation over passes of every sample and class."""
    drawn = torch.cat(list(NetworkPool(network, images(10), NORMALIZE).samples(4000, 0)), 1)
    torch.manual_seed(1)
    network.train()
    for module in network.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.eval()
    with torch.no_grad():
        own = torch.stack([network(NORMALIZE(images(10))) for _ in range(4000)])
    error = (drawn.var(0) / 4000 + own.var(0) / 4000).sqrt()
    assert ((drawn.mean(0) - own.mean(0)).abs() < 5 * error).all()
    torch.testing.assert_close(drawn.std(0), own.std(0), rtol=0.12, atol=1e-3)


def test_scaling_reaches_logits_and_samples(network):
    asked = NetworkPool(network, images(), NORMALIZE)
    scaled = asked.scaled(lambda logits: logits / 2)
    torch.testing.assert_close(scaled.logits(), asked.logits() / 2)
    torch.testing.assert_close(next(iter(scaled.samples(3, 0))), next(iter(asked.samples(3, 0))) / 2)


def test_views_are_of_shifted_images_and_repeat_by_seed(network):
    weak = augmentation("weak", flip=True)
    asked = NetworkPool(network, images(), NORMALIZE, augment=weak)
    first, again, other = (torch.cat(list(asked.views(4, seed)), 1) for seed in (1, 1, 2))
    assert first.shape == (4, 30, 4)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    draws = torch.Generator().manual_seed(1)
    by_hand = NetworkPool(network, weak.pixels(images(), draws), NORMALIZE).logits()
    torch.testing.assert_close(first[0], by_hand)
    unchanged = NetworkPool(network, images(), NORMALIZE, augment=NOTHING)
    for view in torch.cat(list(unchanged.views(3, 0)), 1):
        torch.testing.assert_close(view, asked.logits())
    scaled = torch.cat(list(asked.scaled(lambda logits: logits / 2).views(4, 1)), 1)
    torch.testing.assert_close(scaled, first / 2)
    with pytest.raises(RunError, match="no images to augment"):
        next(NetworkPool(network, images(), NORMALIZE).views(2, 0))


def test_members_are_the_same_images_through_other_networks(network, registry):
    second = new_network(registry, seed=9)
    asked = NetworkPool(network, images(), NORMALIZE).beside([second])
    mine, others = asked.members()
    assert torch.equal(mine.logits(), NetworkPool(network, images(), NORMALIZE).logits())
    assert torch.equal(others.logits(), NetworkPool(second, images(), NORMALIZE).logits())
    halved = asked.scaled(lambda logits: logits / 2).members()
    torch.testing.assert_close(halved[1].logits(), others.logits() / 2)


def test_batch_norm_stays_as_trained(network):
    before = {name: value.clone() for name, value in network.state_dict().items()}
    list(NetworkPool(network, images(), NORMALIZE).samples(3, 0))
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


def test_no_dropout_is_an_error_not_zero_uncertainty(registry):
    network = new_network(registry, dropout=0.0)
    with pytest.raises(RunError, match="no active dropout"):
        list(NetworkPool(network, images(), NORMALIZE).samples(3, 0))


def test_a_network_that_training_has_silenced_is_not_taken_for_one_without_dropout(network):
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            parameter.fill_(0 if "weight" in name else -1)
    with pytest.raises(RunError, match=r"same output for all samples.*smaller recipe\.lr"):
        list(NetworkPool(network, images(), NORMALIZE).samples(3, 0))


def test_initial_weights_follow_the_seed_and_leave_the_global_stream_alone(registry):
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    one, same, other = (new_network(registry, seed) for seed in (0, 0, 1))
    assert torch.equal(torch.rand(1), expected)
    assert torch.equal(one.fc.weight, same.fc.weight)
    assert not torch.equal(one.fc.weight, other.fc.weight)


def test_training_learns_and_repeats_bit_for_bit(registry):
    data, recipe = training_set(), Recipe(epochs=3, steps=20, batch_size=16)
    logits = []
    for seed in (0, 0, 1):
        network = new_network(registry)
        fit(network, data, recipe, NORMALIZE, augment=NOTHING, seed=seed)
        logits.append(NetworkPool(network, data.images, NORMALIZE).logits())
    assert (logits[0].argmax(1) == data.positive.int().argmax(1)).all()
    assert torch.equal(logits[0], logits[1])
    assert not torch.equal(logits[0], logits[2])


def test_rows_say_which_images_are_trained_on(registry):
    data, recipe = training_set(), Recipe(epochs=2, steps=5, batch_size=8)
    rows = torch.randperm(len(data.images), generator=torch.Generator().manual_seed(0))[:25]
    known = data.positive[rows], data.negative[rows]
    weights = []
    for given in (TrainingSet(data.images, rows, *known), TrainingSet(data.images[rows], torch.arange(25), *known)):
        made = new_network(registry)
        fit(made, given, recipe, NORMALIZE, augment=augmentation("weak", flip=False), seed=2)
        weights.append(made.state_dict())
    assert all(torch.equal(value, weights[1][name]) for name, value in weights[0].items())


def test_negatives_alone_teach_what_a_sample_is_not(registry):
    data = training_set(negatives=20)
    network = new_network(registry, dropout=0.0)
    fit(network, data, Recipe(epochs=3, steps=20, batch_size=16), NORMALIZE, augment=NOTHING, seed=0)
    probs = NetworkPool(network, data.images[-4:], NORMALIZE).logits().softmax(1)
    assert (probs[[1, 2, 3], 0] < 0.05).all()


def test_a_diverging_loss_ends_the_run(network):
    with pytest.raises(RunError, match="loss became"):
        fit(network, training_set(), Recipe(epochs=2, steps=30, lr=1e30), NORMALIZE, augment=NOTHING, seed=0)


def test_a_mirrored_pool_predicts_by_the_mean_of_both_images(network):
    pictures = training_set().images
    both = [NetworkPool(network, each, NORMALIZE) for each in (pictures, pictures.flip(3))]
    pool = NetworkPool(network, pictures, NORMALIZE, mirror=True)
    torch.testing.assert_close(pool.logits(), (both[0].logits() + both[1].logits()) / 2)
    torch.testing.assert_close(pool.features(), (both[0].features() + both[1].features()) / 2)
    drawn = torch.cat(list(pool.samples(4, 0)), dim=1)
    assert drawn.shape == (4, len(pictures), pool.logits().shape[1])
    assert (drawn.std(0) > 0).any()
