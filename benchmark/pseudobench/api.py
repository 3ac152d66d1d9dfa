"""For notebooks: run experiments and read results as pandas DataFrames."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pseudobench.parameters import Value
from pseudobench.places import place

if TYPE_CHECKING:
    import pandas as pd

    from pseudobench.protocols import Executor

DEFAULT_RESULTS = "runs"


def run(
    methods: str | Sequence[str] | None = None,
    dataset: str | Sequence[str] | None = None,
    *,
    labels: int | Sequence[int] | None = None,
    seeds: int | Sequence[int] | str | None = None,
    backbone: str | None = None,
    weights: str | os.PathLike[str] | None = None,
    tune: str | None = None,
    image_size: int | None = None,
    preset: str | None = None,
    calibration: str | None = None,
    validation: bool = False,
    settings: Mapping[str, Value] | None = None,
    results: str | os.PathLike[str] | None = None,
    data_dir: str | os.PathLike[str] | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    cache: bool = True,
    jobs: int | None = None,
    executor: Executor | None = None,
    device: str = "auto",
    force: bool = False,
) -> pd.DataFrame:
    """Run every method on every dataset, label count and seed; one row per run (see `load_results`).

    The arguments are those of ``bench run``, but ``executor`` is an object, such as ``pseudobench_ray.Ray(cpus=2)``.
    Finished runs are read from ``results`` instead of being run again.
    """
    from pseudobench.cache import Cache
    from pseudobench.executors import check_jobs
    from pseudobench.experiment import experiment_from
    from pseudobench.frames import frame
    from pseudobench.listeners import Listener
    from pseudobench.registry import installed
    from pseudobench.runner import Runner
    from pseudobench.store import Store

    plugins, registry = installed()
    asked = {
        "methods": methods,
        "dataset": dataset,
        "labels": labels,
        "seeds": seeds,
        "backbone": backbone,
        "weights": None if weights is None else os.fspath(weights),
        "tune": tune,
        "image_size": image_size,
        "preset": preset,
        "calibration": calibration,
        "validation": validation,
        "results": None if results is None else os.fspath(results),
        "set": dict(settings or {}),
    }
    experiment = experiment_from(asked)
    store = Store(results_folder(experiment.results))
    kept = Cache(cache_folder(cache_dir)) if cache else None
    places = data_folder(data_dir), device, force, experiment.weights, kept
    runner = Runner(registry, plugins, store, Listener(), *places, jobs=check_jobs(jobs), executor=executor)
    return frame(runner.run(experiment.specs(registry)), registry)


def load_results(results: str | os.PathLike[str] | None = None) -> pd.DataFrame:
    """One row per run record below the folder: what was run, how it ended, and every column's raw value."""
    from pseudobench.frames import frame
    from pseudobench.registry import installed
    from pseudobench.store import Store

    _, registry = installed()
    return frame(Store(results_folder(results)).records(), registry)


def compare(
    methods: str | Sequence[str],
    results: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    *,
    metric: str | None = None,
    where: Mapping[str, object] | None = None,
) -> pd.DataFrame:
    """Compare the other methods named with the first, or all others with it if it is the only one (``bench compare``).

    One row per comparison: the difference of ``metric`` (accuracy, or mAP) over pairs of runs with the same seed, its
    95 % interval, p-values before and after Holm's correction, and what that ``says``. ``where`` picks runs, such as
    ``{"labels": 40, "ups.tau_p": [0.7, 0.8]}``.
    """
    from pseudobench.comparisons import compare_records, to_values
    from pseudobench.experiment import parse_names
    from pseudobench.filters import matching
    from pseudobench.registry import installed
    from pseudobench.store import Store, records_of

    _, registry = installed()
    folders = [results] if results is None or isinstance(results, str | os.PathLike) else list(results)
    wanted = {
        key: tuple(map(str, value)) if isinstance(value, list | tuple | set) else (str(value),)
        for key, value in (where or {}).items()
    }
    records = matching(records_of(Store(results_folder(folder)) for folder in folders), wanted)
    return to_values(compare_records(records, parse_names(methods, "methods"), metric, registry))


def results_folder(given: str | os.PathLike[str] | None) -> Path:
    """Where records are: as given, or PSEUDOBENCH_RESULTS, or ``runs``."""
    return place(given or os.environ.get("PSEUDOBENCH_RESULTS") or DEFAULT_RESULTS)


def data_folder(given: str | os.PathLike[str] | None) -> Path:
    """Where datasets are: as given, or PSEUDOBENCH_DATA, or ``data``."""
    return Path(given or os.environ.get("PSEUDOBENCH_DATA") or "data")


def cache_folder(given: str | os.PathLike[str] | None) -> Path:
    """Where what can be computed again is kept: as given, or PSEUDOBENCH_CACHE, or in the user's cache folder."""
    user = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return place(given or os.environ.get("PSEUDOBENCH_CACHE") or Path(user) / "pseudobench")
