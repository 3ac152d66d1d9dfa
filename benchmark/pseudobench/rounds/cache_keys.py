"""The keys under which networks and interrupted runs are kept: hashes of everything that determines them."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from pseudobench import base, learning, maths
from pseudobench.base.hashing import digest, key_of, source_digest
from pseudobench.base.machine import processor, version_of
from pseudobench.contracts.settings import Recipe
from pseudobench.learning.networks import register
from pseudobench.learning.training_set import TrainingSet

if TYPE_CHECKING:
    from pseudobench.contracts.run_spec import RunSpec
    from pseudobench.registry.components import Registry
    from pseudobench.rounds.run import Run

#: The packages whose code decides a network's weights: `learning`, and the tools and formulas it uses.
_PACKAGES = tuple(Path(package.__path__[0]) for package in (learning, maths, base))


def network_key(run: Run, round_: int, data: TrainingSet, seeds: tuple[int, int]) -> str:
    """The key of the network that a round trains on ``data``; ``seeds`` are those of its weights and its training."""
    return key_of(
        {
            "network": run.network_of(round_).identity,
            "recipe": asdict(run.spec.group(Recipe)),
            "flip": run.data.flip,
            "moments": run.moments,
            "seeds": seeds,
            "data": run.data.train.digest,
            "samples": digest(*data.known),
            "task": run.data.task,
            "objective": objective_key(run, round_, data),
            "code": training_code(run.registry, run.network_of(round_).backbone),
            "versions": {name: version_of(name) for name in ("torch", "torchvision", "timm", "numpy")},
            "device": _device(run.device),
        }
    )


def objective_key(run: Run, round_: int, data: TrainingSet) -> dict[str, Any] | None:
    """What an objective is and knows: its code, its parameters, its round and the pool. None for the default one."""
    objective = run.component("objective")
    if objective is None:
        return None
    context = run.context(round_)
    return {
        "name": objective.name,
        "parameters": asdict(objective),
        "code": source_digest([_package_of(type(objective).__module__.partition(".")[0])]),
        "context": [context.seed, context.round, context.rounds],
        "pool": None if data.pool is None else digest(data.pool),
    }


def _device(device: torch.device) -> list[Any]:
    """The parts of the machine that the last bits of a result depend on."""
    if device.type == "cuda":
        return [torch.cuda.get_device_name(device)]
    return [device.type, processor(), torch.get_num_threads()]


def training_code(registry: Registry, backbone: str) -> str:
    """A hash of the source code that a training depends on: ours, and that of a plugin's backbone."""
    register(registry, backbone)
    own = [entry.component.module for entry in registry.of("backbones") if entry.name == backbone]
    return source_digest((*_PACKAGES, *map(_file_of, own)))


def run_code(registry: Registry, spec: RunSpec) -> str:
    """A hash of all code that has a say in a run: the harness, and the packages of the components in use."""
    used = [type(registry.stage_of_run(spec, stage)) for stage in spec.stages]
    packages = sorted({"pseudobench", *(component.__module__.partition(".")[0] for component in used)})
    return source_digest([*map(_package_of, packages)]) + "".join(
        training_code(registry, name) for name in spec.backbones
    )


def _file_of(module: str) -> Path:
    return Path(str(sys.modules[module].__file__))


def _package_of(module: str) -> Path:
    """The folder of a package, or the file of a module that is no package."""
    file = _file_of(module)
    return file.parent if file.name == "__init__.py" else file
