"""How far an experiment is."""

from __future__ import annotations

import json
import shutil

import pytest

from harness import make_runner
from pseudobench import BenchError
from pseudobench.execution.status import seconds_left, states
from pseudobench.experiments.parsing import experiment_from, read_file
from pseudobench.experiments.resolving import resolve
from pseudobench.registry.components import installed
from pseudobench.storage.job_notes import End, JobNotes
from pseudobench.storage.plans import Plans
from pseudobench.storage.records import Store

FILE = """
methods = ["supervised", "pl"]
seeds = 2
preset = "smoke"
"""


@pytest.fixture(scope="module")
def all_done(tmp_path_factory):
    """The folder of an experiment whose runs are all done."""
    folder = tmp_path_factory.mktemp("done")
    (folder / "e.toml").write_text(FILE)
    plugins, registry = installed()
    specs = experiment_from(read_file(folder / "e.toml")).specs(registry)
    Plans(folder / "runs").put(specs)
    records = make_runner(folder / "runs", registry, plugins).run(specs)
    assert {record["status"] for record in records} == {"done"}
    return folder


@pytest.fixture
def half_done(bench, all_done, tmp_path):
    """One run is done, one failed, one was interrupted, and one was never begun."""
    shutil.copytree(all_done, tmp_path, dirs_exist_ok=True)
    paths = sorted((tmp_path / "runs").glob("*.json"))
    changes = [{"status": "running", "rounds": []}, None, {}, {"status": "failed", "error": {"message": "no luck"}}]
    for path, change in zip(paths, changes, strict=True):
        if change is None:
            path.unlink()
        else:
            path.write_text(json.dumps({**json.loads(path.read_text()), **change}))


def test_every_state_is_shown(bench, half_done):
    shown = bench("status", "e.toml")
    assert shown.code == 0
    rows = [[cell.strip() for cell in line.split("│")[3:-1]] for line in shown.out.splitlines() if line[:1] == "│"]
    assert rows == [["supervised", "1", "1", "–", "–"], ["pl", "–", "–", "1", "1"]]
    assert "failed: no luck" in shown.out
    assert "interrupted, 0 rounds done" in shown.out
    assert "time left about" in shown.out


def test_methods_are_listed_as_in_tables(bench, half_done):
    for command in (("status",), ("status", "e.toml"), ("table",)):
        out = bench(*command).out
        assert out.index(" supervised ") < out.index(" pl "), command


def test_a_folder_of_records_is_taken_as_results(bench, half_done):
    assert bench("status", "runs").out == bench("status").out
    twice = bench("status", "runs", "--results", "runs")
    assert (twice.code, twice.err.count("\n")) == (2, 1)
    assert "runs is a folder of records, and so is --results runs; name one" in twice.err


def test_rows_have_the_order_of_tables_whatever_the_file_has(bench, tmp_path):
    (tmp_path / "arms.toml").write_text(
        'preset = "smoke"\nseeds = 1\n'
        + "".join(
            f'[[arms]]\nmethods = "{method}"\ndataset = "{dataset}"\nlabels = "{labels}"\n'
            for method, dataset, labels in (
                ("pl", "digits-grid", "200,100"),
                ("pl", "digits", 40),
                ("supervised", "digits", 40),
            )
        )
    )
    out = bench("status", "arms.toml").out
    rows = [tuple(cell.strip() for cell in line.split("│")[1:4]) for line in out.splitlines() if line[:1] == "│"]
    assert rows == [
        ("digits", "40", "supervised"),
        ("digits", "40", "pl"),
        ("digits-grid", "100", "pl"),
        ("digits-grid", "200", "pl"),
    ]


def test_a_run_without_a_process_is_called_interrupted_everywhere(bench, half_done):
    (name,) = [line.split()[0] for line in bench("status").out.splitlines() if " interrupted, 0 rounds done" in line]
    assert f"{name}: interrupted" in bench("show", name).out
    assert f"{name}: interrupted" in bench("table").out
    without_file = bench("status").out
    assert "runs: 4 runs" in without_file  # the plan is kept with the records
    assert without_file.splitlines()[-1].startswith("1 of 4 done, 1 failed, 1 interrupted, 1 missing")
    listed = bench("table").out  # and the table says the same
    assert listed.count(": interrupted") == 1
    assert ": running" not in listed
    assert listed.count(": failed: no luck") == 1


