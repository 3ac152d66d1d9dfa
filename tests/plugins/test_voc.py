"""Pascal VOC 2007, from made-up files in its layout."""

from __future__ import annotations

import pytest
from image_files import picture

from pseudobench import BenchError
from pseudobench_vision import Voc2007
from pseudobench_vision import voc as voc_module
from pseudobench_vision.voc import CLASSES


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
