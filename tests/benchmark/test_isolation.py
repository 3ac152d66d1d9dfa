"""A plugin can't end, fake or damage the harness: whatever it does is one failed run, and the others finish."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
import torch

from harness import make_runner
from pseudobench.contracts.events import Listener
from pseudobench.execution.workers import Lines
from pseudobench.experiments.resolving import resolve
from pseudobench.registry.components import installed
from pseudobench.storage.records import Store, without_times

HOSTILE = '''
import os, signal, sys, time
from dataclasses import dataclass
from typing import ClassVar
from pseudobench import Selection, hookimpl


class Strange(BaseException):
    pass


def leave(how):
    if how == "exit":
        sys.exit(0)
    if how == "now":
        os._exit(0)
    if how == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    if how == "realtime":
        os.kill(os.getpid(), 40)
    if how == "strange":
        raise Strange("out of here")
    if how == "hang":
        time.sleep(600)


@dataclass(frozen=True)
class Hostile:
    """Leaves as its name says."""
    name: ClassVar[str] = "hostile-stay"
    needs_sets: ClassVar[bool] = False

    def select(self, estimate, labels, sets, context):
        print("a line on standard output")
        leave(self.name.partition("-")[2])
        positive = labels.target & False
        return Selection(positive, positive)


@hookimpl
def bench_selectors():
    others = ("exit", "now", "segfault", "realtime", "strange", "hang")
    return [Hostile, *(type(how, (Hostile,), {"name": f"hostile-{how}"}) for how in others)]


@hookimpl
def bench_round_finished(spec, round):
    round.clear()
'''
ASK = ("--preset", "smoke", "--seeds", "1", "--set", "recipe.threads=1")


def bench(folder, ways, *arguments, expected=1):
    """A run of pl, and one of a hostile selector for each way to leave: what was printed, and records by method."""
    (folder / "hostile.py").write_text(HOSTILE)
    methods = ",".join([*(f"softmax+hard+hostile-{how}" for how in ways), "pl"])
    done = subprocess.run(
        [sys.executable, "-m", "pseudobench", "run", *ASK, "--methods", methods, "--plugin", "hostile.py", *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PSEUDOBENCH_CACHE": str(folder / "cache")},
        timeout=300,
    )
    assert done.returncode == expected, done.stderr
    assert "Traceback" not in done.stderr
    return done, {record["spec"]["method"]: record for record in Store(folder / "runs").records()}


ENDS = {
    "exit": "selector 'hostile-exit' of plugin 'hostile' (a file hostile.py): SystemExit: 0",
    "now": "its process ended with exit code 0",
    "segfault": "its process was ended by SIGSEGV",
    "realtime": "its process was ended by signal 40",
    "strange": "selector 'hostile-strange' of plugin 'hostile' (a file hostile.py): Strange: out of here",
}


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """One command with a run for each end."""
    return bench(tmp_path_factory.mktemp("ends"), ENDS)


@pytest.mark.parametrize("how", ENDS)
def test_any_end_of_a_run_is_one_failed_row_and_the_others_finish(ended, how):
    done, records = ended
    assert records[f"softmax+hard+hostile-{how}"]["status"] == "failed"
    assert records[f"softmax+hard+hostile-{how}"]["error"]["message"] == ENDS[how]
    assert records["pl"]["status"] == "done"
    assert ENDS[how] in " ".join(done.stdout.split())


def test_a_failed_run_points_to_what_shows_it(ended):
    done, records = ended
    failed = records["softmax+hard+hostile-exit"]["run_id"]
    assert f"next: bench show {failed}" in done.stdout.splitlines()


def test_a_run_that_hangs_is_ended_by_the_timeout(tmp_path):
    _, records = bench(tmp_path, ["hang"], "--timeout", "15")
    assert records["softmax+hard+hostile-hang"]["error"]["message"] == "it took longer than the 15 s of --timeout"
    assert records["pl"]["status"] == "done"


def test_in_process_an_exit_is_a_failed_run_too(tmp_path):
    _, records = bench(tmp_path, ["exit"], "--in-process")
    assert [records[name]["status"] for name in ("softmax+hard+hostile-exit", "pl")] == ["failed", "done"]


def test_listeners_can_not_change_a_record_and_prints_do_not_reach_json(tmp_path):
    done, records = bench(tmp_path, ["stay"], "--json", expected=0)
    assert all(each["rounds"][-1]["test"]["accuracy"] > 0 for each in records.values())
    assert {row["status"] for row in json.loads(done.stdout)} == {"done"}
    assert "a line on standard output" in done.stderr.splitlines()


def test_prints_do_not_reach_json_in_process_either(tmp_path):
    done, _ = bench(tmp_path, ["stay"], "--json", "--in-process", expected=0)
    assert {row["status"] for row in json.loads(done.stdout)} == {"done"}
    assert "a line on standard output" in done.stderr.splitlines()


def test_what_a_process_prints_comes_in_whole_lines():
    """Written to the terminal in pieces, or in the middle of a bar, it could not be read."""
    sent = []
    lines = Lines(sent.append)
    print("one", 1, end=", ", file=lines)
    print("two\nthree", file=lines)
    print("the end has no newline", end="", file=lines)
    assert sent == [("printed", "one 1, two"), ("printed", "three")]
    lines.flush()
    assert sent == [("printed", "one 1, two"), ("printed", "three")]
    lines.close()
    assert sent[-1] == ("printed", "the end has no newline")


def test_a_plugin_that_exits_at_import_is_named(tmp_path):
    (tmp_path / "leaving.py").write_text("import sys\nsys.exit(0)\n")
    done = subprocess.run(
        [sys.executable, "-m", "pseudobench", "list", "methods"],
        capture_output=True,
        text=True,
        env={**os.environ, "PSEUDOBENCH_PLUGINS": str(tmp_path / "leaving.py"), "COLUMNS": "200"},
    )
    assert done.returncode == 2
    assert "leaving.py can't be used: SystemExit: 0" in done.stderr


def test_modules_of_pythons_names_in_the_current_folder_are_not_imported(tmp_path):
    for name in ("selectors", "random", "socket"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('not this one')\n")
    command = [str(Path(sys.executable).with_name("bench")), "run", *ASK, "--methods", "supervised", "--jobs", "2"]
    environment = {**os.environ, "PSEUDOBENCH_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_where_no_process_can_be_started_that_is_what_is_said(bench, monkeypatch):
    from multiprocessing.process import BaseProcess

    def refuse(self):
        raise EOFError

    monkeypatch.setattr(BaseProcess, "start", refuse)
    done = bench("run", *ASK, "--methods", "supervised", "--jobs", "1")
    assert done.code == 2
    assert done.err.splitlines()[-1].startswith("error: no process can be started (EOFError")


def quick(registry, **settings):
    common = {"recipe.epochs": 2, "recipe.steps": 10, "recipe.threads": 1, "loop.rounds": 1, **settings}
    return resolve(registry, method="pl", dataset="digits", seed=0, settings=common)


def test_a_listener_that_raises_does_not_fail_the_run(tmp_path, registry):
    class Broken(Listener):
        def round_finished(self, spec, round_):
            raise ValueError("no screen")

    with pytest.warns(match="progress can't be shown: ValueError: no screen"):
        (record,) = make_runner(tmp_path, registry, installed()[0], Broken()).run([quick(registry)])
    assert record["status"] == "done"


def test_force_with_a_process_that_dies_keeps_the_finished_record(tmp_path, registry):
    class Dying:
        def execute(self, batch):
            for spec in batch.specs:
                yield spec, "its process was ended by SIGKILL"

    spec = quick(registry)
    (done,) = make_runner(tmp_path, registry, installed()[0]).run([spec])
    (failed,) = make_runner(tmp_path, registry, installed()[0], executor=Dying(), force=True).run([spec])
    assert failed["status"] == "failed"
    assert Store(tmp_path).load(spec.run_id) == done


def test_a_run_leaves_torch_as_it_was(tmp_path, registry):
    torch.set_num_threads(2)
    make_runner(tmp_path, registry, installed()[0]).run([quick(registry)])
    assert torch.get_num_threads() == 2
    assert not torch.are_deterministic_algorithms_enabled()


def test_a_killed_command_leaves_runs_that_go_on(tmp_path, registry):
    """Its workers notice that nobody listens, and leave the run to be resumed: interrupted, not failed."""
    settings = ("--set", "recipe.epochs=40", "--set", "recipe.steps=20", "--set", "recipe.threads=1")
    asked = ("run", "--methods", "pl", "--seeds", "2", "--jobs", "2", "--set", "loop.rounds=2", *settings)
    environment = {**os.environ, "PSEUDOBENCH_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "pseudobench", *asked]
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "round 0" in line:
                break
        process.send_signal(signal.SIGKILL)
    store = Store(tmp_path / "runs")
    until = time.monotonic() + 60
    while any(store.is_claimed(run_id) for run_id in store.run_ids()) and time.monotonic() < until:
        time.sleep(0.2)
    assert {record["status"] for record in store.records()} == {"interrupted"}
    status = subprocess.run(
        [sys.executable, "-m", "pseudobench", "status"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert "interrupted" in status.stdout
    assert "all done" not in status.stdout
    again = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    resumed = {record["run_id"]: record for record in store.records()}
    alone = subprocess.run([*command, "--results", "alone", "--no-cache"], cwd=tmp_path, env=environment)
    assert alone.returncode == 0
    for record in Store(tmp_path / "alone").records():
        assert without_times(record) == without_times(resumed[record["run_id"]])
    assert any(record["resumed_after"] is not None for record in resumed.values())


def test_an_early_interruption_is_one_line(tmp_path):
    command = [sys.executable, "-m", "pseudobench", "run", "--jobs", "2", "--results", str(tmp_path / "runs")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        until = time.monotonic() + 60
        while "torch" not in Path(f"/proc/{process.pid}/maps").read_text() and time.monotonic() < until:
            time.sleep(0.05)  # it is at its imports
        for _ in range(20):  # some libraries swallow an interrupt while they are imported: one presses again
            os.killpg(process.pid, signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                _, errors = process.communicate(timeout=5)
                break
    assert process.returncode == 130
    lines = [line for line in errors.splitlines() if line.strip()]
    assert "Traceback" not in errors
    assert lines[-1].startswith("error: stopped")
