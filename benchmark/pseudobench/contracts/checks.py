"""Checks of tensors that plugins hand over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pseudobench.errors import PluginError

if TYPE_CHECKING:
    from torch import Tensor


def check_tensor(owner: object, name: str, tensor: Tensor, shape: tuple[int | None, ...], kind: str) -> None:
    """Raise unless ``tensor`` has this shape (None: any length) and kind (``bool``, ``float``, ``int``, ...)."""
    field = f"{type(owner).__name__}.{name}"
    actual = tuple(tensor.shape)
    fits = len(actual) == len(shape) and all(e in (None, a) for e, a in zip(shape, actual, strict=True))
    if not fits:
        wanted = ", ".join("any" if n is None else str(n) for n in shape)
        raise PluginError(f"{field} must have shape [{wanted}], not {list(actual)}")
    dtype = str(tensor.dtype).removeprefix("torch.")
    if not (dtype == kind if kind == "bool" else dtype.startswith(kind)):
        raise PluginError(f"{field} must hold {kind} values, not {dtype}")
    if kind == "float" and not bool(tensor.isfinite().all()):
        raise PluginError(f"{field} holds NaN or infinite values")
