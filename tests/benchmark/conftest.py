"""Fixtures that several files of this folder use."""

from __future__ import annotations

import os

import pytest
from made_up import records, save
from report_pages import put
from watching_stages import watched_world

from committed import digits_records


@pytest.fixture
def runs(tmp_path):
    """The folder that commands read by default, with real records."""
    put(tmp_path / "runs", *digits_records("supervised", "pl", "ups-raps"))
    return tmp_path / "runs"


@pytest.fixture
def here(bench, tmp_path):
    """A folder with records and with files that are not what they should be."""
    save(tmp_path / "runs", records("pl", [0.5, 0.75]))
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "nowhere").symlink_to("gone")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "deep.toml").write_text(f"x = {'[' * 5000}{']' * 5000}")
    (tmp_path / "odd.toml").write_bytes(b"\xff\xfe")
    (tmp_path / "digits.toml").write_text(f"seeds = {'9' * 5000}")
    (tmp_path / "nul.toml").write_text('results = "a\\u0000b"')
    (tmp_path / "typed.toml").write_text("methods = 2020-01-01")
    return bench


@pytest.fixture
def world():
    """The plugins and the registry with stages that note their calibration points."""
    return watched_world()
