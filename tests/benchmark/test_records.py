"""Records on disk: whole or not at all, foreign ones refused."""

from __future__ import annotations

import json

import pytest

from pseudobench import BenchError
from pseudobench.storage.records import FORMAT, KIND, Store, read_record


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "broken JSON"),
        ('{"kind": "pseudobench.run", "format": 1}', "not a whole run record"),
        ('{"kind": "pseudobench.run", "format": 99}', "record format 99, this pseudobench reads 1"),
    ],
)
def test_foreign_records_are_refused(tmp_path, content, message):
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(BenchError, match=message):
        list(Store(tmp_path).records())


def test_other_json_may_lie_beside_records(tmp_path):
    (tmp_path / "figure.json").write_text("[1, 2]")
    (tmp_path / "other.json").write_text('{"kind": "something else"}')
    assert list(Store(tmp_path).records()) == []
    with pytest.raises(BenchError, match="not a run record"):
        read_record(tmp_path / "figure.json")


def test_the_same_run_twice_is_refused(tmp_path):
    keys = ("status", "spec", "split", "environment", "rounds", "error", "seconds")
    record = {"kind": KIND, "format": FORMAT, "run_id": "x", **dict.fromkeys(keys)}
    Store(tmp_path).save(record)
    (tmp_path / "backup").mkdir()
    Store(tmp_path / "backup").save(record)
    with pytest.raises(BenchError, match="are the same run; move one of them away"):
        list(Store(tmp_path).records())


def test_a_record_is_written_whole_or_not_at_all(tmp_path):
    store = Store(tmp_path)
    store.save({"run_id": "x", "value": 1})
    with pytest.raises(ValueError, match="not JSON compliant"):
        store.save({"run_id": "x", "value": float("nan")})
    with pytest.raises(TypeError):
        store.save({"run_id": "x", "value": object()})
    assert json.loads((tmp_path / "x.json").read_text())["value"] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]
