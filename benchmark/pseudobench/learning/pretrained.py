"""Loading pretrained weights into a network. Nothing that is loaded can execute code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pseudobench.errors import BenchError

if TYPE_CHECKING:
    from torch import Tensor, nn


def load_weights(network: Any, path: Path) -> None:
    """Load every weight but those of the classifier, which stays new. The names match, or the order and shapes do."""
    classifier = classifier_names(network)
    own = {name: value for name, value in network.state_dict().items() if not name.startswith(classifier)}
    given = _read(path)
    if not own.keys() <= given.keys():
        given = _by_order(own, {name: value for name, value in given.items() if not name.startswith(classifier)}, path)
    for name, value in own.items():
        if given[name].shape != value.shape:
            raise BenchError(
                f"{path.name}: {name} has shape {list(given[name].shape)}, and this backbone's {list(value.shape)}"
            )
    network.load_state_dict({name: given[name] for name in own}, strict=False)


def classifier_names(network: nn.Module) -> tuple[str, ...]:
    """How the names of the classifier's weights begin, as timm knows it."""
    named = (getattr(network, "pretrained_cfg", None) or {}).get("classifier") or ("fc",)
    return tuple(f"{name}." for name in ((named,) if isinstance(named, str) else named))


def _read(path: Path) -> dict[str, Tensor]:
    """The tensors of a file by name; nothing in it is executed."""
    from timm.models import load_state_dict

    try:
        state: dict[str, Tensor] = load_state_dict(str(path), device="cpu", weights_only=True)
        return {name: value for name, value in state.items() if hasattr(value, "shape")}
    except Exception as error:
        reason = " ".join(str(error).split())[:160]
        raise BenchError(f"{path.name} can't be read as plain weights: {type(error).__name__}: {reason}") from error


def _by_order(own: dict[str, Tensor], given: dict[str, Tensor], path: Path) -> dict[str, Tensor]:
    """``given`` under the names of ``own``: each pair alike in shape and in the last part of its name.

    Other code names the same layers otherwise; such a file fits all the same if it holds them in the same order. Its
    classifier may be called anything, so what comes after the last of ours is left out.
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
