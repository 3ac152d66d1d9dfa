"""Records on disk: whole or not at all, valid or left out with a line that says why."""

from __future__ import annotations

import json
import os
import resource
import socket
import subprocess
import sys
import warnings
from dataclasses import fields
from pathlib import Path

import pytest
from made_up import record

from committed import committed
from pseudobench import BenchError, BenchWarning
from pseudobench.contracts.run_spec import RunSpec
from pseudobench.storage import record_schema
from pseudobench.storage.packs import packs_of
from pseudobench.storage.predictions import load_correct
from pseudobench.storage.records import Store, read_record

RESULTS = Path(__file__).parents[2] / "results"
GOOD = record("pl", 0, 0.5)


def changed(path, value):
    """A valid record with another value at a path of keys; ``...`` removes the key."""
    made = json.loads(json.dumps(GOOD))
    at = made
    for key in path[:-1]:
        at = at[key]
    if value is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return made


INVALID = [
    ("{", "broken JSON"),
    (b'{"kind": "\xff"}', "broken JSON"),
    ('{"kind": "pseudobench.run", "format": 1}', "missing required field `run_id`"),
    ('{"kind": "pseudobench.run", "format": 99}', "record format 99, this pseudobench reads 1"),
    ('{"kind": "pseudobench.run", "format": [1]}', "record format"),
    (changed(["rounds"], None), "at `rounds`"),
    (changed(["rounds", 0, "test", "accuracy"], "0.5"), r"Expected `float`, got `str`, at `rounds\[0\].test.accuracy`"),
    (changed(["rounds", 0, "test", "accuracy"], None), r"at `rounds\[0\].test.accuracy`"),
    (changed(["rounds", 0, "test", "accuracy"], 1e20), r"at `rounds\[0\].test.accuracy`"),
    (changed(["rounds", 0, "test", "accuracy"], ...), r"neither accuracy nor map, at `rounds\[0\].test`"),
    (changed(["spec", "seed"], 2**64), "at `spec`"),
    (changed(["spec", "seed"], 1.0), "at `spec.seed`"),
    (changed(["spec", "labels"], True), "at `spec.labels`"),
    (changed(["spec", "settings"], ["recipe"]), "at `spec.settings`"),
    (changed(["spec", "colour"], "red"), "unknown field `colour`, at `spec`"),
    (changed(["run_id"], "../../x"), "at `run_id`"),
    (changed(["status"], "fine"), "at `status`"),
    (changed(["status"], "failed"), "failed, without an error"),
]


@pytest.mark.parametrize(("content", "reason"), INVALID)
def test_an_invalid_record_is_a_line_and_hides_no_other(tmp_path, content, reason):
    store = Store(tmp_path)
    store.save(GOOD)
    content = json.dumps(content) if isinstance(content, dict) else content
    (tmp_path / "x.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.warns(BenchWarning, match=reason) as said:
        assert list(store.records()) == [GOOD]
    assert len(said) == 1
    assert str(said[0].message).startswith(f"left out: {tmp_path / 'x.json'} ")
    with pytest.raises(BenchError, match=reason):
        read_record(tmp_path / "x.json")


def test_every_record_of_this_project_is_valid():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = {record["run_id"]: record for record in Store(RESULTS).records()}
    assert len(found) > 1000
    packs = [pack for folder in RESULTS.iterdir() for pack in packs_of(folder)]
    packed = {run_id: line for pack in packs for run_id, line in pack.records.items()}
    loose = {path.stem: path.read_bytes() for path in RESULTS.rglob("*.json")}
    assert len(packed) + len(loose) == len(found)
    for run_id, content in list((packed | loose).items())[::100]:
        assert found[run_id] == json.loads(content)  # with every key


def test_every_prediction_of_this_project_agrees_with_its_record():
    checked = 0
    for each in Store(RESULTS).records():
        test = each["rounds"][-1]["test"]
        if each.get("predictions") and "accuracy" in test:
            correct = load_correct(each.folder, each["predictions"])
            assert correct.mean() == pytest.approx(test["accuracy"], abs=1e-9), each["run_id"]
            checked += 1
    assert checked > 1000


def test_the_schema_has_the_fields_of_a_spec():
    assert {each.name for each in fields(RunSpec)} == set(record_schema.Spec.__struct_fields__)


def test_other_json_may_lie_beside_records(tmp_path):
    (tmp_path / "figure.json").write_text("[1, 2]")
    (tmp_path / "other.json").write_text('{"kind": "something else"}')
    assert list(Store(tmp_path).records()) == []
    with pytest.raises(BenchError, match="not a run record"):
        read_record(tmp_path / "figure.json")


def test_whatever_stands_in_place_of_a_record_is_named_and_not_waited_for(tmp_path):
    store = Store(tmp_path)
    store.save(GOOD)
    (tmp_path / "folder.json").mkdir()
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "nowhere.json").symlink_to("gone")
    (tmp_path / "loop.json").symlink_to("loop.json")
    (tmp_path / "device.json").symlink_to("/dev/zero")
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(10**10)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket.json"))
    with pytest.warns(BenchWarning, match=r"\.json") as said:
        assert list(store.records()) == [GOOD]
    lines = sorted(str(each.message).removeprefix(f"left out: {tmp_path}/") for each in said)
    assert [line.split(",")[0] for line in lines if "large" not in line and "loop" not in line] == [
        "device.json is a device",
        "folder.json is a folder",
        "nowhere.json is a link to nowhere",
        "pipe.json is a pipe",
        "socket.json is a socket",
    ]
    assert len(lines) == 7
    with pytest.raises(BenchError, match="is a link to nowhere"):
        store.load("nowhere")
    with pytest.raises(BenchError, match="is a pipe"):
        store.find("pipe")


