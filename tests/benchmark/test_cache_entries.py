"""Entries of the cache on disk: broken, foreign and odd ones are noticed and never believed."""

from __future__ import annotations

import os
import random
import shutil
import warnings

import pytest
import torch
from cached_runs import runner, spec_for, work

from pseudobench import BenchWarning
from pseudobench.contracts.events import Listener
from pseudobench.storage.cache import Cache
from pseudobench.storage.records import without_times


def test_a_broken_entry_is_trained_again(tmp_path, registry):
    (first,) = runner(tmp_path).run([spec_for(registry, "supervised")])
    (path,) = (tmp_path / "cache" / "networks").glob("*.safetensors")
    whole = path.read_bytes()
    flipped = bytes([*whole[:-1], whole[-1] ^ 1])
    for broken in (whole[:100], flipped, b"", b"nonsense" * 50):
        path.write_bytes(broken)
        with pytest.warns(BenchWarning, match="can't be read"):
            (again,) = runner(tmp_path, force=True).run([spec_for(registry, "supervised")])
        assert without_times(first) == without_times(again)
        assert work(again) == [(1, 0)]


def test_a_foreign_entry_is_not_loaded(tmp_path, registry):
    (first,) = runner(tmp_path).run([spec_for(registry, "supervised")])
    cache = Cache(tmp_path / "cache")
    (entry,) = cache.entries()
    cache.store("networks", entry.path.stem, {"fc.weight": torch.zeros(3)}, {"seconds": 1.0})
    with pytest.warns(BenchWarning, match="it is of something else"):
        (again,) = runner(tmp_path, force=True).run([spec_for(registry, "supervised")])
    assert without_times(first) == without_times(again)
    cache.store("checkpoints", entry.path.stem, {"fc.weight": torch.zeros(3)}, {"epoch": 2})
    entry.path.unlink()
    with pytest.warns(BenchWarning, match="it is of something else"):
        (again,) = runner(tmp_path, force=True).run([spec_for(registry, "supervised")])
    assert without_times(first) == without_times(again)


