"""What decides a network's weights besides its data and settings: code, versions, device. Part of cache keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from pseudobench import base, learning, maths
from pseudobench.base.machine import processor, version_of
from pseudobench.base.source_code import code_of_module, code_of_packages
from pseudobench.registry.components import Registry

#: The packages whose code decides a network's weights: this one, and the tools and formulas it uses.
_PACKAGES = tuple(Path(package.__path__[0]) for package in (learning, maths, base))


def learning_identity(
    registry: Registry, backbone: str, device: torch.device, threads: int | None = None
) -> dict[str, Any]:
    """The code of the harness and of a plugin's backbone, versions of the libraries that compute, and the device.

    On the CPU the last bits also depend on its model and on the number of threads (None: torch's present one).
    """
    own = [code_of_module(entry.component.module) for entry in registry.of("backbones") if entry.name == backbone]
    used = threads or torch.get_num_threads()
    kind = [torch.cuda.get_device_name(device)] if device.type == "cuda" else [processor(), used]
    return {
        "code": [code_of_packages(_PACKAGES), *own],
        "versions": {name: version_of(name) for name in ("torch", "torchvision", "timm", "numpy")},
        "device": [device.type, *kind],
    }