def test_only_what_is_done_is_called_done(bench, half_done, tmp_path):
    last = bench("status", "e.toml").out.splitlines()[-1]
    assert last.startswith("1 of 4 done, 1 failed, 1 interrupted, 1 missing, time left about ")
    (tmp_path / "empty").mkdir()
    assert bench("status", "--results", "empty").out.splitlines()[-1] == "no runs yet"
    for path in (tmp_path / "runs").glob("*.json"):
        if json.loads(path.read_text())["status"] != "failed":
            path.unlink()
    assert bench("status").out.splitlines()[-1] == "0 of 4 done, 1 failed, 3 missing, time left not known yet"


def test_a_run_that_a_process_is_at_is_running(half_done, tmp_path):
    store, registry = Store(tmp_path / "runs"), installed()[1]
    asked = [resolve(registry, method="pl", dataset="digits", seed=seed, preset="smoke") for seed in (0, 1)]
    with store.claim(asked[0].run_id, wait=False) as claimed:
        assert claimed
        assert [run.state for run in states(store, asked)] == ["running", "missing"]
    assert [run.state for run in states(store, asked)] == ["interrupted", "missing"]


def test_a_run_in_a_folder_below_is_in_the_same_state_as_in_its_own(half_done, tmp_path):
    """Processes and jobs leave their marks beside the record, whichever folder is asked about."""
    running, queued = [
        resolve(installed()[1], method="pl", dataset="digits", seed=seed, preset="smoke") for seed in (0, 1)
    ]
    path = next((tmp_path / "runs").glob(f"{running.run_id}.json"))
    path.with_name(f"{queued.run_id}.json").write_text(path.read_text().replace(running.run_id, queued.run_id))
    JobNotes(tmp_path / "runs").put(queued.run_id, "12_1")
    with Store(tmp_path / "runs").claim(running.run_id, wait=False):
        for folder in ("runs", "."):
            found = {run.run_id: run.state for run in states(Store(tmp_path / folder), None)}
            assert (found[running.run_id], found[queued.run_id]) == ("running", "queued"), folder


def test_a_run_that_a_job_has_is_queued_until_it_has_ended(half_done, tmp_path):
    store, registry, notes = Store(tmp_path / "runs"), installed()[1], JobNotes(tmp_path / "runs")
    asked = [resolve(registry, method="pl", dataset="digits", seed=seed, preset="smoke") for seed in (0, 1)]
    notes.put(asked[1].run_id, "12_1")
    assert [run.state for run in states(store, asked)] == ["interrupted", "queued"]
    notes.put_end(asked[1].run_id, "it did not work out")
    assert [run.state for run in states(store, asked)] == ["interrupted", "missing"]
    assert notes.end(asked[1].run_id) == End("it did not work out")


def test_time_left_is_that_of_like_runs_shared_by_those_running(half_done, tmp_path):
    store, registry = Store(tmp_path / "runs"), installed()[1]
    asked = [resolve(registry, method="supervised", dataset="digits", seed=seed, preset="smoke") for seed in range(5)]
    runs = states(store, asked)
    assert [run.state for run in runs] == ["done", "failed", "missing", "missing", "missing"]
    assert seconds_left(runs) == pytest.approx(3 * runs[0].record["seconds"])
    assert seconds_left(runs[:2]) == 0
    assert seconds_left(runs[1:]) is None


def test_a_record_that_can_not_be_read_hides_no_other(bench, half_done, tmp_path):
    broken = next(path for path in (tmp_path / "runs").glob("*.json") if '"done"' in path.read_text())
    broken.write_text("{")
    shown = bench("status", "e.toml")
    assert shown.code == 0
    assert shown.err.count("\n") == 1
    assert f"{broken.relative_to(tmp_path)} is not a valid run record (broken JSON)" in shown.err
    assert "failed: no luck" in shown.out


@pytest.mark.parametrize("content", ["{", "[1]", "3", "", "[" * 100_000])
def test_notes_that_can_not_be_read_are_no_notes(tmp_path, content):
    notes = JobNotes(tmp_path)
    notes.put("x", "12")
    for kind in ("job", "ended"):
        (tmp_path / ".queue" / f"x.{kind}").write_text(content)
    assert notes.jobs() == {}
    assert notes.end("x") is None
    notes.forget("x")
    assert list((tmp_path / ".queue").iterdir()) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(BenchError, match="can't write"):
        JobNotes(tmp_path / "file").put("x", "12")
