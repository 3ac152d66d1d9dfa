"""Vectors in place of images: a dataset source of a plugin's, its networks, and settings that are for images."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from pseudobench.contracts.datasets import Samples
from pseudobench.contracts.settings import Network
from pseudobench.experiments.resolving import resolve
from pseudobench.learning.networks import NetworkSpec, make_network
from pseudobench.learning.pool import NetworkPool, Normalizer, draws

CPU = torch.device("cpu")

PLUGIN = '''
from dataclasses import dataclass
from typing import ClassVar

from pseudobench import Dataset, hookimpl


@dataclass(frozen=True)
class Blobs:
    """Two clouds of points."""

    name: ClassVar[str] = "blobs"
    samples: ClassVar[str] = "vectors"
    classes: ClassVar[int] = 2
    train_size: ClassVar[int] = 200
    test_size: ClassVar[int] = 100
    default_labels: ClassVar[int] = 20
    backbone: ClassVar[str] = "mlp"
    presets: ClassVar[dict] = {}

    def is_present(self, data_dir):
        return True

    def load(self, data_dir):
        import torch

        labels = torch.arange(300) % 2
        points = torch.randn(300, 3, generator=torch.Generator().manual_seed(0)) + 4.0 * labels[:, None]
        points = torch.cat([1e4 * points + 1e6, torch.full((300, 1), 0.1)], 1)
        points[-1, 3] = 5.0  # a feature that changes in one test sample alone
        return Dataset(self.name, 2, points[:200], labels[:200], points[200:], labels[200:])


@dataclass(frozen=True)
class Unsaid(Blobs):
    """Its samples are vectors, and it does not say so."""

    name: ClassVar[str] = "unsaid"
    samples: ClassVar[str] = "images"
    backbone: ClassVar[str] = "digits_cnn"


@hookimpl
def bench_datasets():
    return [Blobs, Unsaid]
'''


@pytest.fixture
def blobs(tmp_path, monkeypatch):
    from pseudobench.registry.components import installed

    (tmp_path / "blobs.py").write_text(PLUGIN)
    monkeypatch.setenv("PSEUDOBENCH_PLUGINS", str(tmp_path / "blobs.py"))
    installed.cache_clear()
    yield ("run", "--preset", "smoke", "--seeds", "1")
    installed.cache_clear()


@pytest.mark.parametrize("backbone", ["mlp", "linear"])
def test_every_method_learns_from_a_plugins_vectors(bench, blobs, backbone):
    outcome = bench(
        *blobs,
        *("--dataset", "blobs", "--backbone", backbone, "--methods", "supervised,pl,ups,ups-raps"),
        *("--json", "--quiet"),
    )
    assert outcome.code == 0, outcome.err
    rows = json.loads(outcome.out)
    assert [row["status"] for row in rows] == ["done"] * 4
    # The clouds are four deviations apart in each of three dimensions: Phi(2 * sqrt(3)) = 99.97 % at best.
    assert all(row["accuracy"] >= 0.97 for row in rows)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--image-size", "32"), "network.image_size=32 is for images, and blobs has vectors"),
        (("--weights", "timm"), "network.weights=timm is for images, and blobs has vectors"),
        (("--tune", "head"), "network.tune=head is for images, and blobs has vectors"),
        (("--set", "recipe.augment=weak"), "recipe.augment=weak is for images, and blobs has vectors; take none"),
        (("--methods", "test-time+ups"), "augments images, and the dataset 'blobs' has vectors"),
        (("--backbone", "resnet18"), "--backbone resnet18 takes images, and blobs has vectors; these take them: mlp,"),
        (("--backbone", "digits_cnn"), "--backbone digits_cnn takes images"),
        (("--dataset", "digits", "--backbone", "mlp"), "--backbone mlp takes vectors, and digits has images"),
        (("--dataset", "unsaid"), "its class must say samples = 'vectors'"),
    ],
)
def test_what_is_for_images_is_refused_in_one_line(bench, blobs, arguments, message):
    outcome = bench(*blobs, *(() if "--dataset" in arguments else ("--dataset", "blobs")), *arguments)
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


def test_bench_data_describes_vectors(bench, blobs):
    assert bench("data", "wine").out == "wine: 144 training and 34 test vectors of 13 numbers, 3 classes\n"


def test_a_paper_preset_does_not_augment_vectors(registry):
    spec = resolve(registry, method="ups", dataset="wine", seed=0, preset="paper")
    assert spec.settings["recipe"]["augment"] == "none"
    assert spec.settings["recipe"]["epochs"] == 1024


def test_moments_of_features_are_numpys():
    """Over a whole number of parts, and with some rows left."""
    for rows in (1024, 2500):
        vectors = torch.randn(rows, 7, generator=torch.Generator().manual_seed(rows)) * 3 + 100
        exact = vectors.numpy().astype(np.float64)
        np.testing.assert_allclose(Samples(vectors).moments, (exact.mean(0), exact.std(0, ddof=1)), rtol=1e-12)


@pytest.mark.parametrize("name", ["mlp", "linear"])
def test_passes_with_dropout_share_what_comes_before_it(registry, name):
    network = make_network(registry, NetworkSpec(name, 3, (5,), 0.5), seed=0, device=CPU).eval()
    x = torch.randn(7, 5, generator=torch.Generator().manual_seed(0))
    assert draws(network, network, x)
    assert not draws(network, network.forward_features, x)
    torch.testing.assert_close(network.forward_head(network.forward_features(x)), network(x))
    pool = NetworkPool(network, x, Normalizer(Samples(x).moments, CPU, pixels=False))
    mean = torch.cat(list(pool.samples(4000, 0)), 1).mean(0)
    if name == "linear":  # dropout's mean is exact for a linear layer
        torch.testing.assert_close(mean, pool.logits(), atol=0.1, rtol=0)


def test_networks_have_the_layers_they_say(registry):
    shapes = {
        name: [tuple(weight.shape) for weight in made.state_dict().values()]
        for name in ("mlp", "linear")
        for made in [make_network(registry, NetworkSpec(name, 3, (5,), 0.5), seed=0, device=CPU)]
    }
    assert shapes["linear"] == [(3, 5), (3,)]
    assert shapes["mlp"] == [(256, 5), (256,), (256, 256), (256,), (3, 256), (3,)]
    first, again = (
        make_network(registry, NetworkSpec("mlp", 3, (5,), 0.5), seed=4, device=CPU).state_dict() for _ in range(2)
    )
    assert all(torch.equal(first[key], again[key]) for key in first)


def test_a_head_on_frozen_features_is_still_a_head(registry):
    spec = NetworkSpec("resnet18", 3, (5,), 0.5, Network(tune="head", weights="timm"))
    assert spec.is_head
    assert list(make_network(registry, spec, seed=0, device=CPU).state_dict()) == ["fc.weight", "fc.bias"]


def test_inputs_are_standardized_and_constants_are_zero():
    x = torch.tensor([[1e6, 0.1, 2.0], [1e6 + 1e4, 0.1, 4.0], [1e6 + 3e4, 0.1, 9.0]])
    normalize = Normalizer(Samples(x).moments, CPU, pixels=False)
    expected = torch.zeros_like(x)
    for column in (0, 2):
        own = x[:, column].double()
        expected[:, column] = ((own - own.mean()) / own.std()).float()
    torch.testing.assert_close(normalize(x), expected, atol=1e-4, rtol=1e-4)
    assert normalize(torch.tensor([[1e6, 77.0, 4.0]]))[0, 1] == 0
