"""Folders of images, made up in the layouts that people have."""

from __future__ import annotations

import pytest
import torch
from image_files import picture, table

from pseudobench import BenchError
from pseudobench.experiments.resolving import resolve
from pseudobench_vision import Folder
from pseudobench_vision.listing import list_folder


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


def test_every_way_to_write_a_path_names_one_dataset(photos, registry, monkeypatch):
    monkeypatch.chdir(photos.parent)
    texts = [f"folder:{text}" for text in ("photos", "./photos", "photos/", "x/../photos", photos)]
    specs = [resolve(registry, method="pl", dataset=text, seed=0, labels=8) for text in texts]
    assert {spec.dataset for spec in specs} == {"folder:photos"}
    assert len({spec.run_id for spec in specs}) == 1
    assert {registry.dataset(text).load(photos).name for text in texts} == {"folder:photos"}
    other = photos.parent / "other"
    picture(other / "photos" / "cat" / "1.png")
    monkeypatch.chdir(other)
    with pytest.raises(BenchError, match="at least two"):
        _ = registry.dataset("folder:photos").classes
    monkeypatch.chdir(photos / "cat")
    assert registry.dataset("folder:..").path == str(photos)


def test_the_fingerprint_is_that_of_the_content(photos, tagged, registry, tmp_path_factory):
    import shutil

    before = Folder(str(photos)).fingerprint()
    moved = tmp_path_factory.mktemp("elsewhere") / "pictures"
    shutil.copytree(photos, moved)
    assert Folder(str(moved)).fingerprint() == before
    picture(moved / "cat" / "01.png", seed=99)
    assert Folder(str(moved)).fingerprint() != before
    (moved / "cat" / "01.png").write_bytes((photos / "cat" / "01.png").read_bytes())
    (moved / "cat" / "01.png").rename(moved / "cat" / "00.png")
    list_folder.cache_clear()
    assert Folder(str(moved)).fingerprint() != before

    folder, rows = tagged
    source = registry.dataset(f"csv:{table(folder, rows)}")
    before = source.fingerprint()
    picture(folder / "pictures" / "03.png", seed=99)
    assert source.fingerprint() != before


def test_a_dataset_without_arguments_refuses_one(registry):
    with pytest.raises(BenchError, match="'digits' takes nothing behind a colon"):
        registry.dataset("digits:5")
    with pytest.raises(BenchError, match="say which folder"):
        _ = registry.dataset("folder").classes


def test_bench_data_lists_and_prepares(bench, photos):
    listed = bench("data").out
    assert "digits" in listed
    assert "`bench data cifar100` fetches it" in listed
    assert bench("data", f"folder:{photos}").out.endswith(
        "16 training and 4 test images of 8 x 8 pixels, 3 channels, 2 classes\n"
    )
    assert bench("data", "digit").code == 2


def test_a_run_on_a_folder_of_another_size_of_classes(photos, bench):
    done = bench(
        *("run", "--dataset", f"folder:{photos}", "--methods", "supervised,pl", "--labels", "8"),
        *("--seeds", "1", "--preset", "smoke"),
    )
    assert done.code == 0, done.err
