"""Training by an objective: views of the pool, a state that is resumed, keys, blame."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import ClassVar

import pytest
import torch

from harness import make_runner
from pseudobench import BenchError, Method, PluginError, Selection, hookimpl, param
from pseudobench.contracts.events import Listener
from pseudobench.contracts.settings import Recipe
from pseudobench.experiments.resolving import resolve
from pseudobench.learning.augmentation import augmentation, view
from pseudobench.learning.lessons import Lesson
from pseudobench.learning.networks import NetworkSpec, make_network
from pseudobench.learning.pool import NetworkPool, Normalizer
from pseudobench.learning.training_loop import fit
from pseudobench.learning.training_set import TrainingSet
from pseudobench.maths.losses import single_label_loss
from pseudobench.registry.components import build_registry
from pseudobench.registry.plugins import PluginInfo, load_plugins
from pseudobench.storage.cache import Cache
from pseudobench.storage.records import without_times
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


@dataclass(frozen=True)
class Average:
    """Pulls the strong view to a moving average of the weak views' probabilities; draws a little."""

    name: ClassVar[str] = "average"
    views: ClassVar[tuple[str, ...]] = ("weak", "strong")
    ratio: float = param(1.5, "pool samples for each labeled one", low=0, exclusive=True)

    def start(self, context, pool):
        return {"probs": torch.full((context.classes,), 1 / context.classes), "seen": torch.zeros(pool)}

    def loss(self, step, forward, state):
        weak, strong = step.views
        probs = forward(weak).detach().softmax(1)
        state["probs"] = 0.9 * state["probs"] + 0.1 * probs.mean(0)
        state["seen"] = state["seen"].index_add(0, step.pool, torch.ones(len(step.pool)))
        labeled = single_label_loss(forward(step.inputs), step.positive, step.negative, step.weight, step.target)
        noise = torch.rand((), generator=step.generator)
        average = state["probs"].expand(len(weak), -1)
        return labeled + noise * torch.nn.functional.cross_entropy(forward(strong), average)


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


@dataclass(frozen=True)
class Grows(Average):
    name: ClassVar[str] = "grows"

    def loss(self, step, forward, state):
        found = super().loss(step, forward, state)
        state["more"] = torch.zeros(1)
        return found


@dataclass(frozen=True)
class Holds(Average):
    name: ClassVar[str] = "holds"

    def loss(self, step, forward, state):
        found = forward(step.inputs).square().mean()
        state["probs"] = state["probs"] * found
        return found


@dataclass(frozen=True)
class Vector(Average):
    name: ClassVar[str] = "vector"

    def loss(self, step, forward, state):
        return forward(step.inputs).mean(1)


@dataclass(frozen=True)
class Raises(Average):
    name: ClassVar[str] = "raises"

    def loss(self, step, forward, state):
        return step.labels


@pytest.mark.parametrize(
    ("component", "message"),
    [
        (Grows, "its state was"),
        (Holds, "its state 'probs' holds a gradient; keep value.detach"),
        (Vector, "its loss is no scalar tensor with a gradient"),
        (Raises, "AttributeError: 'Step' object has no attribute 'labels'"),
    ],
)
def test_a_broken_objective_is_blamed_by_name(tmp_path, component, message):
    plugins, registry = world(component)
    method = f"softmax+hard+confidence+{component.name}"
    (record,) = make_runner(tmp_path, registry, plugins).run([spec_for(registry, method)])
    assert record["status"] == "failed"
    said = record["error"]["message"]
    assert said.startswith(f"objective {component.name!r} of plugin 'ours' (ours 1): ")
    assert message in said


# In runs

QUICK = {
    "recipe.epochs": 2,
    "recipe.steps": 5,
    "recipe.batch_size": 16,
    "recipe.threads": 1,
    "loop.rounds": 2,
    "loop.settle": 0.0,
}


@dataclass(frozen=True)
class Soft:
    """Soft labels: the estimate itself, weighted by its largest probability."""

    name: ClassVar[str] = "soft"
    needs_sets: ClassVar[bool] = False

    def select(self, estimate, labels, sets, context):
        return Selection(labels.target, torch.zeros_like(labels.target), estimate.probs.amax(1), estimate.probs)


