"""From specs to records: finished runs are skipped, a failing run is a record with its reason, the others go on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pseudobench.base.text import counted
from pseudobench.contracts.datasets import Dataset
from pseudobench.contracts.events import Listener
from pseudobench.contracts.executing import Batch, RunnerConfig
from pseudobench.contracts.protocols import Executor
from pseudobench.contracts.run_spec import RunSpec
from pseudobench.contracts.settings import Calibration, Data, Network, Recipe
from pseudobench.errors import PluginError
from pseudobench.execution.datasets import DatasetLoader
from pseudobench.execution.environment import pick_device, restored, set_up
from pseudobench.execution.outdated import outdated
from pseudobench.execution.processes import Processes
from pseudobench.execution.run_record import new_record, now
from pseudobench.execution.single_run import SingleRun
from pseudobench.execution.workers import WorkerSetup
from pseudobench.experiments.splits import split_for
from pseudobench.registry.components import Registry
from pseudobench.registry.plugins import Plugins
from pseudobench.storage.cache import Cache
from pseudobench.storage.plans import Plans
from pseudobench.storage.records import Store, StoredRecord

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Runner:
    """Executes runs: one after another in this process, or wherever an executor takes them."""

    config: RunnerConfig
    registry: Registry
    plugins: Plugins
    listener: Listener
    executor: Executor | None = None

    @cached_property
    def store(self) -> Store:
        """The records."""
        return Store(self.config.results)

    @cached_property
    def cache(self) -> Cache | None:
        """The cache; None if nothing is kept."""
        return None if self.config.cache is None else Cache(self.config.cache, self.config.checkpoint_seconds)

    @cached_property
    def _loader(self) -> DatasetLoader:
        return DatasetLoader(self.config, self.registry, self.cache, self.listener)

    def run(self, specs: Sequence[RunSpec]) -> list[dict[str, Any]]:
        """The records of ``specs``: stored ones where finished, else by running."""
        with restored():
            return self._run_all(specs)

    def _run_all(self, specs: Sequence[RunSpec]) -> list[dict[str, Any]]:
        device = pick_device(self.config.device)
        self.store.prepare()
        set_up(device, self.config.threads)
        stored = {} if self.config.force else {spec.run_id: self.store.load(spec.run_id) for spec in specs}
        finished = {run_id: record for run_id, record in stored.items() if record and record["status"] == "done"}
        waiting = [spec for spec in specs if spec.run_id not in finished]
        executor = self.executor or (None if self.config.jobs is None else Processes())
        # Features that can't be cached are computed where runs execute, not here as well.
        datasets = self._loader.load(waiting, device, features=executor is None or self.cache is not None)
        if self.config.plans:
            Plans(self.store.folder).put(specs)
        self.listener.experiment_started(len(specs), len(finished))
        for count, names in outdated(self.store, waiting):
            self.listener.runs_outdated(count, names)
        if executor is None:
            records = self._in_turn(waiting, datasets, device)
        else:
            records = self._elsewhere(executor, waiting, datasets, device) if waiting else {}
        self.listener.experiment_finished()
        found = (finished.get(spec.run_id) or records[spec.run_id] for spec in specs)
        return [StoredRecord(record, self.store.folder) for record in found]

    def _in_turn(
        self, specs: Sequence[RunSpec], datasets: Mapping[str, Dataset], device: torch.device
    ) -> dict[str, dict[str, Any]]:
        """One after another. Runs that another process works on come last, and are not done twice."""
        records: dict[str, dict[str, Any]] = {}
        for wait in (False, True):
            for spec in specs:
                if spec.run_id in records:
                    continue
                with self.store.claim(spec.run_id, wait=wait) as claimed:
                    if claimed:
                        records[spec.run_id] = self._run(spec, datasets[spec.run_id], device, waited=wait)
        return records

    def _run(self, spec: RunSpec, data: Dataset, device: torch.device, *, waited: bool) -> dict[str, Any]:
        """A run's record: read, if another process has finished the run meanwhile, else made by running now."""
        stored = None if self.config.force and not waited else self.store.load(spec.run_id)
        if stored is not None and stored["status"] == "done":
            self.listener.run_finished(spec, stored)
            return stored
        set_up(device, spec.group(Recipe).threads or self.config.threads)
        return SingleRun(
            spec,
            data,
            device,
            self.registry,
            self.plugins,
            self.store,
            self.listener,
            self.config.weights_file(spec),
            self.cache,
            resumes=not self.config.force,
            keeps_logits=self.config.keep,
        ).execute()

    def _elsewhere(
        self, executor: Executor, specs: Sequence[RunSpec], datasets: Mapping[str, Dataset], device: torch.device
    ) -> dict[str, dict[str, Any]]:
        """Hand the runs to the executor; their records are read from the store."""
        records: dict[str, dict[str, Any]] = {}
        setup = WorkerSetup.of(self.config)
        batch = Batch(in_waves(specs), setup, self.config.jobs, self.listener, self.store.folder)
        for spec, reason in executor.execute(batch):
            record = None if reason else self.store.load(spec.run_id)
            if record is None or record["status"] == "running":
                record = self._failed(spec, datasets[spec.run_id], device, reason or "it left no record")
            records[spec.run_id] = record
            self.listener.run_finished(spec, record)
        if forgotten := [spec.run_id for spec in specs if spec.run_id not in records]:
            raise PluginError(
                f"executor {executor.name!r} does not say how runs have ended: "
                f"{counted(len(forgotten), 'run')}, such as {forgotten[0]}"
            )
        return records

    def _failed(self, spec: RunSpec, data: Dataset, device: torch.device, reason: str) -> dict[str, Any]:
        """The record of a run that its process could not finish. A finished record of an earlier attempt stays."""
        stored = self.store.load(spec.run_id)
        finished = stored is not None and stored["status"] == "done"
        begun = None if finished else stored
        begun = begun or new_record(spec, data, split_for(spec, data), device, self.plugins)
        record = {**begun, "status": "failed", "finished": now(), "error": {"message": reason, "where": ""}}
        if not finished:
            self.store.save(record)
        return record


def begins_with(spec: RunSpec) -> str:
    """What decides a run's first network: runs of which this is the same train it once."""
    objective = spec.stages.get("objective", "")
    held_out = spec.group(Calibration).fraction if spec.policy == "held-out" else None
    settings = [spec.settings.get(group) for group in (Data.name, Recipe.name, Network.name, objective)]
    place = (spec.dataset, spec.labels, spec.evaluates_on, spec.seed, spec.trains_on, spec.backbones[0])
    return repr((*place, held_out, objective, settings))


def in_waves(specs: Sequence[RunSpec]) -> list[RunSpec]:
    """The first run of each group that begins with the same network, then the second of each group, and so on.

    Side by side, all but one of a group would wait until its network is trained.
    """
    seen: Counter[str] = Counter()
    waves = []
    for spec in specs:
        group = begins_with(spec)
        waves.append(seen[group])
        seen[group] += 1
    return [specs[position] for position in sorted(range(len(specs)), key=waves.__getitem__)]
