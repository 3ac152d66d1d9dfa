"""Loading pretrained weights into a network. Files are read as plain tensors: no code in them can run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pseudobench.errors import BenchError

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn


def load_weights(network: Any, path: Path) -> None:
    """Load all weights except the classifier's, which stays new. They match by name, or else by order and shape.

    A gray image is taken for one with three equal channels: the first layer's weights are summed over them.
    """
    classifier = classifier_names(network)
    own = {name: value for name, value in network.state_dict().items() if not name.startswith(classifier)}
    given = _read(path)
    first = next(iter(own.values()), None)
    if first is not None and first.ndim == 4 and first.shape[1] == 1:
        given = {name: _gray(value, first.shape) for name, value in given.items()}
    if not own.keys() <= given.keys():
        given = _by_order(own, {name: value for name, value in given.items() if not name.startswith(classifier)}, path)
    for name, value in own.items():
        if given[name].shape != value.shape:
            raise BenchError(
                f"{path.name}: {name} has shape {list(given[name].shape)}, and this backbone's {list(value.shape)}"
            )
    network.load_state_dict({name: given[name] for name in own}, strict=False)


def _gray(weight: Tensor, wanted: torch.Size) -> Tensor:
    """A convolution of three channels, ``[C, 3, h, w]``, as one of their sum, ``[C, 1, h, w]``, if that is wanted."""
    colour = weight.ndim == 4 and weight.shape[1] == 3 and weight[:, :1].shape == wanted
    return weight.sum(1, keepdim=True) if colour else weight


def classifier_names(network: nn.Module) -> tuple[str, ...]:
    """Prefixes of the names of the classifier's weights, from timm's configuration."""
    named = (getattr(network, "pretrained_cfg", None) or {}).get("classifier") or ("fc",)
    return tuple(f"{name}." for name in ((named,) if isinstance(named, str) else named))


def _read(path: Path) -> dict[str, Tensor]:
    """Name to tensor, of a file read without executing anything in it."""
    from timm.models import load_state_dict

    try:
        state: dict[str, Tensor] = load_state_dict(str(path), device="cpu", weights_only=True)
        return {name: value for name, value in state.items() if hasattr(value, "shape")}
    except Exception as error:
        reason = " ".join(str(error).split())[:160]
        raise BenchError(f"{path.name} can't be read as plain weights: {type(error).__name__}: {reason}") from error


def _by_order(own: dict[str, Tensor], given: dict[str, Tensor], path: Path) -> dict[str, Tensor]:
    """The tensors of ``given`` under the names of ``own``, paired in order.

    Other code names the same layers differently but keeps their order. Each pair must agree in shape and in the last
    part of its name. Surplus tensors at the end of ``given`` are its classifier, whatever its name, and are dropped.
    """
    for (name, value), (other, tensor) in zip(own.items(), given.items(), strict=False):
        alike = value.shape == tensor.shape and name.rpartition(".")[2] == other.rpartition(".")[2]
        if not alike:
            raise BenchError(
                f"{path.name} is not of this backbone: {other} {list(tensor.shape)} stands where {name} "
                f"{list(value.shape)} should"
            )
    if len(given) < len(own):
        missing = list(own)[len(given)]
        raise BenchError(f"{path.name} is not of this backbone: it has no {missing}, nor anything in its place")
    return dict(zip(own, given.values(), strict=False))