def world(*components):
    """Everything that is installed, and these components of a plugin."""
    plugins = load_plugins()

    @hookimpl
    def bench_selectors():
        return [each for each in components if hasattr(each, "select")]

    @hookimpl
    def bench_objectives():
        return [each for each in components if hasattr(each, "loss")]

    @hookimpl
    def bench_methods():
        return [Method(f"{each.name}-alone", objective=each.name) for each in components if hasattr(each, "loss")]

    hooks = {"bench_selectors": bench_selectors, "bench_objectives": bench_objectives, "bench_methods": bench_methods}
    plugins.add(SimpleNamespace(**hooks), PluginInfo("ours", "ours", "1"))
    registry = build_registry(plugins)
    assert plugins.infos["ours"].error is None
    return plugins, registry


def spec_for(registry, method, **settings):
    return resolve(registry, method=method, dataset="digits", seed=0, settings={**QUICK, **settings})


def test_soft_selections_survive_an_interruption(tmp_path):
    plugins, registry = world(Soft)
    spec = spec_for(registry, "softmax+hard+soft")
    (whole,) = make_runner(tmp_path / "whole", registry, plugins).run([spec])
    hard = spec_for(registry, "softmax+hard+confidence", **{"confidence.tau": 0.0})
    (other,) = make_runner(tmp_path / "hard", registry, plugins).run([hard])
    assert [each["selection"] for each in whole["rounds"][1:2]] == [each["selection"] for each in other["rounds"][1:2]]
    assert whole["rounds"][1]["test"] != other["rounds"][1]["test"]  # the same samples, softer
    config = {"cache": tmp_path / "cache", "checkpoint_seconds": 0.0}

    class Plug(Listener):
        def round_finished(self, spec, round_):
            if round_["round"] == 1:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_runner(tmp_path / "cut", registry, plugins, Plug(), **config).run([spec])
    (path,) = (tmp_path / "cache" / "runs").glob("*.safetensors")
    kept = Cache(tmp_path / "cache").load("runs", path.stem, lambda kept: kept).tensors
    assert set(kept) == {"positive", "negative", "weight", "target"}
    (resumed,) = make_runner(tmp_path / "cut", registry, plugins, **config).run([spec])
    assert resumed["resumed_after"] == 1
    assert without_times(resumed) | {"resumed_after": None} == without_times(whole) | {"resumed_after": None}


def test_the_objective_is_part_of_what_identifies_a_run_and_its_networks(tmp_path):
    plugins, registry = world(Average)
    named = spec_for(registry, "softmax+hard+confidence+pseudo-labels")
    assert named.stages == spec_for(registry, "softmax+hard+confidence").stages
    specs = [
        spec_for(registry, "softmax+hard+confidence"),
        spec_for(registry, "softmax+hard+confidence+average"),
        spec_for(registry, "softmax+hard+confidence+average", **{"average.ratio": 0.5}),
        spec_for(registry, "average-alone"),
    ]
    assert len({spec.run_id for spec in specs}) == 4
    runner = make_runner(tmp_path, registry, plugins, cache=tmp_path / "cache")
    records = runner.run(specs)
    assert [each["error"] for each in records] == [None] * 4
    assert [each["rounds"][0]["work"]["trained"] for each in records] == [1, 1, 1, 1]
    assert [len(each["rounds"]) for each in records] == [3, 3, 3, 1]
    (again,) = make_runner(tmp_path, registry, plugins, cache=tmp_path / "cache", force=True).run(specs[1:2])
    assert [each["work"]["reused"] for each in again["rounds"]] == [1, 1, 1]
    assert without_times(again) == without_times(records[1])


def test_what_cannot_be_is_refused_before_anything_is_trained(registry):
    with pytest.raises(BenchError, match="objective 'fixmatch' is not made for multi-label data"):
        resolve(registry, method="fixmatch", dataset="digits-grid", seed=0)
    with pytest.raises(BenchError, match="needs a pool"):
        resolve(registry, method="fixmatch", dataset="digits", labels=1201, seed=0)
    with pytest.raises(BenchError, match="needs a selector"):
        registry.method("softmax+fixmatch")
