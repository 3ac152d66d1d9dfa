"""Running a trained network over images. The one place where that happens."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.modules.batchnorm import _BatchNorm

from pseudobench.errors import RunError
from pseudobench.seeds import seeded

if TYPE_CHECKING:
    from torch import Tensor, nn


class Normalizer:
    """Turns ``uint8`` images into the network's input: channels with mean 0 and deviation 1, on the device."""

    def __init__(self, moments: tuple[tuple[float, ...], tuple[float, ...]], device: torch.device) -> None:
        mean, deviation = (torch.tensor(part, device=device).view(-1, 1, 1) * 255 for part in moments)
        self._shift, self._factor = mean, 1 / deviation.clamp(min=1e-6)
        self.device = device

    def __call__(self, images: Tensor) -> Tensor:
        """``uint8 [B, channels, H, W]`` to ``float32`` of the same shape."""
        return (images.to(self.device, non_blocking=True).float() - self._shift) * self._factor


class NetworkPool:
    """Images as a network sees them; the `Pool` that stages are given.

    Results come back on the CPU, in the order of ``images``.
    """

    def __init__(self, network: nn.Module, images: Tensor, normalize: Normalizer, batch_size: int = 500) -> None:
        self._network = network.eval()
        self._images = images
        self._normalize = normalize
        self._batch_size = batch_size
        self._transform: Callable[[Tensor], Tensor] | None = None
        self._logits: Tensor | None = None

    def __len__(self) -> int:
        return len(self._images)

    def scaled(self, transform: Callable[[Tensor], Tensor]) -> NetworkPool:
        """The same images and network, with ``transform`` applied to every logits."""
        self._raw()
        view = copy.copy(self)
        view._transform = transform
        return view

    def logits(self) -> Tensor:
        """The network's outputs without dropout, ``float32 [N, C]``."""
        raw = self._raw()
        return raw if self._transform is None else self._transform(raw)

    @torch.no_grad()
    def _raw(self) -> Tensor:
        if self._logits is None:
            parts = [self._network(batch).float().cpu() for batch in self._batches()]
            self._logits = torch.cat(parts)
        return self._logits

    @torch.no_grad()
    def samples(self, passes: int, seed: int) -> Iterator[Tensor]:
        """Outputs with dropout switched on, batch by batch: ``float32 [passes, B, C]`` each.

        What does not depend on dropout is computed once: where only the head draws, the features are shared.
        """
        head_only = self._dropout_is_in_head_only()
        with seeded(seed, self._normalize.device):
            for batch in self._batches():
                drawn = self._draw(batch, passes, head_only).float().cpu()
                yield drawn if self._transform is None else self._transform(drawn)

    def _draw(self, batch: Tensor, passes: int, head_only: bool) -> Tensor:
        network: Any = self._network
        if not head_only:
            with dropout_on(network):
                return torch.stack([network(batch) for _ in range(passes)])
        features = network.forward_features(batch)
        with dropout_on(network):
            return torch.stack([network.forward_head(features) for _ in range(passes)])

    def _dropout_is_in_head_only(self) -> bool:
        """Ask the network itself, on a few images; raise if dropout changes nothing at all."""
        few = self._normalize(self._images[:8])
        network: Any = self._network
        with seeded(0, self._normalize.device), dropout_on(network):
            if torch.equal(network(few), network(few)):
                raise RunError(
                    "the backbone has no active dropout, so MC-dropout would report "
                    "no uncertainty at all; take another backbone, or set recipe.dropout above 0"
                )
            if not (hasattr(network, "forward_features") and hasattr(network, "forward_head")):
                return False
            drawn = network.forward_features(few)
        network.eval()
        return torch.equal(drawn, network.forward_features(few))

    def _batches(self) -> Iterator[Tensor]:
        for start in range(0, len(self._images), self._batch_size):
            yield self._normalize(self._images[start : start + self._batch_size])


@contextmanager
def dropout_on(network: nn.Module) -> Iterator[None]:
    """Dropout draws inside, and batch norm still uses its running statistics.

    The whole network is put in training mode: timm's heads drop with ``F.dropout(training=self.training)``,
    which switching on ``nn.Dropout`` modules would not reach.
    """
    network.train()
    for module in network.modules():
        if isinstance(module, _BatchNorm):
            module.eval()
    try:
        yield
    finally:
        network.eval()
