"""No request that nobody asked for: every connection of a run is to this machine, with each tracker and executor."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest

ASK = ("run", "--preset", "smoke", "--methods", "supervised", "--seeds", "1", "--set", "recipe.threads=1")
CASES = {
    "plain": ((), {}),
    "in process": (("--in-process",), {}),
    "trackers": ((), {"PSEUDOBENCH_TENSORBOARD": "logs", "PSEUDOBENCH_MLFLOW": "sqlite:///mlflow.db"}),
    "ray": (("--executor", "ray"), {}),
    "slurm, locally": (("--executor", "slurm", "--slurm-cluster", "local"), {}),
}
HOME = re.compile(r"127\.\d+\.\d+\.\d+|0\.0\.0\.0|::1|::|::ffff:127\.\d+\.\d+\.\d+")


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed (as root: apt-get install strace)")
@pytest.mark.parametrize("case", CASES)
def test_every_connection_is_to_this_machine(tmp_path, case):
    options, variables = CASES[case]
    trace = ["strace", "-f", "-qq", "--seccomp-bpf", "-e", "trace=connect,sendto", "-o", str(tmp_path / "calls")]
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("MLFLOW_", "RAY_"))}
    done = subprocess.run(
        [*trace, sys.executable, "-m", "pseudobench", *ASK, *options],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**clean, **variables, "PSEUDOBENCH_CACHE": str(tmp_path / "cache")},
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    calls = (tmp_path / "calls").read_text(errors="replace")
    addresses = re.findall(r'inet_addr\("([^"]+)"\)|inet_pton\(AF_INET6, "([^"]+)"', calls)
    found = {one or other for one, other in addresses}
    assert {each for each in found if not HOME.fullmatch(each)} == set()