def flipped(content, place):
    """Bytes with one bit turned over, the bits counted from the beginning."""
    changed = bytearray(content)
    changed[place // 8] ^= 1 << place % 8
    return bytes(changed)


def test_no_bit_of_an_entry_can_turn_over_unnoticed(tmp_path):
    cache = Cache(tmp_path)
    tensors = {"weight": torch.arange(3, dtype=torch.float32), "mask": torch.tensor([True, False])}
    cache.store("networks", "key", tensors, {"seconds": 1.5, "epoch": 7})
    path = cache.path("networks", "key")
    whole, same = path.read_bytes(), 0
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for place in range(8 * len(whole)):
            path.write_bytes(flipped(whole, place))
            found = cache.load("networks", "key", lambda kept: kept)
            assert path.exists() == (found is not None)
            if found is not None:  # a bit of padding
                same += 1
                assert found.note == {"seconds": 1.5, "epoch": 7}
                assert found.tensors.keys() == tensors.keys()
                assert all(torch.equal(found.tensors[name], tensors[name]) for name in tensors)
    assert all(issubclass(each.category, BenchWarning) and "\n" not in str(each.message) for each in said)
    assert len(said) + same == 8 * len(whole)
    assert same < len(whole)


@pytest.mark.parametrize("kind", ["networks", "checkpoints"])
def test_an_entry_under_the_name_of_another_is_not_taken_for_it(tmp_path, kind):
    cache = Cache(tmp_path)
    for key in ("one", "other"):
        cache.store("networks", key, {"weight": torch.full((2,), float(len(key)))}, {})
    cache.path(kind, "one").parent.mkdir(exist_ok=True)
    cache.path("networks", "other").replace(cache.path(kind, "one"))
    with pytest.warns(BenchWarning, match="it is not what was stored there"):
        assert cache.load(kind, "one", lambda kept: kept) is None


@pytest.mark.parametrize(
    "content",
    [
        b"\xff" * 8 + b"{}",  # a header of 2^64 - 1 bytes
        (10**9).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"[]",
        (4).to_bytes(8, "little") + b"\xff\xfe{}",
        (40).to_bytes(8, "little") + b'{"__metadata__":{"note":"{","n":"1"}}   ',
    ],
)
def test_nonsense_is_no_entry(tmp_path, content):
    path = Cache(tmp_path).path("networks", "key")
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.warns(BenchWarning, match="can't be read"):
        assert Cache(tmp_path).load("networks", "key", lambda kept: kept) is None
    assert not path.exists()


@pytest.mark.parametrize("odd", ["a folder", "a pipe", "a link to nowhere", "a device"])
def test_whatever_stands_in_place_of_an_entry_is_moved_away_and_not_waited_for(tmp_path, odd):
    cache = Cache(tmp_path)
    path = cache.path("networks", "key")
    path.parent.mkdir()
    if odd == "a folder":
        (path / "inside").mkdir(parents=True)
    elif odd == "a pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("gone" if odd == "a link to nowhere" else "/dev/zero")
    with pytest.warns(BenchWarning, match=f"it is {odd}"):
        assert cache.load("networks", "key", lambda kept: kept) is None
    cache.store("networks", "key", {}, {"seconds": 2.0})
    assert cache.load("networks", "key", lambda kept: kept.note["seconds"]) == 2.0


def test_locks_that_can_not_be_held_stop_nothing(tmp_path):
    for name, what in (("a", "locks that are a file"), ("b", "a link to nowhere"), ("c", "a lock that is a folder")):
        locks = tmp_path / name / "locks"
        locks.parent.mkdir()
        if name == "a":
            locks.write_text(what)
        elif name == "b":
            locks.symlink_to("gone")
        else:
            (locks / "networks-key.lock").mkdir(parents=True)
        with Cache(tmp_path / name).lock("networks", "key"):
            pass


def test_savings_are_read_line_by_line(tmp_path):
    cache = Cache(tmp_path)
    lines = [b"networks 1.5", b"networks", b"\xff\xfe", b"networks nan", b"networks inf", b"networks -1", b"x 3", b""]
    (tmp_path / "saved.txt").write_bytes(b"\n".join(lines))
    cache.saved("networks", 2.0)
    cache.saved("features", 1.0)
    found = cache.savings()
    assert (found["networks"], found["features"]) == ([1.5, 2.0], [1.0])
    (tmp_path / "saved.txt").unlink()
    os.mkfifo(tmp_path / "saved.txt")
    cache.saved("networks", 2.0)
    assert not any(cache.savings().values())


class Interrupt(Listener):
    """Stops a run in the second epoch of its second round."""

    def epoch_finished(self, spec, progress):
        if progress.round == 1 and progress.epoch == 2:
            raise KeyboardInterrupt


@pytest.mark.parametrize("kind", ["networks", "checkpoints", "runs"])
def test_a_bit_that_turned_over_changes_no_record(tmp_path, registry, kind):
    """Of a network, of a training that was interrupted, and of a run that was."""
    specs = [spec_for(registry, "pl", loop__rounds=1, recipe__steps=3)]
    (expected,) = runner(tmp_path / "whole", cache=False).run(specs)
    with pytest.raises(KeyboardInterrupt):
        runner(tmp_path / "left", Interrupt(), every=0.0).run(specs)
    (path,) = (tmp_path / "left" / "cache" / kind).glob("*.safetensors")
    whole, draw = path.read_bytes(), random.Random(kind)
    header = 8 * (8 + int.from_bytes(whole[:8], "little"))
    places = [draw.randrange(header) for _ in range(5)] + [draw.randrange(8 * len(whole))]
    for number, place in enumerate(places):
        folder = shutil.copytree(tmp_path / "left", tmp_path / str(number))
        (folder / "cache" / kind / path.name).write_bytes(flipped(whole, place))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", BenchWarning)
            (record,) = runner(folder).run(specs)
        assert without_times(record) == without_times(expected)
        assert len([each for each in said if each.category is BenchWarning]) <= 1


def test_a_cache_that_is_no_folder_is_said_once_and_stops_nothing(tmp_path, registry):
    (tmp_path / "cache").write_text("a file")
    with pytest.warns(BenchWarning, match="nothing can be kept in the cache") as said:
        (record,) = runner(tmp_path, every=0.0).run([spec_for(registry, "pl")])
    assert record["status"] == "done"
    assert len(said) == 1
