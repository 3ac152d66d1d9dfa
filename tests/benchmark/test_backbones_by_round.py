"""A backbone for each round, features of a network, and backbones that can't be."""

from __future__ import annotations

import pytest
import torch
from watching_stages import run, spec_for

from harness import make_runner
from pseudobench import BenchError
from pseudobench.experiments.resolving import resolve
from pseudobench.learning.modules import Head
from pseudobench.learning.networks import NetworkSpec, make_network
from pseudobench.learning.pool import NetworkPool, Normalizer

CPU = torch.device("cpu")


def test_features_are_the_inputs_of_the_last_layer(registry):
    network = make_network(registry, NetworkSpec("digits_cnn", 4, (1, 8, 8), 0.5), seed=0, device=CPU)
    images = torch.randint(0, 256, (300, 1, 8, 8), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    pool = NetworkPool(network, images, Normalizer(((0.5,), (0.25,)), CPU))
    features = pool.features()
    assert features.shape == (300, 64)
    with torch.no_grad():
        torch.testing.assert_close(network.fc(features), pool.logits())
    vectors = torch.randn(7, 12)
    moments = (tuple([0.0] * 12), tuple([2.0] * 12))
    of_head = NetworkPool(Head(12, 4, 0.5), vectors, Normalizer(moments, CPU, pixels=False))
    torch.testing.assert_close(of_head.features(), vectors / 2)


def test_each_round_has_its_backbone_and_the_last_one_stays(tmp_path, world):
    settings = {"loop.backbones": "digits_cnn,cifar_cnn"}
    sizes = {}
    plugins, registry = world
    spec = spec_for(registry, "plain+hard+confidence", settings)
    assert spec.backbones == ("digits_cnn", "cifar_cnn")
    runner = make_runner(tmp_path, registry, plugins, cache=tmp_path / "cache")
    (record,) = runner.run([spec])
    assert record["status"] == "done", record["error"]
    from safetensors import safe_open

    for path in (tmp_path / "cache" / "networks").glob("*.safetensors"):
        with safe_open(path, "pt") as file:
            sizes[file.metadata()["note"]] = len(file.keys())
    rounds = {int(part.split('"round": ')[1].rstrip("}")): size for part, size in sizes.items()}
    assert rounds[0] < rounds[1] == rounds[2]
    assert "backbones" not in spec_for(registry, "plain+hard+confidence").settings["loop"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loop.backbones": "digits_cnn,"}, "loop.backbones=digits_cnn,: names separated by commas"),
        ({"loop.backbones": "digits_cnn", "network.weights": "timm"}, "each round trains its backbone from scratch"),
    ],
)
def test_backbones_that_cannot_be_are_refused(registry, settings, message):
    with pytest.raises(BenchError, match=message):
        resolve(registry, method="pl", dataset="digits", seed=0, settings=settings)


def test_an_unknown_backbone_is_refused_before_anything_is_trained(tmp_path, world):
    with pytest.raises(BenchError, match="there is no backbone 'ghost_net'"):
        run(tmp_path, world, spec_for(world[1], "pl", {"loop.backbones": "digits_cnn,ghost_net"}))
