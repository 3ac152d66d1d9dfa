"""Tables that name images and their labels."""

from __future__ import annotations

import pytest
import torch
from image_files import picture, table

from pseudobench import BenchError


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
