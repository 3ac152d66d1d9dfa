"""Folders of images and Fashion-MNIST: made-up files in the layouts that people have."""

from __future__ import annotations

import struct

import numpy as np
import pytest
import torch
from PIL import Image

from pseudobench import BenchError
from pseudobench.spec import resolve
from pseudobench_vision import FashionMnist, Folder
from pseudobench_vision.listing import list_folder


def picture(path, seed=0, size=(8, 8), mode="RGB"):
    path.parent.mkdir(parents=True, exist_ok=True)
    channels = (3,) if mode == "RGB" else ()
    pixels = np.random.default_rng(seed).integers(0, 256, (*size, *channels), dtype=np.uint8)
    Image.fromarray(pixels).save(path)
    return pixels


@pytest.fixture
def photos(tmp_path):
    for place in range(20):
        picture(tmp_path / "photos" / ("cat" if place % 2 else "dog") / f"{place:02}.png", place)
    return tmp_path / "photos"


def test_one_folder_per_class(photos, registry):
    source = registry.dataset(f"folder:{photos}")
    assert (source.classes, source.train_size, source.test_size) == (2, 16, 4)
    data = source.load(photos)
    assert data.train_images.shape == (16, 3, 8, 8)
    assert torch.bincount(data.train_labels).tolist() == [8, 8]
    assert torch.bincount(data.test_labels).tolist() == [2, 2]
    expected = picture(photos.parent / "again.png", 1)  # the first cat
    assert torch.equal(data.train_images[0].permute(1, 2, 0), torch.from_numpy(expected))


def test_train_and_test_folders(tmp_path):
    for place in range(8):
        picture(tmp_path / ("test" if place < 2 else "train") / ("a" if place % 2 else "b") / f"{place}.png", place)
    source = Folder(str(tmp_path))
    assert (source.train_size, source.test_size) == (6, 2)
    assert source.load(tmp_path).classes == 2


def test_a_run_on_a_folder_has_a_name_that_is_a_file_name(photos, registry):
    spec = resolve(registry, method="pl", dataset=f"folder:{photos}", seed=0, labels=8)
    assert "/" not in spec.run_id
    assert spec.backbone == "cifar_cnn"


def test_grey_images_become_colour(photos):
    picture(photos / "cat" / "99.png", mode="L")
    assert Folder(str(photos)).load(photos).train_images.shape[1] == 3


def empty_class(photos):
    (photos / "bird").mkdir()
    return r"bird holds no image"


def broken_image(photos):
    (photos / "cat" / "00.png").write_bytes(b"not a picture")
    return r"00\.png can't be read as an image"


def other_size(photos):
    picture(photos / "cat" / "99.png", size=(9, 8))
    return r"one size: .* is 8 x 8, .*99\.png is 8 x 9; resize them first"


def too_few(photos):
    picture(photos / "bird" / "1.png")
    return "bird has fewer than 5 images"


@pytest.mark.parametrize("spoil", [empty_class, broken_image, other_size, too_few])
def test_bad_folders_are_one_clear_line(photos, spoil):
    message = spoil(photos)
    list_folder.cache_clear()
    with pytest.raises(BenchError, match=message):
        Folder(str(photos)).load(photos)


def test_no_classes_and_other_classes(tmp_path):
    picture(tmp_path / "one" / "a" / "1.png")
    with pytest.raises(BenchError, match="at least two"):
        list_folder(tmp_path / "one")
    for part, name in (("train", "a"), ("train", "b"), ("test", "a"), ("test", "c")):
        picture(tmp_path / "two" / part / name / "1.png")
    with pytest.raises(BenchError, match="not in both: b, c"):
        list_folder(tmp_path / "two")
    with pytest.raises(BenchError, match="there is no folder"):
        list_folder(tmp_path / "three")


def test_a_dataset_without_arguments_refuses_one(registry):
    with pytest.raises(BenchError, match="'digits' takes nothing behind a colon"):
        registry.dataset("digits:5")
    with pytest.raises(BenchError, match="say which folder"):
        _ = registry.dataset("folder").classes


def write_idx(path, array):
    path.parent.mkdir(parents=True, exist_ok=True)
    header = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
    path.write_bytes(header + array.tobytes())


def test_fashion_mnist_in_torchvisions_layout(tmp_path):
    raw = tmp_path / "FashionMNIST" / "raw"
    images = np.random.default_rng(0).integers(0, 256, (6, 28, 28), dtype=np.uint8)
    for prefix in ("train", "t10k"):
        write_idx(raw / f"{prefix}-images-idx3-ubyte", images)
        write_idx(raw / f"{prefix}-labels-idx1-ubyte", np.arange(6, dtype=np.uint8))
    assert FashionMnist().is_present(tmp_path)
    data = FashionMnist().load(tmp_path)
    assert torch.equal(data.train_images[:, 0], torch.from_numpy(images))
    assert data.test_labels.tolist() == list(range(6))


def test_broken_fashion_mnist_says_which_files_to_put_where(tmp_path):
    raw = tmp_path / "FashionMNIST" / "raw"
    for prefix in ("train", "t10k"):
        for kind in ("images-idx3", "labels-idx1"):
            write_idx(raw / f"{prefix}-{kind}-ubyte", np.arange(6, dtype=np.uint8))
    with pytest.raises(BenchError, match=r"fashion-mnist can't be read.*train-images-idx3-ubyte"):
        FashionMnist().load(tmp_path)


def test_bench_data_lists_and_prepares(bench, photos):
    listed = bench("data").out
    assert "digits" in listed
    assert "`bench data cifar100` fetches it" in listed
    assert bench("data", f"folder:{photos}").out.endswith(
        "16 training and 4 test images of 8 x 8 pixels, 3 channels, 2 classes\n"
    )
    assert bench("data", "digit").code == 2
