"""How many runs go side by side if nobody says."""

import pytest

from pseudobench.execution import processes
from pseudobench.experiments.parsing import check_jobs
from pseudobench.experiments.resolving import resolve


def specs(registry, threads, count=8):
    settings = {} if threads == "preset" else {"recipe.threads": threads}
    return [resolve(registry, method="pl", dataset="digits", seed=seed, settings=settings) for seed in range(count)]


@pytest.mark.parametrize(
    ("cores", "gigabytes", "threads", "jobs"),
    [
        (8, 64, "preset", 8),  # small networks: a run for each core
        (8, 64, 2, 4),
        (8, 64, None, 1),  # a run that takes all cores has them for itself
        (8, 5, "preset", 2),  # two gigabytes each
        (1, 64, "preset", 1),
        (2, 0, "preset", 1),
    ],
)
def test_cores_and_memory_decide(registry, monkeypatch, cores, gigabytes, threads, jobs):
    monkeypatch.setattr(processes, "cores", lambda: cores)
    monkeypatch.setattr(processes, "free_memory", lambda: gigabytes << 30)
    assert processes.automatic_jobs(specs(registry, threads), "cpu") == jobs


def test_memory_is_what_linux_says():
    from pseudobench.base.machine import free_memory

    assert 1 << 20 < free_memory() < 1 << 62


def test_the_number_can_be_said():
    assert check_jobs("auto") is None
    assert check_jobs("3") == 3


def test_a_number_that_is_none_is_refused(bench):
    assert bench("run", "--jobs", "many").err == "error: --jobs many: a number, or auto\n"
