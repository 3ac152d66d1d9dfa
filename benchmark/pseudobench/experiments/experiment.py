"""An experiment: every method on every dataset with every label count and seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pseudobench.contracts.parameters import Value
from pseudobench.contracts.run_spec import RunSpec
from pseudobench.errors import BenchError
from pseudobench.experiments.resolving import check_settings, resolve
from pseudobench.experiments.weights_files import find_weights, identify
from pseudobench.registry.components import Registry

_MOST_RUNS = 100_000


@dataclass(frozen=True)
class Experiment:
    """A product of runs; or, if it has arms, the runs of each arm. Without methods or datasets: the default ones."""

    methods: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    labels: tuple[int, ...] = ()
    seeds: tuple[int, ...] = tuple(range(6))  # the fewest that a difference can be tested with
    backbone: str | None = None
    preset: str = "cpu"
    validation: bool = False
    settings: Mapping[str, Value] = field(default_factory=dict)
    results: str | None = None
    arms: tuple[Experiment, ...] = ()

    def specs(self, registry: Registry) -> list[RunSpec]:
        """The runs, each once, seed by seed, so that every method has a result early."""
        if self.arms:
            return list({spec.run_id: spec for arm in self.arms for spec in arm.specs(registry)}.values())
        methods = self.methods or tuple(registry.defaults("methods"))
        check_settings(registry, list(methods), self.settings)
        datasets = self.datasets or tuple(registry.defaults("datasets")[:1])
        count = len(methods) * len(datasets) * len(self.labels or (None,)) * len(self.seeds)
        if count > _MOST_RUNS:
            raise BenchError(f"{count} runs are more than one command can ask for: at most {_MOST_RUNS}")
        settings = dict(self.settings)
        if self._weights is not None:
            settings["network.weights"] = identify(self._weights)
        fingerprints: dict[str, str] = {}
        return [
            resolve(
                registry,
                method=method,
                dataset=dataset,
                seed=seed,
                labels=labels,
                backbone=self.backbone,
                preset=self.preset,
                validation=self.validation,
                settings=settings,
                fingerprints=fingerprints,
            )
            for dataset in datasets
            for labels in self.labels or (None,)
            for seed in self.seeds
            for method in methods
        ]

    def weights_files(self) -> dict[str, Path]:
        """The files of pretrained weights that its runs start from, by the text that their specs say."""
        found: dict[str, Path] = {}
        for part in self.arms or (self,):
            path = None if part._weights is None else find_weights(part._weights)
            if part._weights is not None and path is not None:
                found[identify(part._weights)] = path.absolute()
        return found

    @property
    def _weights(self) -> str | None:
        """The weights that the backbone starts from, as the user named them."""
        text = self.settings.get("network.weights")
        return None if text is None or text == "none" else str(text)
