"""The backbones that are registered with timm."""

from __future__ import annotations

import pytest
import torch

from pseudobench.networks import make_network
from pseudobench.pool import NetworkPool, Normalizer

CPU = torch.device("cpu")


def network(registry, name, dropout=0.3):
    return make_network(registry, name, classes=7, channels=3, dropout=dropout, seed=0, device=CPU)


@pytest.mark.parametrize(
    ("name", "million", "head_only"),
    [("cifar_cnn", 0.07, True), ("cnn13", 3.12, False), ("wrn_28_2", 1.47, True)],
)
def test_size_dropout_and_outputs(registry, name, million, head_only):
    """Sizes as published: CNN-13 has 3.1 and WRN-28-2 1.5 million parameters."""
    made = network(registry, name)
    assert sum(p.numel() for p in made.parameters()) / 1e6 == pytest.approx(million, abs=0.02)
    images = torch.randint(0, 256, (4, 3, 32, 32), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    pool = NetworkPool(made, images, Normalizer(((0.5,) * 3, (0.25,) * 3), CPU))
    assert pool.logits().shape == (4, 7)
    assert pool._dropout_is_in_head_only() == head_only
    draws = next(iter(pool.samples(3, 0)))
    assert (draws.std(0) > 0).all()


@pytest.mark.parametrize("name", ["cifar_cnn", "cnn13", "wrn_28_2"])
def test_the_parts_make_the_whole(registry, name):
    made = network(registry, name, dropout=0.0).eval()
    x = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    assert torch.equal(made(x), made.forward_head(made.forward_features(x)))
