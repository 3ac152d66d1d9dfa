"""What determines a trained network: data, indices, targets, backbone, recipe, seeds, code, and what it ran on."""

from __future__ import annotations

import hashlib
import inspect
import sys
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from pseudobench import augment, dropout, fit, losses, networks, pool, randaugment, seeds, stems, weights
from pseudobench.cache import digest, key_of
from pseudobench.environment import processor, version_of
from pseudobench.methods import STAGES
from pseudobench.presets import Recipe

if TYPE_CHECKING:
    from torch import Tensor

    from pseudobench.registry import Registry
    from pseudobench.rounds import Run
    from pseudobench.spec import RunSpec

#: The modules whose code decides what comes out of a training.
_MODULES = (augment, dropout, fit, losses, networks, pool, randaugment, seeds, stems, weights)


def network_key(run: Run, rows: Tensor, targets: tuple[Tensor, Tensor], seed_of_network: int, seed_of_fit: int) -> str:
    """The name of the network that is trained on ``rows`` of the data with these targets, ``bool [M, C]`` each."""
    if run.data.train_images.ndim == 2:
        made: dict[str, Any] = {"head": run.data.train_images.shape[1], "classes": run.data.classes}
    else:
        spec = networks.network_spec(run.spec, run.data, run.weights_file)
        made = asdict(replace(spec, weights_file=None))  # what is in the file is part of the options
    return key_of(
        {
            "network": made,
            "recipe": asdict(run.spec.group(Recipe)),
            "flip": run.data.flip,
            "moments": networks.input_moments(run.spec, run.data),
            "seeds": [seed_of_network, seed_of_fit],
            "data": run.data.digest,
            "samples": digest(rows, *targets),
            "task": run.data.task,
            "code": code_of(run.registry, run.spec.backbone),
            "versions": {name: version_of(name) for name in ("torch", "torchvision", "timm", "numpy")},
            "device": _device(run.device),
        }
    )


def _device(device: torch.device) -> list[Any]:
    """What the last bits depend on."""
    if device.type == "cuda":
        return [torch.cuda.get_device_name(device)]
    return [device.type, processor(), torch.get_num_threads()]


def code_of(registry: Registry, backbone: str) -> str:
    """A hash of the source code that a training depends on: ours, and that of a plugin's backbone."""
    networks.register(registry, backbone)
    own = [entry.component.module for entry in registry.of("backbones") if entry.name == backbone]
    return _source_digest((*(module.__name__ for module in _MODULES), *own))


def code_of_run(registry: Registry, spec: RunSpec) -> str:
    """A hash of all code that has a say in a run: the harness, and the packages of the components in use."""
    used = [registry.get(STAGES[stage], name) for stage, name in spec.stages.items()]
    packages = {"pseudobench", *(component.__module__.partition(".")[0] for component in used)}
    return _packages_digest(tuple(sorted(packages))) + code_of(registry, spec.backbone)


@cache
def _packages_digest(names: tuple[str, ...]) -> str:
    found = hashlib.sha256()
    for name in names:
        file = getattr(sys.modules[name], "__file__", None)
        top = Path(file or ".")
        for path in sorted(top.parent.rglob("*.py")) if top.name == "__init__.py" else [top]:
            found.update(path.name.encode() + path.read_bytes())
    return found.hexdigest()


@cache
def _source_digest(modules: tuple[str, ...]) -> str:
    return hashlib.sha256("\n".join(inspect.getsource(sys.modules[name]) for name in modules).encode()).hexdigest()
