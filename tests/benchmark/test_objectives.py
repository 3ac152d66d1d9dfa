"""Training a network by an objective: weights, soft labels, views of the pool, a state that is resumed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
import torch
from averaging_objective import Average

from pseudobench import PluginError
from pseudobench.contracts.settings import Recipe
from pseudobench.learning.augmentation import augmentation, view
from pseudobench.learning.lessons import Lesson
from pseudobench.learning.networks import NetworkSpec, make_network
from pseudobench.learning.pool import NetworkPool, Normalizer
from pseudobench.learning.training_loop import fit
from pseudobench.learning.training_set import TrainingSet
from pseudobench.storage.cache import Cache
from pseudobench.testing import fake_context

CPU = torch.device("cpu")
NORMALIZE = Normalizer(((0.5,), (0.25,)), CPU)


def training_set(count=30, classes=4, pool=40, **more):
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (count + pool, 1, 8, 8), generator=generator, dtype=torch.uint8)
    positive = torch.nn.functional.one_hot(torch.arange(count) % classes, classes).bool()
    rows = torch.arange(count + pool)
    return TrainingSet(images, rows[:count], positive, torch.zeros_like(positive), pool=rows[count:], **more)


RECIPE = Recipe(epochs=4, steps=5, batch_size=8)


def train(registry, data, lesson=None, recipe=RECIPE, **more):
    network = make_network(registry, NetworkSpec("digits_cnn", 4, (1, 8, 8), 0.4), seed=3, device=CPU)
    given_ = {} if lesson is None else {"lesson": lesson}
    fit(network, data, recipe, NORMALIZE, augment=augmentation("weak", flip=False), seed=9, **given_, **more)
    return network.state_dict()


def same(some, others):
    return all(torch.equal(some[name], others[name]) for name in some)


def test_weights_and_soft_labels_reach_the_training(registry):
    data = training_set()
    plain = train(registry, data)
    assert same(plain, train(registry, replace(data, weight=torch.ones(30))))
    assert not same(plain, train(registry, replace(data, weight=torch.linspace(0, 1, 30))))
    flat = torch.full((30, 4), 0.25)
    network = make_network(registry, NetworkSpec("digits_cnn", 4, (1, 8, 8), 0.0), seed=3, device=CPU)
    recipe = Recipe(epochs=10, steps=20, batch_size=16)
    fit(network, replace(data, target=flat), recipe, NORMALIZE, augment=augmentation("none", False), seed=0)
    probs = NetworkPool(network, data.images[:30], NORMALIZE).logits().softmax(1)
    assert (probs - 0.25).abs().max() < 0.1  # nothing but uniform distributions was to be learned


LESSON = Lesson(Average(), fake_context(4))


class StoppedError(Exception):
    """Someone pulled the plug."""


@pytest.mark.parametrize("stop", [0, 2])
def test_an_interrupted_objective_goes_on_bit_for_bit(registry, tmp_path, stop):
    data = training_set()

    def pull_the_plug(epoch):
        if epoch == stop:
            raise StoppedError

    whole = train(registry, data, LESSON)
    assert not same(whole, train(registry, data))
    cache = Cache(tmp_path, every=0.0)
    with pytest.raises(StoppedError):
        train(registry, data, LESSON, checkpoint=cache.checkpoint("key"), on_epoch=pull_the_plug)
    kept = cache.load("checkpoints", "key", lambda kept: kept).tensors
    assert kept["objective/seen"].sum() == (stop + 1) * 5 * 12  # epochs, steps, pool samples in a step
    epochs = []
    resumed = train(registry, data, LESSON, checkpoint=cache.checkpoint("key"), on_epoch=epochs.append)
    assert epochs == list(range(stop + 1, 4))
    assert same(whole, resumed)


def test_a_step_has_views_of_the_pool_in_the_ratio_asked_for(registry):
    steps = []

    @dataclass(frozen=True)
    class Notes(Average):
        def loss(self, step, forward, state):
            steps.append(step)
            return super().loss(step, forward, state)

    data = training_set()
    train(registry, data, Lesson(Notes(ratio=2.5), fake_context(4)), Recipe(epochs=1, steps=4, batch_size=8))
    assert [each.progress for each in steps] == [0, 0.25, 0.5, 0.75]
    seen = torch.cat([each.pool for each in steps])
    assert len(seen) == 4 * 20
    assert torch.bincount(seen, minlength=40).tolist() == [2] * 40  # pass after pass, each sample once
    draws, weak = torch.Generator().manual_seed(0), view("weak", False, vectors=False)
    shown = [(steps[0].views[0][place] * 0.25 + 0.5).mul(255).round().to(torch.uint8) for place in range(20)]
    for row, image in zip(steps[0].pool.tolist(), shown, strict=True):  # one of the nine shifts by a pixel
        shifted = weak.pixels(data.images[30 + row].expand(200, -1, -1, -1), draws)
        assert (shifted == image).flatten(1).all(1).any()


def test_vectors_have_noise_for_a_strong_view():
    x = torch.zeros(2000, 5)
    draws = torch.Generator().manual_seed(0)
    assert torch.equal(view("weak", True, vectors=True).inputs(x, draws), x)
    noisy = view("strong", True, vectors=True).inputs(x, draws)
    assert noisy.std(0).tolist() == pytest.approx([0.5] * 5, rel=0.1)
    with pytest.raises(PluginError, match="there is no view 'upside-down'"):
        view("upside-down", True, vectors=True)


def test_the_strong_view_is_drawn_for_grey_and_colour_and_differs_from_the_weak():
    for channels in (1, 3):
        draws = torch.Generator().manual_seed(2)
        images = torch.randint(0, 256, (64, channels, 16, 16), dtype=torch.uint8, generator=draws)
        strong = view("strong", True, vectors=False)
        for _ in range(20):
            changed = strong.pixels(images, draws)
            assert changed.dtype == torch.uint8
            assert changed.shape == images.shape
        holes = strong.inputs(torch.ones(64, channels, 16, 16), draws)
        assert 0 < (holes == 0).float().mean() <= 0.25
