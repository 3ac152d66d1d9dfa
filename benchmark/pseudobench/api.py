"""For notebooks: run experiments and read results as pandas DataFrames."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from pseudobench.base.paths import cache_folder, data_folder, results_folder
from pseudobench.contracts.executing import RunnerConfig
from pseudobench.contracts.methods import Method
from pseudobench.contracts.parameters import Value
from pseudobench.errors import BenchError
from pseudobench.experiments.experiment import Experiment
from pseudobench.experiments.parsing import check_jobs, experiment_from, parse_names

if TYPE_CHECKING:
    import pandas as pd

    from pseudobench.contracts.protocols import Executor
    from pseudobench.registry.components import Registry
    from pseudobench.registry.plugins import Plugins


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
    imbalance: float | None = None,
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
    plugins: Sequence[str | os.PathLike[str] | type | Method] = (),
) -> pd.DataFrame:
    """Run every method on every dataset, label count and seed; one row per run (see `load_results`).

    The arguments are those of ``bench run``, but ``executor`` is an object, such as ``pseudobench_ray.Ray(cpus=2)``.
    Finished runs are read from ``results`` instead of being run again. ``plugins`` are files, as they are at the time
    of the call and for this call alone, or component classes and methods of this process, from a notebook's cell for
    example; the latter know no other process, so they go with neither ``jobs`` nor ``executor``.
    """
    from pseudobench.registry.components import as_of_now
    from pseudobench.registry.own_components import as_plugin
    from pseudobench.registry.plugin_files import naming

    files = [os.fspath(each) for each in plugins if isinstance(each, str | os.PathLike)]
    own = [each for each in plugins if not isinstance(each, str | os.PathLike)]
    if (jobs or executor) and own:
        raise BenchError("components of this process go with neither jobs nor executor; save them as a file")
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
        "imbalance": imbalance,
        "validation": validation,
        "results": None if results is None else os.fspath(results),
        "set": dict(settings or {}),
    }
    experiment = experiment_from(asked)
    config = runner_config(
        experiment, data_dir=data_dir, cache_dir=cache_dir, cache=cache, device=device, force=force, jobs=jobs
    )
    with naming(files):
        return _execute(experiment, config, executor, *as_of_now(*([as_plugin(own)] if own else [])))


def _execute(
    experiment: Experiment, config: RunnerConfig, executor: Executor | None, plugins: Plugins, registry: Registry
) -> pd.DataFrame:
    """Do the runs of an experiment that are not done yet; one row for each of its runs."""
    from pseudobench.analysis.dataframe import frame
    from pseudobench.analysis.run_facts import read_facts
    from pseudobench.contracts.events import Listener
    from pseudobench.execution.runner import Runner

    records = Runner(config, registry, plugins, Listener(), executor).run(experiment.specs(registry))
    return frame(read_facts(records, registry), registry)


def runner_config(
    experiment: Experiment,
    *,
    data_dir: str | os.PathLike[str] | None,
    cache_dir: str | os.PathLike[str] | None,
    cache: bool,
    device: str,
    force: bool,
    jobs: int | None,
    timeout: float | None = None,
    keep: bool = False,
) -> RunnerConfig:
    """What a runner is told to execute an experiment; folders as given, or as the environment says."""
    return RunnerConfig(
        results=results_folder(experiment.results),
        data=data_folder(data_dir),
        cache=cache_folder(cache_dir) if cache else None,
        weights=tuple(experiment.weights_files().items()),
        device=device,
        force=force,
        jobs=check_jobs(jobs),
        timeout=timeout,
        keep=keep,
        plans=True,
    )


def load_results(results: str | os.PathLike[str] | None = None) -> pd.DataFrame:
    """One row per run record below the folder: what was run, how it ended, and every column's value.

    Each parameter is a column, ``ups.tau_p`` as ``ups_tau_p``. Shares are fractions. Words are ``string``, whole
    numbers ``Int64``, flags ``boolean``, other numbers ``float64``; missing values are NA, or NaN in ``float64``.
    """
    from pseudobench.analysis.dataframe import frame
    from pseudobench.analysis.run_facts import read_facts
    from pseudobench.registry.components import as_of_now
    from pseudobench.storage.records import Store

    _, registry = as_of_now()
    return frame(read_facts(Store(results_folder(results)).records(), registry), registry)


def load_rounds(results: str | os.PathLike[str] | None = None) -> pd.DataFrame:
    """One row per run and round below the folder: the run, and each number of the round by its path in the record.

    ``test_accuracy``, ``selection_positive_precision``, ``seconds_fit``; types are those of `load_results`.
    """
    from pseudobench.analysis.dataframe import rounds_frame
    from pseudobench.storage.records import Store

    return rounds_frame(Store(results_folder(results)).records())


def compare(
    methods: str | Sequence[str],
    results: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    *,
    metric: str | None = None,
    where: Mapping[str, object] | None = None,
    family: Literal["all", "baseline"] = "all",
) -> pd.DataFrame:
    """Compare the other methods named with the first, or all others with it if it is the only one (``bench compare``).

    One row per comparison: the difference of ``metric`` (accuracy, or mAP) over pairs of runs with the same seed, its
    95 % interval, the p-value corrected over all pairs of arms that the records have (``p``; with the family
    ``baseline``, over those with the first method) and without correction (``p_alone``), and what that ``says``.
    ``where`` picks runs, such as ``{"labels": 40, "ups.tau_p": [0.7, 0.8]}``.
    """
    from pseudobench.analysis.comparisons import compare_records
    from pseudobench.analysis.filtering import matching
    from pseudobench.output.summary_frames import comparison_frame
    from pseudobench.registry.components import as_of_now
    from pseudobench.storage.records import Store, records_of

    _, registry = as_of_now()
    folders = [results] if results is None or isinstance(results, str | os.PathLike) else list(results)
    wanted = {
        key: tuple(map(str, value)) if isinstance(value, list | tuple | set) else (str(value),)
        for key, value in (where or {}).items()
    }
    records = matching(records_of(Store(results_folder(folder)) for folder in folders), wanted)
    return comparison_frame(compare_records(records, parse_names(methods, "methods"), metric, registry, family))
