"""Vectors in .npz, .safetensors and .parquet: read as they are, or refused in one line."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.numpy import save_file
from vector_files import people

from pseudobench import BenchError
from pseudobench_tables.sources import Features

RUN = ("--methods", "supervised,pl,ups,ups-raps", "--preset", "smoke", "--seeds", "1", "--json", "--quiet")


def blobs(n=200, seed=0):
    """Four clouds of points and their classes."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % 4
    return random.normal(size=(n, 6)) + 5 * np.eye(6)[y], y


def parts(n=200):
    (train_x, train_y), (test_x, test_y) = blobs(n), blobs(n // 2, seed=1)
    return {"train_x": train_x, "train_y": train_y, "test_x": test_x, "test_y": test_y}


def write(path, arrays):
    if path.suffix == ".npz":
        np.savez(path, **arrays)
    elif path.suffix == ".safetensors":
        save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, path)
    else:
        frames = [
            pd.DataFrame(arrays[f"{part}_x"]).add_prefix("f").assign(y=arrays[f"{part}_y"], part=part)
            for part in ("train", "test")
        ]
        pd.concat(frames).to_parquet(path)
    return path


@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ".parquet"])
def test_features_in_two_parts_are_read_as_they_are(tmp_path, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    arrays = parts()
    source = Features(str(write(tmp_path / f"f{suffix}", arrays)))
    assert (source.classes, source.train_size, source.test_size, source.default_labels) == (4, 200, 100, 40)
    data = source.load(tmp_path)
    assert torch.equal(data.train_images, torch.from_numpy(arrays["train_x"].astype(np.float32)))
    assert data.test_labels.tolist() == arrays["test_y"].tolist()


def test_one_array_gives_a_fifth_of_each_class_for_testing(tmp_path):
    x, y = blobs()
    source = Features(str(write(tmp_path / "f.npz", {"x": x, "y": np.array(list("dabc"))[y]})))
    assert (source.classes, source.train_size, source.test_size) == (4, 160, 40)
    data = source.load(tmp_path)
    assert torch.bincount(data.test_labels).tolist() == [10] * 4
    order = {tuple(row): label for row, label in zip(x.astype(np.float32).tolist(), y, strict=True)}
    names = ["dabc"[order[tuple(row)]] for row in data.train_images.tolist()]
    assert ["abcd"[label] for label in data.train_labels.tolist()] == names


def test_lists_in_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    x, y = blobs(40)
    pd.DataFrame({"x": list(x), "y": [f"class {label}" for label in y]}).to_parquet(tmp_path / "f.parquet")
    data = Features(str(tmp_path / "f.parquet")).load(tmp_path)
    assert data.train_images.shape == (32, 6)


def test_features_with_several_classes(tmp_path):
    x, y = blobs()
    present = np.eye(4, dtype=bool)[y] | np.eye(4, dtype=bool)[(y + 1) % 4]
    source = Features(str(write(tmp_path / "f.npz", {"x": x, "y": present})))
    assert source.task == "multi-label"
    data = source.load(tmp_path)
    assert data.train_labels.shape == (160, 4)
    assert data.train_labels.sum(1).unique().tolist() == [2]


def bad(**changes):
    return {**parts(), **changes}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (bad(train_x=np.zeros((200, 2, 2))), r"train_x must be numbers \[N, F\], and is float64 \[200, 2, 2\]"),
        (bad(test_x=np.zeros((100, 5))), "train_x has 6 columns and test_x 5"),
        (bad(test_y=np.zeros(99, dtype=int)), "test_x has 100 rows and test_y 99"),
        (bad(test_y=np.full(100, 9)), "no training sample has the class 9"),
        (bad(test_y=np.full(100, "1")), "labels are numbers in one part and texts in the other"),
        (bad(train_y=np.zeros(200), test_y=np.zeros(100)), r"labels are whole numbers or texts \[N\]"),
        (bad(train_y=np.zeros(200, dtype=int), test_y=np.zeros(100, dtype=int)), "at least two classes"),
        (bad(train_x=np.full((200, 6), np.nan)), r"train_x\[0, 0\] is nan"),
        (bad(train_x=np.full((200, 6), 1e300)), r"train_x\[0, 0\] is 1e\+300"),
        ({"a": np.zeros(3)}, r"must hold the arrays train_x, .*, or x and y; it has: none"),
        ({"x": np.array([[None]]), "y": np.zeros(1)}, "with objects in it"),
    ],
)
def test_bad_features_are_one_line(tmp_path, arrays, message):
    np.savez(tmp_path / "f.npz", **arrays)
    with pytest.raises(BenchError, match=message) as caught:
        Features(str(tmp_path / "f.npz")).load(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["f.npz", "f.safetensors", "f.parquet"])
@pytest.mark.parametrize("content", [b"", b"nonsense", b"PK\x03\x04nonsense", b"\x93NUMPY"])
def test_broken_files_are_one_line(tmp_path, name, content):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BenchError, match=rf"{name} can't be read as [^\n]*$"):
        Features(str(tmp_path / name)).load(tmp_path)


def test_files_that_are_none_are_named(tmp_path, registry):
    for name, message in (("f.csv", "a file ending in .npz, .safetensors, .parquet"), ("f.npz", "there is no file")):
        with pytest.raises(BenchError, match=message):
            Features(str(tmp_path / name)).load(tmp_path)
    with pytest.raises(BenchError, match="say which file: features:PATH"):
        _ = registry.dataset("features").classes


def test_a_changed_file_is_read_again_and_has_another_fingerprint(tmp_path):
    import os

    source = Features(str(write(tmp_path / "f.npz", parts())))
    before = source.fingerprint()
    assert source.train_size == 200
    write(tmp_path / "f.npz", parts(100))
    os.utime(tmp_path / "f.npz", ns=(1, 1))
    assert source.train_size == 100
    assert source.fingerprint() != before


@pytest.mark.parametrize("kind", ["features", "table"])
def test_runs_on_files(bench, tmp_path, kind):
    if kind == "features":
        name = write(tmp_path / "f.npz", parts()).name
    else:
        people().to_csv(tmp_path / "t.csv", index=False)
        name = "t.csv"
    outcome = bench("run", "--dataset", f"{kind}:{name}", "--labels", "40", *RUN)
    assert outcome.code == 0, outcome.err
    rows = json.loads(outcome.out)
    assert [row["status"] for row in rows] == ["done"] * 4
    if kind == "features":  # clouds five deviations apart: hardly a mistake is possible
        assert all(row["accuracy"] > 0.9 for row in rows)
