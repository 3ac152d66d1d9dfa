"""The backbones that are registered with timm."""

from __future__ import annotations

import pytest
import torch

from pseudobench.learning.networks import NetworkSpec, make_network
from pseudobench.learning.pool import NetworkPool, Normalizer, draws

CPU = torch.device("cpu")


def network(registry, name, dropout=0.3):
    return make_network(registry, NetworkSpec(name, 7, (3, 32, 32), dropout), seed=0, device=CPU)


@pytest.mark.parametrize(
    ("name", "million"),
    [("cifar_fast", 0.29), ("cifar_cnn", 0.29), ("cnn13", 3.12), ("wrn_28_2", 1.47)],
)
def test_size_dropout_and_outputs(registry, name, million):
    """Sizes as published: CNN-13 has 3.1 and WRN-28-2 1.5 million parameters."""
    made = network(registry, name)
    assert sum(p.numel() for p in made.parameters()) / 1e6 == pytest.approx(million, abs=0.02)
    images = torch.randint(0, 256, (4, 3, 32, 32), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    pool = NetworkPool(made, images, Normalizer(((0.5,) * 3, (0.25,) * 3), CPU))
    assert pool.logits().shape == (4, 7)
    draws = next(iter(pool.samples(3, 0)))
    assert (draws.std(0) > 0).all()


@pytest.mark.parametrize("name", ["cifar_fast", "cifar_cnn", "cnn13", "wrn_28_2"])
def test_the_parts_make_the_whole(registry, name):
    made = network(registry, name, dropout=0.0).eval()
    x = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert torch.equal(made(x), made.forward_head(made.forward_features(x)))
        assert torch.equal(made(x), made.forward_after_dropout(made.forward_before_dropout(x)))


def test_passes_share_what_comes_before_the_first_dropout(registry):
    """CNN-13 drops after its first block of five layers: nothing before draws, the layer after it does."""
    made = network(registry, "cnn13")
    x = torch.randn(4, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    assert not draws(made, made.forward_before_dropout, x)
    with torch.no_grad():
        shared = made.eval().forward_before_dropout(x)
    assert shared.shape == (4, 128, 16, 16)
    assert draws(made, made.forward_after_dropout, shared)
