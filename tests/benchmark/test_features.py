"""A frozen backbone: its features are computed once, and stand in place of the images."""

from __future__ import annotations

import random
import warnings

import pytest
import torch
from safetensors.torch import save_file

from pseudobench import BenchWarning, Dataset
from pseudobench.contracts.settings import Network
from pseudobench.experiments.resolving import resolve
from pseudobench.learning import features
from pseudobench.learning.networks import NetworkSpec, make_network
from pseudobench.learning.pool import NetworkPool, Normalizer, dropout_on
from pseudobench.storage.cache import Cache

CPU = torch.device("cpu")
HEAD = ("--tune", "head", "--weights", "net.safetensors", "--preset", "smoke", "--seeds", "1")


@pytest.fixture
def weights(registry, tmp_path):
    """The weights of a network for digits."""
    network = make_network(registry, NetworkSpec("digits_cnn", 10, (1, 8, 8), 0.0), seed=5, device=CPU)
    save_file({name: value.contiguous() for name, value in network.state_dict().items()}, tmp_path / "net.safetensors")
    return tmp_path / "net.safetensors"


def made_up(n=20):
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(0, 256, (n, 1, 8, 8), generator=generator, dtype=torch.uint8)
    return Dataset("made-up", 10, pixels, torch.arange(n) % 10, pixels[:5], torch.arange(5))


def compute(registry, weights, data, tmp_path, told=None, **settings):
    asked = {"network.tune": "head", "network.weights": "net sha256:1", **settings}
    spec = resolve(registry, method="supervised", dataset="digits", seed=0, settings=asked)
    told = [] if told is None else told
    return features.with_features(
        data,
        spec,
        registry,
        weights_file=weights,
        cache=Cache(tmp_path / "cache"),
        device=CPU,
        on_progress=lambda done, total: told.append((done, total)),
    )


def test_features_are_what_the_last_layer_is_given(registry, weights, tmp_path):
    data = made_up()
    seen = compute(registry, weights, data, tmp_path)
    network = make_network(
        registry, NetworkSpec("digits_cnn", 10, (1, 8, 8), 0.0, weights_file=weights), seed=0, device=CPU
    ).eval()
    given = []
    network.fc.register_forward_pre_hook(lambda _, inputs: given.append(inputs[0]))
    with torch.no_grad():
        network(Normalizer(data.train.moments, CPU)(data.train_images))
    torch.testing.assert_close(seen.train_images, given[0])
    assert seen.train_images.dtype == torch.float32
    assert torch.equal(seen.train_labels, data.train_labels)
    assert torch.equal(seen.test_images, seen.train_images[:5])


def test_a_bit_that_turned_over_changes_no_feature(registry, weights, tmp_path):
    expected = compute(registry, weights, made_up(), tmp_path)
    (path,) = (tmp_path / "cache" / "features").glob("*.safetensors")
    whole, draw = path.read_bytes(), random.Random(0)
    header = 8 + int.from_bytes(whole[:8], "little")
    for place in [draw.randrange(header) for _ in range(30)] + [draw.randrange(header, len(whole)) for _ in range(10)]:
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << draw.randrange(8)]) + whole[place + 1 :])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BenchWarning)
            found = compute(registry, weights, made_up(), tmp_path)
        assert torch.equal(found.train_images, expected.train_images)
        assert torch.equal(found.test_images, expected.test_images)


def test_they_are_computed_once_for_what_determines_them(registry, weights, tmp_path):
    told: list[tuple[int, int]] = []
    first = compute(registry, weights, made_up(), tmp_path, told)
    assert told == [(20, 25), (25, 25)]
    again = compute(registry, weights, made_up(), tmp_path, told)
    assert len(told) == 2
    assert torch.equal(first.train_images, again.train_images)
    compute(registry, weights, made_up(21), tmp_path, told)
    compute(registry, weights, made_up(), tmp_path, told, **{"network.weights": "net sha256:2"})
    compute(registry, weights, made_up(), tmp_path, told, **{"network.image_size": 16})
    assert len(told) == 8
    assert len(list((tmp_path / "cache" / "features").iterdir())) == 4


