"""Making a backbone: any of timm's, or one that a plugin registers with timm."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pseudobench.errors import BenchError
from pseudobench.parameters import suggest
from pseudobench.seeds import seeded

if TYPE_CHECKING:
    import torch
    from torch import nn

    from pseudobench.registry import Registry


def check_backbone(registry: Registry, name: str) -> None:
    """Raise unless timm or a plugin knows the backbone."""
    import timm

    _register(registry, name)
    if not timm.is_model(name):
        known = {*timm.list_models(), *(entry.name for entry in registry.of("backbones"))}
        near = suggest(name, known)
        hint = near if "did you mean" in near else "; timm.list_models() has all the names"
        raise BenchError(f"there is no backbone {name!r}{hint}")


def make_network(
    registry: Registry,
    name: str,
    *,
    classes: int,
    channels: int,
    dropout: float,
    seed: int,
    device: torch.device,
) -> nn.Module:
    """A new network whose initial weights depend on ``seed`` alone (and on what is made)."""
    import timm

    _register(registry, name)
    with seeded(seed, device):
        network: Any = timm.create_model(name, num_classes=classes, in_chans=channels, drop_rate=dropout)
    return network.to(device)  # type: ignore[no-any-return]


def _register(registry: Registry, name: str) -> None:
    """Import the module that registers a plugin's backbone with timm; timm's own need nothing."""
    for entry in registry.of("backbones"):
        if entry.name == name:
            try:
                importlib.import_module(entry.component.module)
            except ImportError as error:
                raise BenchError(f"backbone {name!r} of plugin {entry.plugin!r} can't be imported: {error}") from error
