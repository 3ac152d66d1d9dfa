"""Records of whole runs: the same again, not made twice, and complete."""

from __future__ import annotations

import json

import torch
from digits_runs import DATA, runner, spec_for

from pseudobench.contracts.events import Listener
from pseudobench.contracts.run_spec import RunSpec
from pseudobench.experiments.splits import split_for
from pseudobench.storage.records import FORMAT, Store, without_times


def test_same_spec_same_record_other_seed_other_split(tmp_path, registry):
    specs = [spec_for(registry, "ups-raps", seed) for seed in (0, 1)]
    first = runner(tmp_path / "a").run(specs)
    second = runner(tmp_path / "b").run(specs)
    for one, other in zip(first, second, strict=True):
        assert json.dumps(without_times(one)) == json.dumps(without_times(other))
    assert first[0]["split"]["sha256"] != first[1]["split"]["sha256"]
    assert without_times(first[0]) == without_times(Store(tmp_path / "a").load(first[0]["run_id"]))


def test_a_finished_run_is_not_run_again_unless_forced(tmp_path, registry):
    started = []

    class Count(Listener):
        def run_started(self, spec):
            started.append(spec.run_id)

    specs = [spec_for(registry, "supervised")]
    for force, expected in ((False, 1), (False, 1), (True, 2)):
        runner(tmp_path, Count(), force).run(specs)
        assert len(started) == expected


def test_an_unfinished_record_is_run_again(tmp_path, registry):
    spec = spec_for(registry, "supervised")
    (record,) = runner(tmp_path).run([spec])
    Store(tmp_path).save({**record, "status": "running", "rounds": []})
    (again,) = runner(tmp_path).run([spec])
    assert again["status"] == "done"
    assert without_times(again) == without_times(record)


def test_a_record_holds_what_made_it(tmp_path, registry):
    spec = spec_for(registry, "ups-raps-held-out")
    (record,) = runner(tmp_path).run([spec])
    assert record["format"] == FORMAT
    assert record["spec"]["settings"]["ups"]["tau_p"] == 0.7
    assert record["spec"]["settings"]["recipe"]["steps"] == 30
    assert record["split"]["labeled"] == 80
    assert split_for(RunSpec.from_json(record["spec"]), DATA).digest == record["split"]["sha256"]
    environment = record["environment"]
    assert environment["versions"]["torch"] == torch.__version__.partition("+")[0]
    assert environment["threads"] == 1
    assert environment["plugins"]["ups"] == f"pseudobench {environment['versions']['pseudobench']}"
    assert environment["deterministic"] is True
    assert str(tmp_path) not in json.dumps(record)
