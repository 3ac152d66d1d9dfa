"""Making a network: any of timm's backbones, or one that a plugin registers with timm, for these images."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import timm
import torch
from torch import nn
from torch.nn import functional

from pseudobench import stems
from pseudobench.errors import BenchError
from pseudobench.parameters import suggest
from pseudobench.presets import Network, Recipe
from pseudobench.seeds import seeded
from pseudobench.weights import TIMM, load_weights

if TYPE_CHECKING:
    from torch import Tensor

    from pseudobench.registry import Registry
    from pseudobench.spec import RunSpec
    from pseudobench.types import Dataset


@dataclass(frozen=True)
class NetworkSpec:
    """Everything but the seed that says which network to make; ``size`` is the images' height and width."""

    backbone: str
    classes: int
    channels: int
    size: tuple[int, int]
    dropout: float
    options: Network = Network()  # noqa: RUF009 - frozen, so one for all will do
    weights_file: Path | None = None

    @property
    def input_size(self) -> tuple[int, int]:
        """Height and width of what the backbone sees."""
        return self.size if self.options.image_size is None else (self.options.image_size,) * 2


def network_spec(spec: RunSpec, data: Dataset, weights_file: Path | None) -> NetworkSpec:
    """The network of a run on images."""
    options, dropout = spec.group(Network), spec.group(Recipe).dropout
    channels, height, width = data.train_images.shape[1:]
    file = None if options.weights in (None, TIMM) else weights_file
    return NetworkSpec(spec.backbone, data.classes, channels, (height, width), dropout, options, file)


def input_moments(spec: RunSpec, data: Dataset) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and deviation that inputs are normalized with: those that the weights were trained with, else the data's."""
    config = timm.models.get_pretrained_cfg(spec.backbone) if spec.group(Network).weights else None
    images = data.train_images
    if config is None or images.ndim == 2 or images.shape[1] != len(config.mean):
        return data.moments
    return tuple(config.mean), tuple(config.std)


class Resized(nn.Module):
    """A backbone that sees images ``before`` pixels large upsampled to ``size``; it has the methods of a timm model.

    Bicubic, as two products of matrices: the same as `torch.nn.functional.interpolate`, whose own loop took a sixth of
    the time of a small backbone on the CPU, and which is not deterministic on a GPU.
    """

    def __init__(self, network: Any, before: tuple[int, int], size: tuple[int, int]) -> None:
        super().__init__()
        self.network = network
        for name, old, new in zip(("rows", "columns"), before, size, strict=True):
            self.register_buffer(name, _bicubic(old, new), persistent=False)

    def forward_features(self, x: Tensor) -> Tensor:
        """``[B, channels, H, W]`` to the backbone's feature maps."""
        larger = torch.einsum("ih, bchw, jw -> bcij", self.rows, x, self.columns)
        maps: Tensor = self.network.forward_features(larger.contiguous(memory_format=torch.channels_last))
        return maps

    def forward_head(self, x: Tensor, pre_logits: bool = False) -> Tensor:
        """Feature maps to logits ``[B, C]``, or with ``pre_logits`` to what the last layer is given."""
        outputs: Tensor = self.network.forward_head(x, pre_logits=pre_logits)
        return outputs

    def forward(self, x: Tensor) -> Tensor:
        """Images to logits."""
        return self.forward_head(self.forward_features(x))


def _bicubic(old: int, new: int) -> Tensor:
    """The matrix ``[new, old]`` that resizes a line of pixels."""
    lines = functional.interpolate(torch.eye(old)[None, None], (new, old), mode="bicubic", align_corners=False)
    return lines[0, 0]


