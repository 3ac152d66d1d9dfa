"""The code as it is against earlier revisions of it, checked out beside: whole commands, in turns."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from measuring import Row, seconds

ROOT = Path(__file__).resolve().parents[2]
#: The last revision whose training loop knew no objectives.
WITHOUT_OBJECTIVES = "18f0f48"
#: The last revision that took one process unless told otherwise.
ONE_PROCESS = "2574e79"
#: Turns of each measurement; the least time counts, of trainings the median of ratios.
TURNS = 3


def rows(data_dir: Path) -> Iterator[Row]:
    """Training, a head's run, and the default comparison."""
    with checkout(WITHOUT_OBJECTIVES) as before:
        yield _training(before, data_dir)
    with checkout(ONE_PROCESS) as before, tempfile.TemporaryDirectory() as folder:
        features = Path(folder) / "features.npz"
        _make_features(features)
        yield _head(before, features)
        yield _command("the default comparison, 12 runs on `digits`", before, ["--seeds", "3"], "0.45", turns=1)


def _training(before: Path, data_dir: Path) -> Row:
    """The seconds of 300 steps: what 400 take more than 100, so that nothing but steps counts."""
    asked = ["--dataset", "cifar10", "--data-dir", str(data_dir), "--backbone", "cifar_cnn", "--methods", "supervised"]
    asked += ["--seeds", "1", "--set", "recipe.steps=50", "--set", "recipe.threads=1", "--set", "recipe.augment=weak"]
    asked += ["--set", "recipe.lr=0.1", "--set", "recipe.batch_size=128", "--set"]

    def steps(root: Path) -> float:
        long, short = (_fit_seconds(_record(root, [*asked, f"recipe.epochs={epochs}"])) for epochs in (8, 2))
        return long - short

    ratios = sorted(steps(ROOT) / steps(before) for _ in range(TURNS))
    shown = f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
    return Row(f"training `cifar_cnn`, 300 steps, against the loop of {WITHOUT_OBJECTIVES}", shown, "at most 1.02")


def _head(before: Path, features: Path) -> Row:
    """The seconds of a run by its record, without the start of the program, each side with its preset's recipe."""
    asked = ["--dataset", f"features:{features}", "--backbone", "linear", "--labels", "4000", "--seeds", "1"]
    asked += ["--methods", "ups", "--set", "loop.rounds=1", "--set", "recipe.epochs=20"]
    now = ["--set", "recipe.batch_size=512", "--set", "recipe.steps=12", "--set", "recipe.lr=0.03"]
    then = ["--set", "recipe.batch_size=128", "--set", "recipe.steps=50", "--set", "recipe.lr=0.01"]
    sides = ((ROOT, now), (before, then))
    times = [[float(_record(root, [*asked, *own])["seconds"]) for root, own in sides] for _ in range(TURNS)]
    ours, theirs = (min(each) for each in zip(*times, strict=True))
    what = "one `ups` run of a head on 50,000 x 1,280 features, by the preset's recipe of the time"
    return Row(f"{what}, against {ONE_PROCESS}", f"{ours / theirs:.2f}", "a third", f"{theirs:.1f} and {ours:.1f} s")


def _command(what: str, before: Path, asked: list[str], target: str, turns: int = TURNS) -> Row:
    """Seconds of a whole command, imports included, nothing in its cache."""
    times = [(seconds(lambda: _run(ROOT, asked)), seconds(lambda: _run(before, asked))) for _ in range(turns)]
    ours, theirs = (min(each) for each in zip(*times, strict=True))
    note = f"{theirs:.0f} and {ours:.0f} s"
    return Row(f"{what}, against {ONE_PROCESS}", f"{ours / theirs:.2f}", target, note)


def _run(root: Path, asked: list[str]) -> list[dict[str, Any]]:
    """The records that ``bench run`` writes with the code below ``root``."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pseudobench", "run", "--quiet", "--results", f"{folder}/runs", *asked]
        code = os.pathsep.join(str(root / part) for part in ("benchmark", "plugins"))
        here = {**os.environ, "PYTHONPATH": code, "PSEUDOBENCH_CACHE": f"{folder}/cache"}
        subprocess.run(command, check=True, capture_output=True, timeout=1800, env=here)
        return [json.loads(path.read_text()) for path in Path(folder, "runs").glob("*.json")]


def _record(root: Path, asked: list[str]) -> dict[str, Any]:
    (record,) = _run(root, asked)
    return record


def _fit_seconds(record: dict[str, Any]) -> float:
    return float(record["rounds"][0]["seconds"]["fit"])


def _make_features(path: Path) -> None:
    """Ten Gaussian clusters that overlap: 50,000 vectors to train on, 10,000 to test on."""
    draws = np.random.default_rng(0)
    centres = draws.normal(size=(10, 1280)).astype(np.float32)
    made = {}
    for part, count in (("train", 50_000), ("test", 10_000)):
        labels = draws.integers(10, size=count)
        noise = draws.normal(scale=12, size=(count, 1280)).astype(np.float32)
        made |= {f"{part}_x": centres[labels] + noise, f"{part}_y": labels}
    np.savez(path, **made)


@contextmanager
def checkout(revision: str) -> Iterator[Path]:
    """A folder with the code of an earlier revision."""
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", revision], cwd=ROOT, check=True, capture_output=True, timeout=60)
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True, timeout=60)
        yield Path(folder)
