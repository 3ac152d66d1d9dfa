"""Running a trained network over images. The one place where that happens."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.modules.batchnorm import _BatchNorm

from pseudobench.base.seeds import Stream, seeded
from pseudobench.errors import RunError
from pseudobench.learning.augmentation import Augmentation
from pseudobench.learning.dropout import FastDropout
from pseudobench.learning.modules import Mirrored, Resized

if TYPE_CHECKING:
    from torch import Tensor, nn

    Part = Callable[[Tensor], Tensor]

#: Images at once.
BATCH = 256
#: Methods that cut a network in two, in order of preference. The first pair is for networks with dropout inside: what
#: comes before all dropout, and the rest. The second is timm's, whose dropout is in the head as a rule.
CUTS = (("forward_before_dropout", "forward_after_dropout"), ("forward_features", "forward_head"))


class Normalizer:
    """Turns images or vectors into the network's input: channels with mean 0 and deviation 1, on the device.

    A channel or feature that never changes becomes 0, also where a test sample has another value.
    """

    def __init__(
        self, moments: tuple[tuple[float, ...], tuple[float, ...]], device: torch.device, *, pixels: bool = True
    ) -> None:
        mean, deviation = (torch.tensor(part, device=device) for part in moments)
        if pixels:
            mean, deviation = (255 * part.view(-1, 1, 1) for part in (mean, deviation))
        constant = deviation <= 1e-7 * mean.abs()  # as exactly as float32 can tell
        self._shift, self._factor = mean, (1 / deviation.clamp(min=1e-6)).masked_fill(constant, 0)
        self.device = device

    def __call__(self, images: Tensor) -> Tensor:
        """``uint8 [B, channels, H, W]`` or ``float32 [B, F]`` to ``float32`` of the same shape.

        Not channels-last, although networks are: their first convolution turns it in less time than it takes here.
        """
        return (images.to(self.device, non_blocking=True) - self._shift) * self._factor


class NetworkPool:
    """Images as a network sees them; the `Pool` that stages are given.

    Results come back on the CPU, in the order of ``images``.
    """

    def __init__(
        self,
        network: nn.Module,
        images: Tensor,
        normalize: Normalizer,
        *,
        augment: Augmentation | None = None,
        mirror: bool = False,
    ) -> None:
        self._network = (Mirrored(network) if mirror else network).eval()
        self._mirror = mirror
        self._images = images
        self._normalize = normalize
        self._augment = augment
        self._others: tuple[NetworkPool, ...] = ()
        self._transform: Callable[[Tensor], Tensor] | None = None
        self._logits: Tensor | None = None

    def __len__(self) -> int:
        return len(self._images)

    def scaled(self, transform: Callable[[Tensor], Tensor]) -> NetworkPool:
        """The same images and networks, with ``transform`` applied to every logits."""
        self._raw()
        view = copy.copy(self)
        view._transform = transform
        view._others = tuple(other.scaled(transform) for other in self._others)
        return view

    def beside(self, networks: Sequence[nn.Module]) -> NetworkPool:
        """The same with further members of an ensemble."""
        view = copy.copy(self)
        view._others = tuple(
            NetworkPool(network, self._images, self._normalize, augment=self._augment, mirror=self._mirror)
            for network in networks
        )
        return view

    def members(self) -> list[NetworkPool]:
        """The same images as each network of the ensemble sees them, this one first."""
        return [self, *self._others]

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

        What comes before the first dropout is computed once for all passes. A pass is one thinned network, drawn anew
        for each batch of `BATCH` samples.
        """
        before, after = self._parts()
        at_once: Any = getattr(self._network, "forward_passes", None)
        stream = Stream(seed, self._normalize.device)
        for batch in self._batches():
            shared = before(batch)
            with stream, dropout_on(self._network):
                all_ = at_once(shared, passes) if at_once else torch.stack([after(shared) for _ in range(passes)])
            drawn = all_.float().cpu()
            yield drawn if self._transform is None else self._transform(drawn)

    @torch.no_grad()
    def views(self, count: int, seed: int) -> Iterator[Tensor]:
        """Outputs for augmented images, without dropout, batch by batch: ``float32 [count, B, C]`` each."""
        if self._augment is None or self._images.ndim == 2:
            raise RunError("there are no images to augment: a frozen backbone's features are computed once")
        draws = torch.Generator().manual_seed(seed)
        for images in slices(self._network, self._images):
            seen = [self._normalize(self._augment.pixels(images, draws)) for _ in range(count)]
            drawn = torch.stack([self._network(each).float().cpu() for each in seen])
            yield drawn if self._transform is None else self._transform(drawn)

    @torch.no_grad()
    def features(self) -> Tensor:
        """The inputs of the network's last layer without dropout, ``float32 [N, F]``."""
        timm_model: Any = self._network
        try:
            maps = (timm_model.forward_features(batch) for batch in self._batches())
            parts = [timm_model.forward_head(each, pre_logits=True).float().flatten(1).cpu() for each in maps]
        except (AttributeError, TypeError) as error:
            raise RunError(
                f"the backbone gives no features ({error}): it needs timm's forward_features(x) and "
                "forward_head(x, pre_logits=True)"
            ) from error
        return torch.cat(parts)

    def shared(self) -> list[Tensor]:
        """The tensors that all who ask this pool are given alike: none may change them."""
        return [own._logits for own in self.members() if own._logits is not None]

    def _parts(self) -> tuple[Part, Part]:
        """The network cut before its first dropout, where it can be; raises if dropout changes nothing at all."""
        few = self._normalize(self._images[:8])
        network: Any = self._network
        if not len(few):
            return lambda x: x, network
        if not draws(network, network, few):
            outputs = network(few)
            if len(few) > 1 and torch.equal(outputs, outputs[:1].expand_as(outputs)):
                raise RunError(
                    "the network has the same output for all samples after training; try a smaller recipe.lr"
                )
            raise RunError("the network has no active dropout, so passes with dropout would show no uncertainty at all")
        for before, after in (
            (getattr(network, first, None), getattr(network, second, None)) for first, second in CUTS
        ):
            if before and after and not draws(network, before, few):
                return before, after
        return lambda x: x, network

    def _batches(self) -> Iterator[Tensor]:
        """Images as the network's inputs, batch by batch."""
        return map(self._normalize, slices(self._network, self._images))


def slices(network: nn.Module, images: Tensor) -> Iterator[Tensor]:
    """Images batch by batch; few at once if the network enlarges them, for the CPU's caches."""
    length = BATCH // 8 if any(isinstance(module, Resized) for module in network.modules()) else BATCH
    for start in range(0, max(len(images), 1), length):  # of no images one empty batch: results have their shape
        yield images[start : start + length]


def draws(network: nn.Module, part: Part, inputs: Tensor) -> bool:
    """Whether ``part`` of a network gives different outputs when dropout is on: ask it, twice."""
    with torch.no_grad(), seeded(0, inputs.device), dropout_on(network):
        return not torch.equal(part(inputs), part(inputs))


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
        with FastDropout(shared=True):
            yield
    finally:
        network.eval()
