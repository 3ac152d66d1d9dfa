"""Distributions of a third party: built, installed into a fresh environment, and run from the command line.

One is made for version 1 of the plugin API, the other for version 2.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

#: Folder of a distribution to the name of its wheel.
EXAMPLES = {
    "example": "pseudobench_percentile-0.3.0-py3-none-any.whl",
    "example2": "pseudobench_students-0.1.0-py3-none-any.whl",
}


@dataclass(frozen=True)
class Environment:
    """A virtual environment. What these tests run with is seen from it, and what it installs is not seen from here."""

    folder: Path

    def run(self, program, *arguments, code=0):
        command = [str(self.folder / "env" / "bin" / program), *map(str, arguments)]
        variables = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PSEUDOBENCH_"))}
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=self.folder, env={**variables, "COLUMNS": "200"}, timeout=300
        )
        assert done.returncode == code, (command, done.stdout, done.stderr)
        return done.stdout

    def pip(self, command, *arguments):
        """Our own pip, executed by the environment's Python: it is seen from there, and need not be installed."""
        self.run("python", "-m", "pip", command, "-q", *arguments)


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    made = Environment(tmp_path_factory.mktemp("stranger"))
    venv.create(made.folder / "env", symlinks=True)
    packages = Path(made.run("python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    ours = sysconfig.get_path("purelib")  # torch is not downloaded again: our packages are added to its own
    (packages / "ours.pth").write_text(f"import site; site.addsitedir({ours!r})\n")
    bench = made.folder / "env" / "bin" / "bench"
    python = made.folder / "env" / "bin" / "python"
    start = 'if __name__ == "__main__":\n    main()\n'  # as pip writes it: workers import this file too
    bench.write_text(f"#!{python}\nfrom pseudobench.cli.main import main\n\n{start}")
    bench.chmod(0o755)
    return made


@pytest.fixture(scope="module")
def installed(environment):
    """The environment with the wheels in it."""
    assert "percentile" not in environment.run("bench", "plugins")
    wheels, sources = environment.folder / "wheels", [environment.folder / "source" / name for name in EXAMPLES]
    for source in sources:
        shutil.copytree(Path(__file__).parent / source.name, source)  # building leaves files beside the source
    build = ("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", wheels, *sources)
    command = [sys.executable, "-m", "pip", "-q", *map(str, build)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    assert {wheel.name for wheel in wheels.iterdir()} == set(EXAMPLES.values())
    environment.pip("install", "--no-deps", "--no-index", *wheels.iterdir())
    return environment


def test_it_is_listed_and_sound(installed):
    plugins = installed.run("bench", "plugins", "--check")
    (line,) = (line for line in plugins.splitlines() if "pseudobench-percentile 0.3.0" in line)
    assert "percentile-labeling" in line
    listed = installed.run("bench", "list", "percentile")
    assert "step" in listed
    assert "percentiles of the pool that each round adds" in listed
    assert "percentile" in installed.run("bench", "plugin", "check", "pseudobench_percentile")


def test_it_is_a_row_of_the_table_beside_ups(installed):
    quick = ("--preset", "smoke", "--seeds", "2", "--set", "loop.rounds=2", "--set", "loop.settle=0")
    methods = ("--methods", "ups,percentile-labeling")
    table = installed.run("bench", "run", *methods, *quick, "--set", "percentile.step=30")
    assert "percentile-labeling" in table
    records = [
        json.loads(path.read_text()) for path in (installed.folder / "runs").glob("*-percentile-labeling-*.json")
    ]
    assert len(records) == 2
    for record in records:
        assert record["environment"]["plugins"]["percentile"] == "pseudobench-percentile 0.3.0"
        shares = [each["selection"]["positive_share"] for each in record["rounds"][1:]]
        assert shares == [pytest.approx(0.3, abs=0.01), pytest.approx(0.6, abs=0.01)]
    markdown = installed.run("bench", "table", "--columns", "accuracy,positives", "--format", "markdown")
    assert "| positives |" in markdown


def test_version_2_is_listed_sound_and_run(installed):
    assert "pseudobench-students 0.1.0" in installed.run("bench", "plugins", "--check")
    checked = installed.run("bench", "plugin", "check", "pseudobench_students")
    assert "goes on from its state" in checked
    assert "broken" not in checked.split("0 broken")[1]
    quick = ("--preset", "smoke", "--seeds", "1", "--set", "calibration.folds=2")
    installed.run("bench", "run", "--methods", "percentile-labeling,growing-student,fixmatch", *quick)
    (path,) = (installed.folder / "runs").glob("*-growing-student-*.json")
    record = json.loads(path.read_text())
    assert record["status"] == "done"
    assert record["spec"]["stages"]["objective"] == "balanced-average"
    assert record["spec"]["settings"]["calibration"]["policy"] == "cross"
    assert [each["selection"]["calibration_points"] for each in record["rounds"][1:]] == [40, 40]


def test_its_parameters_are_checked(installed):
    done = subprocess.run(
        [
            str(installed.folder / "env" / "bin" / "bench"),
            "run",
            "--methods",
            "percentile-labeling",
            "--set",
            "percentile.step=0",
        ],
        capture_output=True,
        text=True,
        cwd=installed.folder,
        timeout=120,
    )
    assert done.returncode == 2
    assert "percentile.step" in done.stderr


def test_taken_out_again_nothing_of_it_is_left(installed):
    installed.pip("uninstall", "-y", "pseudobench-percentile", "pseudobench-students")
    left = installed.run("bench", "plugins", "--check")
    assert "percentile" not in left
    assert "students" not in left