def test_a_run_that_lies_in_two_folders_is_found_by_its_id(tmp_path):
    for folder in ("b", "a"):
        (tmp_path / folder).mkdir()
        Store(tmp_path / folder).save(GOOD)
    assert Store(tmp_path).find(GOOD["run_id"]).folder == tmp_path / "a"


def test_of_two_files_of_a_run_the_first_is_taken(tmp_path):
    other = changed(["rounds", 0, "test", "accuracy"], 0.75)
    for folder, each in (("a", other), ("b", GOOD)):
        (tmp_path / folder).mkdir()
        Store(tmp_path / folder).save(each)
    with pytest.warns(BenchWarning, match=r"a/.* and .*b/.* are the same run; the first is taken") as said:
        assert list(Store(tmp_path).records()) == [other]
    assert len(said) == 1


def test_a_record_under_the_name_of_another_run_is_not_its_record(tmp_path):
    Store(tmp_path).save(GOOD)
    Store(tmp_path).path(GOOD["run_id"]).rename(tmp_path / "y.json")
    with pytest.raises(BenchError, match="is the record of another run"):
        Store(tmp_path).load("y")


def test_a_record_is_written_whole_or_not_at_all(tmp_path):
    store = Store(tmp_path)
    store.save(GOOD)
    path = store.path(GOOD["run_id"])
    before = path.read_bytes()
    for value in (float("nan"), float("inf"), object(), "text"):
        with pytest.raises(BenchError, match="can't be kept"):
            store.save(changed(["rounds", 0, "test", "accuracy"], 0.5) | {"seconds": value})
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_half_characters_are_written_as_escapes(tmp_path):
    """Such as Python makes of a file name that is no UTF-8."""
    store = Store(tmp_path)
    odd = {**GOOD, "status": "failed", "error": {"message": "can't read \udcff\U0001f600", "where": "\ud800"}}
    store.save(odd)
    assert store.load(GOOD["run_id"])["error"] == {"message": "can't read \\udcff\U0001f600", "where": "\\ud800"}


@pytest.mark.parametrize("what", ["a file", "a link to nowhere", "a claim that is a folder", "a claim that is a pipe"])
def test_a_run_that_can_not_be_claimed_is_run_all_the_same(tmp_path, what):
    store, claims = Store(tmp_path), tmp_path / ".claims"
    if what == "a file":
        claims.write_text("")
    elif what == "a link to nowhere":
        claims.symlink_to("gone")
    elif what == "a claim that is a folder":
        (claims / "x.lock").mkdir(parents=True)
    else:
        claims.mkdir()
        os.mkfifo(claims / "x.lock")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with store.claim("x", wait=True) as claimed:
            assert claimed
        assert not store.is_claimed("x")
    assert all("two commands may do the same run" in str(each.message) for each in said)


FULL = """
import resource, sys, torch
from pathlib import Path
from pseudobench import BenchError
from pseudobench.base.paths import write_output
from pseudobench.storage.cache import Cache
from pseudobench.storage.records import Store, read_record
record = read_record(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
folder = Path(sys.argv[2])
for write in (lambda: Store(folder / "runs").save(record), lambda: write_output(folder / "runs" / "x", bytes(2000))):
    try:
        write()
    except BenchError as error:
        assert "can't write" in str(error), error
    else:
        raise AssertionError
Cache(folder / "cache").store("networks", "x", {"w": torch.zeros(1000)}, {"seconds": 1.0})
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="needs a limit on the size of files")
def test_a_disk_that_is_full_half_way_leaves_no_part_of_a_file(tmp_path):
    (tmp_path / "runs").mkdir()
    some = tmp_path.parent / f"{tmp_path.name}.json"
    some.write_text(json.dumps(committed("first")[0]))
    done = subprocess.run([sys.executable, "-c", FULL, str(some), str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("nothing can be kept in the cache") == 1
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
