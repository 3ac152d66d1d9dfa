"""Fixtures that several files of this folder use."""

from __future__ import annotations

import pytest
from image_files import picture


@pytest.fixture
def tagged(tmp_path):
    for place in range(20):
        picture(tmp_path / "pictures" / f"{place:02}.png", place)
    rows = [f"pictures/{n:02}.png,{'' if n == 0 else 'cat' if n % 2 else 'dog; tree'}" for n in range(20)]
    return tmp_path, rows