class Head(nn.Module):
    """What is trained of a frozen backbone: dropout and a linear layer on its features ``[B, F]``."""

    def __init__(self, features: int, classes: int, dropout: float) -> None:
        super().__init__()
        self.drop, self.fc = nn.Dropout(dropout), nn.Linear(features, classes)

    def forward_features(self, x: Tensor) -> Tensor:
        """The features as they come: all of the dropout is behind them."""
        return x

    def forward_head(self, x: Tensor) -> Tensor:
        """Features to logits ``[B, C]``."""
        logits: Tensor = self.fc(self.drop(x))
        return logits

    def forward(self, x: Tensor) -> Tensor:
        """Features to logits ``[B, C]``."""
        return self.forward_head(x)


def check_backbone(registry: Registry, name: str) -> None:
    """Raise unless timm or a plugin knows the backbone."""
    register(registry, name)
    if not timm.is_model(name):
        known = {*timm.list_models(), *(entry.name for entry in registry.of("backbones"))}
        near = suggest(name, known)
        hint = near if "did you mean" in near else "; timm.list_models() has all the names"
        raise BenchError(f"there is no backbone {name!r}{hint}")


def make_network(registry: Registry, spec: NetworkSpec, *, seed: int, device: torch.device) -> nn.Module:
    """A new network whose initial weights depend on ``seed`` alone, besides the spec."""
    register(registry, spec.backbone)
    small = stems.wants_small_stem(spec.options, spec.input_size)
    creation = stems.creation_options(spec.backbone, spec.input_size, small=small)
    with seeded(seed, device):
        network = _create(spec, creation)
        if small:
            stems.adapt(network, spec.backbone)
    if spec.weights_file is not None:
        load_weights(network, spec.weights_file)
    whole = network if spec.options.image_size is None else Resized(network, spec.size, spec.input_size)
    return whole.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def _create(spec: NetworkSpec, creation: dict[str, Any]) -> nn.Module:
    pretrained = spec.options.weights == TIMM
    try:
        made: nn.Module = timm.create_model(
            spec.backbone,
            pretrained=pretrained,
            num_classes=spec.classes,
            in_chans=spec.channels,
            drop_rate=spec.dropout,
            **creation,
        )
    except Exception as error:
        if pretrained:
            raise BenchError(
                f"timm's weights for {spec.backbone} can't be had ({_sentence(error)}); if its hub can't be reached, "
                "give a file: --weights FILE.safetensors"
            ) from error
        raise BenchError(f"timm can't make {spec.backbone} for these images: {_sentence(error)}") from error
    return made


def _sentence(error: Exception) -> str:
    """The first sentence of an error from timm or torch."""
    return f"{type(error).__name__}: {' '.join(str(error).split()).split('. ')[0][:160]}"


def make_head(features: int, classes: int, dropout: float, *, seed: int, device: torch.device) -> nn.Module:
    """A new head for features of a frozen backbone."""
    with seeded(seed, device):
        return Head(features, classes, dropout).to(device)


def try_network(registry: Registry, spec: NetworkSpec, device: torch.device) -> nn.Module:
    """The network, after it has seen two images of this size; raises if it can't, and warns if they are too small."""
    network = make_network(registry, spec, seed=0, device=device).eval()
    stems.warn_of_large_stem(spec.backbone, spec.options, spec.input_size)
    try:
        with torch.no_grad():
            outputs = network(torch.zeros(2, spec.channels, *spec.size, device=device))
    except Exception as error:
        height, width = spec.input_size
        raise BenchError(
            f"{spec.backbone} can't take images of {height} x {width} pixels ({_sentence(error)}); "
            "--image-size upsamples them"
        ) from error
    if tuple(outputs.shape) != (2, spec.classes):
        raise BenchError(f"{spec.backbone} returns {list(outputs.shape)} for 2 images and {spec.classes} classes")
    return network


def register(registry: Registry, name: str) -> None:
    """Import the module that registers a plugin's backbone with timm; timm's own need nothing."""
    for entry in registry.of("backbones"):
        if entry.name == name:
            try:
                importlib.import_module(entry.component.module)
            except ImportError as error:
                raise BenchError(f"backbone {name!r} of {entry.owner} can't be imported: {error}") from error
