"""Making networks: a backbone of timm or of a plugin, or a head for the features of a frozen backbone."""

from __future__ import annotations

import importlib
import statistics
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import timm
import torch
from torch import nn

from pseudobench.base.seeds import seeded
from pseudobench.contracts.parameters import suggest
from pseudobench.contracts.settings import Network, Recipe
from pseudobench.errors import BenchError
from pseudobench.experiments.weights_files import TIMM
from pseudobench.learning import stems
from pseudobench.learning.modules import Head, Resized
from pseudobench.learning.pretrained import load_weights

if TYPE_CHECKING:
    from pseudobench.contracts.datasets import Samples
    from pseudobench.contracts.run_spec import RunSpec
    from pseudobench.registry.components import Registry


@dataclass(frozen=True)
class NetworkSpec:
    """Everything but the seed that says which network to make: a backbone, or a head on a frozen backbone's features.

    ``shape`` is that of one sample: ``(channels, H, W)``, or ``(F,)``.
    """

    backbone: str
    classes: int
    shape: tuple[int, ...]
    dropout: float
    options: Network = Network()  # noqa: RUF009 - frozen, so one for all will do
    weights_file: Path | None = None

    @property
    def takes_vectors(self) -> bool:
        """Whether the network is given vectors instead of images."""
        return len(self.shape) == 1

    @property
    def is_head(self) -> bool:
        """Whether the samples are features of a frozen backbone, so that the network is a head."""
        return self.takes_vectors and self.options.tune == "head"

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the images."""
        return self.shape[1], self.shape[2]

    @property
    def input_size(self) -> tuple[int, int]:
        """Height and width of what the backbone sees."""
        return self.size if self.options.image_size is None else (self.options.image_size,) * 2

    @property
    def identity(self) -> dict[str, Any]:
        """The values that determine the network, for cache keys. The options say what is in the file of weights."""
        if self.is_head:
            return {"head": self.shape[0], "classes": self.classes}
        return asdict(replace(self, weights_file=None))


def network_spec(spec: RunSpec, samples: Samples, classes: int, weights_file: Path | None) -> NetworkSpec:
    """The network of a run on these samples."""
    return NetworkSpec(
        spec.backbone, classes, samples.shape, spec.group(Recipe).dropout, spec.group(Network), weights_file
    )


def input_moments(spec: RunSpec, samples: Samples) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and deviation that inputs are normalized with: those of pretrained weights, else the training samples'.

    A gray image has the means of those of three channels.
    """
    config = timm.models.get_pretrained_cfg(spec.backbone) if spec.group(Network).weights else None
    if config is None or samples.are_vectors or samples.shape[0] not in (1, len(config.mean)):
        return samples.moments
    found: list[tuple[float, ...]] = [tuple(config.mean), tuple(config.std)]
    mean, deviation = ((statistics.mean(each),) for each in found) if samples.shape[0] == 1 else found
    return mean, deviation


def check_backbone(registry: Registry, name: str) -> None:
    """Raise unless timm or a plugin knows the backbone."""
    register(registry, name)
    if not timm.is_model(name):
        known = {*timm.list_models(), *(entry.name for entry in registry.of("backbones"))}
        near = suggest(name, known)
        hint = near if "did you mean" in near else "; timm.list_models() has all the names"
        raise BenchError(f"there is no backbone {name!r}{hint}")


def make_network(registry: Registry, spec: NetworkSpec, *, seed: int, device: torch.device) -> nn.Module:
    """A new network whose initial weights depend on ``seed`` alone, besides the spec. Networks are made only here."""
    if spec.is_head:
        with seeded(seed, device):
            return Head(spec.shape[0], spec.classes, spec.dropout).to(device)
    register(registry, spec.backbone)
    if spec.takes_vectors:
        with seeded(seed, device):
            return _create(spec, {}).to(device)
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
            in_chans=spec.shape[0],
            drop_rate=spec.dropout,
            **creation,
        )
    except Exception as error:
        if pretrained:
            raise BenchError(
                f"timm's weights for {spec.backbone} can't be had ({_sentence(error)}); if its hub can't be reached, "
                "give a file: --weights FILE.safetensors"
            ) from error
        raise BenchError(f"timm can't make {spec.backbone} for these samples: {_sentence(error)}") from error
    return made


def _sentence(error: Exception) -> str:
    """The first sentence of an error from timm or torch."""
    return f"{type(error).__name__}: {' '.join(str(error).split()).split('. ')[0][:160]}"


def try_network(registry: Registry, spec: NetworkSpec, device: torch.device) -> nn.Module:
    """The network, after it has seen two samples of this shape; raises if it can't, and warns of too small images."""
    network = make_network(registry, spec, seed=0, device=device).eval()
    if not spec.takes_vectors:
        stems.warn_of_large_stem(spec.backbone, spec.options, spec.input_size)
    try:
        with torch.no_grad():
            outputs = network(torch.zeros(2, *spec.shape, device=device))
    except Exception as error:
        raise BenchError(f"{spec.backbone} can't take {_described(spec, _sentence(error))}") from error
    if tuple(outputs.shape) != (2, spec.classes):
        raise BenchError(f"{spec.backbone} returns {list(outputs.shape)} for 2 samples and {spec.classes} classes")
    return network


def _described(spec: NetworkSpec, reason: str) -> str:
    """The samples that a backbone can't take, with the reason and, for images, the cure."""
    if spec.takes_vectors:
        return f"vectors of {spec.shape[0]} numbers ({reason})"
    height, width = spec.input_size
    return f"images of {height} x {width} pixels ({reason}); --image-size upsamples them"


def register(registry: Registry, name: str) -> None:
    """Import the module that registers a plugin's backbone with timm; timm's own need nothing."""
    for entry in registry.of("backbones"):
        if entry.name == name:
            try:
                importlib.import_module(entry.component.module)
            except ImportError as error:
                raise BenchError(f"backbone {name!r} of {entry.owner} can't be imported: {error}") from error
