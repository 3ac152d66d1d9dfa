"""Folders and tables of images, Pascal VOC: made-up files in the layouts that people have."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image

from pseudobench import BenchError
from pseudobench.experiments.resolving import resolve
from pseudobench_vision import Folder, Voc2007
from pseudobench_vision import voc as voc_module
from pseudobench_vision.listing import list_folder
from pseudobench_vision.voc import CLASSES


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


# Tables of images with several labels


def table(folder, rows, header="file,labels"):
    (folder / "labels.csv").write_text("\n".join([header, *rows]) + "\n")
    return str(folder / "labels.csv")


@pytest.fixture
def tagged(tmp_path):
    for place in range(20):
        picture(tmp_path / "pictures" / f"{place:02}.png", place)
    rows = [f"pictures/{n:02}.png,{'' if n == 0 else 'cat' if n % 2 else 'dog; tree'}" for n in range(20)]
    return tmp_path, rows


def test_a_table_of_images_with_several_labels(tagged, registry):
    folder, rows = tagged
    source = registry.dataset(f"csv:{table(folder, rows)}")
    assert (source.classes, source.train_size, source.test_size, source.default_labels) == (3, 16, 4, 2)
    data = source.load(folder)
    assert data.task == "multi-label"
    assert data.train_labels[:3].tolist() == [[False] * 3, [True, False, False], [False, True, True]]
    expected = picture(folder / "again.png", 0)
    assert torch.equal(data.train_images[0].permute(1, 2, 0), torch.from_numpy(expected))


def test_the_table_may_say_what_is_for_testing(tagged, registry):
    folder, rows = tagged
    parted = [f"{row},{'test' if place < 3 else 'train'}" for place, row in enumerate(rows)]
    source = registry.dataset(f"csv:{table(folder, parted, 'file,labels,part')}")
    assert (source.train_size, source.test_size) == (17, 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: ["name,tags", *rows], "it has no"),
        (lambda rows: ["file,labels", "pictures/99.png,cat", *rows], r"line 2: there is no file .*99\.png"),
        (
            lambda rows: ["file,labels,part", *(f"{row},dev" for row in rows)],
            "line 2: a part is train or test, not 'dev'",
        ),
        (lambda rows: ["file,labels", *(f"{row.partition(',')[0]},cat" for row in rows)], "at least two labels"),
        (lambda rows: ["file,labels"], "must begin with a line that names its columns"),
    ],
)
def test_a_bad_table_gets_one_clear_line(tagged, registry, change, message):
    folder, rows = tagged
    header, *lines = change(rows)
    with pytest.raises(BenchError, match=message):
        registry.dataset(f"csv:{table(folder, lines, header)}").load(folder)
    with pytest.raises(BenchError, match="there is no table"):
        registry.dataset(f"csv:{folder / 'nothing.csv'}").load(folder)


def test_a_run_on_a_table(tagged, bench):
    folder, rows = tagged
    path = table(folder, rows)
    done = bench(
        "run",
        "--dataset",
        f"csv:{path}",
        "--methods",
        "pl,ups-raps",
        "--labels",
        "8",
        "--seeds",
        "1",
        "--preset",
        "smoke",
    )
    assert done.code == 0, done.err
    assert "mAP" in done.err


def test_a_run_on_a_folder_of_another_size_of_classes(photos, bench):
    done = bench(
        *("run", "--dataset", f"folder:{photos}", "--methods", "supervised,pl", "--labels", "8"),
        *("--seeds", "1", "--preset", "smoke"),
    )
    assert done.code == 0, done.err


# Pascal VOC


@pytest.fixture
def voc(tmp_path):
    """Made-up files in the layout of Pascal VOC 2007: photographs of several shapes, and annotations."""
    folder = tmp_path / "VOCdevkit" / "VOC2007"
    for part, numbers in (("trainval", range(30)), ("test", range(30, 40))):
        (folder / "ImageSets" / "Main").mkdir(parents=True, exist_ok=True)
        (folder / "ImageSets" / "Main" / f"{part}.txt").write_text("".join(f"{n:06}\n" for n in numbers))
    (folder / "Annotations").mkdir()
    for n in range(40):
        picture(folder / "JPEGImages" / f"{n:06}.jpg", n, size=(40 + n, 60))
        objects = [("person", 0), ("dog", n % 2), ("person", 0)] + ([("sofa", 0)] if n % 5 == 0 else [])
        found = "".join(f"<object><name>{c}</name><difficult>{d}</difficult></object>" for c, d in objects)
        (folder / "Annotations" / f"{n:06}.xml").write_text(f"<annotation>{found}</annotation>")
    return tmp_path


def test_voc_is_read_from_torchvisions_layout(voc):
    source = Voc2007()
    assert source.is_present(voc)
    data = source.load(voc)
    assert data.train_images.shape == (30, 3, 128, 128)
    assert data.test_images.shape == (10, 3, 128, 128)
    names = [{CLASSES[place] for place in row.nonzero()[:, 0].tolist()} for row in data.train_labels]
    assert names[0] == {"person", "dog", "sofa"}
    assert names[1] == {"person"}  # its dog is difficult


def test_our_reading_of_voc_is_torchvisions(voc):
    from torchvision.datasets import VOCDetection

    theirs = VOCDetection(str(voc), year="2007", image_set="trainval", download=False)
    for (_, annotation), row in zip(theirs, Voc2007().load(voc).train_labels, strict=True):
        objects = annotation["annotation"]["object"]
        expected = {each["name"] for each in objects if each["difficult"] == "0"}
        assert {CLASSES[place] for place in row.nonzero()[:, 0].tolist()} == expected


def test_a_broken_voc_is_named(voc):
    (voc / "VOCdevkit" / "VOC2007" / "Annotations" / "000003.xml").write_text(
        "<annotation><object><name>ufo</name></object></annotation>"
    )
    with pytest.raises(BenchError, match=r"image 000003 of .* can't be read"):
        Voc2007().load(voc)


def test_without_voc_the_message_says_which_folders_to_put_where(tmp_path, monkeypatch):
    def unreachable(*_):
        raise OSError("no route to host")

    monkeypatch.setattr(voc_module, "download", unreachable)
    assert not Voc2007().is_present(tmp_path)
    with pytest.raises(BenchError, match=r"no route to host\); put the folders Annotations, ImageSets and JPEGImages"):
        Voc2007().load(tmp_path)
