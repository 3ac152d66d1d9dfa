from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch

from pseudobench.cli.main import main
from pseudobench.registry.components import installed

if TYPE_CHECKING:
    from collections.abc import Callable

    from pseudobench.registry.components import Registry

REFERENCE = Path(__file__).parent / "reference"
#: Files whose tests are few and long: begun first, so that no process is left alone with them at the end.
LONGEST = (
    *("test_documents", "test_example", "test_image_tables", "test_interruptions", "test_isolation"),
    *("test_network_calls", "test_plugin_guide", "test_ray", "test_readme", "test_slurm"),
)


def pytest_configure(config: pytest.Config) -> None:
    # Ray would listen on the network otherwise. It reads this when it is imported.
    os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    # In processes that tests start, threads that wait for each other would keep a core busy that other tests need.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    # A shell ignores interrupts on behalf of its background jobs, and processes that tests start would inherit that.
    with suppress(ValueError):  # not in a main thread
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(config.option, "loadscopereorder"):  # pytest-xdist would begin with the files of most tests
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.stem not in LONGEST)


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture
def registry() -> Registry:
    return installed()[1]


@pytest.fixture
def reference() -> Callable[[str], dict[str, torch.Tensor]]:
    def load(case: str) -> dict[str, torch.Tensor]:
        with np.load(REFERENCE / f"{case}.npz") as arrays:
            return {name: torch.from_numpy(array) for name, array in arrays.items()}

    return load


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def bench(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Outcome]:
    """The command line, in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PSEUDOBENCH_RESULTS", raising=False)
    monkeypatch.setenv("PSEUDOBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "300")

    def call(*arguments: str) -> Outcome:
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main(list(arguments))
        captured = capsys.readouterr()
        return Outcome(int(stop.value.code or 0), captured.out, captured.err)

    return call