def test_a_broken_cache_is_no_hindrance(registry, weights, tmp_path):
    first = compute(registry, weights, made_up(), tmp_path)
    (path,) = (tmp_path / "cache" / "features").iterdir()
    for content in (b"", path.read_bytes()[:-7], b"nonsense" * 100):
        path.write_bytes(content)
        with pytest.warns(BenchWarning, match="can't be read"):
            again = compute(registry, weights, made_up(), tmp_path)
        assert torch.equal(first.train_images, again.train_images)


def test_a_cache_that_can_not_be_written_is_said_and_nothing_is_lost(registry, weights, tmp_path):
    (tmp_path / "cache").write_text("a file")
    with pytest.warns(BenchWarning, match="nothing can be kept in the cache"):
        assert len(compute(registry, weights, made_up(), tmp_path).train_images) == 20


def test_mc_dropout_of_a_head_is_that_of_the_whole_network(registry, weights, tmp_path):
    """The same draws over features as over images: a frozen backbone adds no randomness."""
    data = made_up()
    seen = compute(registry, weights, data, tmp_path)
    head = make_network(registry, NetworkSpec("digits_cnn", 10, (64,), 0.5, Network(tune="head")), seed=0, device=CPU)
    plain = Normalizer(((0.0,) * 64, (1.0,) * 64), CPU, pixels=False)
    draws = torch.cat(list(NetworkPool(head, seen.train_images, plain).samples(2000, 1)), 1)
    whole = make_network(
        registry, NetworkSpec("digits_cnn", 10, (1, 8, 8), 0.5, weights_file=weights), seed=0, device=CPU
    ).eval()
    whole.fc.load_state_dict(head.fc.state_dict())
    with torch.no_grad(), dropout_on(whole):
        inputs = Normalizer(data.train.moments, CPU)(data.train_images)
        full = torch.stack([whole(inputs) for _ in range(2000)])
    error = (draws.var(0) / 2000 + full.var(0) / 2000).sqrt()
    assert ((draws.mean(0) - full.mean(0)).abs() < 5 * error).all()
    torch.testing.assert_close(draws.std(0), full.std(0), rtol=0.15, atol=1e-3)


def test_passes_at_once_are_those_of_thinned_features(registry):
    """Masks on weights or on features: with the same draws, the same logits."""
    head = make_network(registry, NetworkSpec("digits_cnn", 3, (40,), 0.4, Network(tune="head")), seed=0, device=CPU)
    x = torch.randn(9, 40)
    with torch.no_grad(), dropout_on(head):
        torch.manual_seed(0)
        found = head.forward_passes(x, 5)
        torch.manual_seed(0)
        masks = head.drop(torch.ones(1, 5, 1, 40))[0]
        expected = torch.stack([head.fc(x * mask) for mask in masks])
    assert len(masks.unique(dim=0)) == 5
    torch.testing.assert_close(found, expected)


def test_a_head_is_trained_from_the_command_line(bench, weights):
    outcome = bench("run", *HEAD, "--methods", "supervised,ups,ups-raps")
    assert outcome.code == 0
    assert "features: 1797 of 1797 images" in outcome.err
    assert "backbone digits_cnn (head)" in outcome.out
    again = bench("run", *HEAD, "--methods", "supervised", "--labels", "100")
    assert again.code == 0
    assert "features:" not in again.err
    shown = bench("show", "digits-40-ups-s0")
    assert "tune=head, weights=net.safetensors sha256:" in shown.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--tune", "head"), "--tune head freezes the backbone, so it needs network.weights"),
        ((*HEAD, "--set", "recipe.augment=weak"), "with --tune head features are computed once; take none"),
        (("--tune", "all"), "'all' is not one of 'full', 'head'"),
        (("--weights", "nowhere.pth"), "--weights nowhere.pth: there is no such file"),
        (("--image-size", "big"), "network.image_size: 'big' is not a whole number in [8, 4096] or none"),
    ],
)
def test_what_can_not_be_is_refused(bench, weights, arguments, message):
    outcome = bench("run", *arguments)
    assert outcome.code == 2
    assert message in outcome.err
