"""Many runs: two at a time, on Ray, and ten thousand that do next to nothing."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from measuring import Row, seconds

from pseudobench.analysis.arms import arms_of
from pseudobench.analysis.run_facts import pick_columns, read_facts
from pseudobench.analysis.tables import summarize
from pseudobench.contracts.events import Listener
from pseudobench.contracts.executing import RunnerConfig
from pseudobench.contracts.run_spec import RunSpec
from pseudobench.execution.runner import Runner
from pseudobench.experiments.resolving import resolve
from pseudobench.registry.components import installed
from pseudobench.storage.records import Store

#: One step on one image: what is left is the harness.
NOTHING = {"recipe.epochs": 1, "recipe.steps": 1, "recipe.batch_size": 1, "recipe.threads": 1}
RUNS = 10_000


def rows(data_dir: Path) -> Iterator[Row]:
    """A batch of small runs in three ways, then the harness by itself."""
    yield from _throughput()
    yield from _harness()


def _throughput() -> Iterator[Row]:
    """The embedded dataset, one thread for a run as its preset has it: what a second core is worth."""
    what = "16 small runs on `digits`"
    serial, jobs = _command(["--jobs=1"]), _command(["--jobs=2"])
    ratio, note = f"{jobs / serial:.2f}", f"{serial:.0f} and {jobs:.0f} s"
    yield Row(f"{what}, `--jobs 2` against one after another", ratio, "at most 0.6", note)
    ray = _command(["--executor=ray", "--ray-cpus=1"])
    ratio, note = f"{ray / jobs:.2f}", f"{ray - jobs:+.0f} s"
    yield Row(f"{what}, `--executor ray` on the same two cores against `--jobs 2`", ratio, "", note)


def _command(options: list[str]) -> float:
    """Seconds of a whole ``bench run``, imports included."""
    with tempfile.TemporaryDirectory() as folder:
        asked = ["--methods=pl", "--set=loop.rounds=1", "--seeds=16", "--quiet", "--no-cache", f"--results={folder}"]
        command = [sys.executable, "-m", "pseudobench", "run", *asked, *options]
        return seconds(lambda: subprocess.run(command, check=True, capture_output=True, timeout=1800))


def _harness() -> Iterator[Row]:
    """Runs that train for one step, through the runner to the table."""
    plugins, registry = installed()
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "runs")
        config = RunnerConfig(store.folder, Path(folder), cache=Path(folder) / "cache", device="cpu")
        runner = Runner(config, registry, plugins, Listener())
        specs: list[RunSpec] = []
        make = seconds(lambda: specs.extend(_spec(seed) for seed in range(RUNS)))
        run = seconds(lambda: runner.run(specs))
        what = f"{RUNS:,} runs of one step"
        yield Row(f"{what}: a run, all of the harness included", f"{1000 * (make + run) / RUNS:.1f} ms", "")
        again = seconds(lambda: runner.run(specs))
        columns = pick_columns(registry, ("accuracy", "ece"))
        table = seconds(lambda: summarize(arms_of(read_facts(store.records(), registry), registry), columns))
        size = sum(path.stat().st_size for path in store.folder.glob("*.json"))
    yield Row(f"{what}: asked for again, when all are done", f"{again:.1f} s", "")
    note = f"{size / RUNS:,.0f} bytes each"
    yield Row(f"{what}: their table from the records", f"{table:.1f} s", "a few seconds", note)


def _spec(seed: int) -> RunSpec:
    return resolve(installed()[1], method="supervised", dataset="digits", seed=seed, settings=NOTHING)
