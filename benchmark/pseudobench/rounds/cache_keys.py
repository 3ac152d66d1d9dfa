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
from pseudobench.learning.training_loop import TrainingSet

if TYPE_CHECKING:
    from pseudobench.contracts.run_spec import RunSpec
    from pseudobench.registry.components import Registry
    from pseudobench.rounds.run import Run

#: The packages whose code decides a network's weights: `learning`, and the tools and formulas it uses.
_PACKAGES = tuple(Path(package.__path__[0]) for package in (learning, maths, base))


def network_key(run: Run, data: TrainingSet, seeds: tuple[int, int]) -> str:
    """The key of the network that is trained on ``data``; ``seeds`` are those of its weights and of its training."""
    return key_of(
        {
            "network": run.network.identity,
            "recipe": asdict(run.spec.group(Recipe)),
            "flip": run.data.flip,
            "moments": run.moments,
            "seeds": seeds,
            "data": run.data.train.digest,
            "samples": digest(data.rows, data.positive, data.negative),
            "task": run.data.task,
            "code": training_code(run.registry, run.spec.backbone),
            "versions": {name: version_of(name) for name in ("torch", "torchvision", "timm", "numpy")},
            "device": _device(run.device),
        }
    )


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
    return source_digest([*map(_package_of, packages)]) + training_code(registry, spec.backbone)


def _file_of(module: str) -> Path:
    return Path(str(sys.modules[module].__file__))


def _package_of(module: str) -> Path:
    """The folder of a package, or the file of a module that is no package."""
    file = _file_of(module)
    return file.parent if file.name == "__init__.py" else file
