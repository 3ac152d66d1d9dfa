"""Samples as networks see them: the pool, and calibration points. N samples, C classes, B samples in a batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from torch import Tensor


class Pool(Protocol):
    """Samples as a trained network sees them. Plugins reach the network only through a pool."""

    def __len__(self) -> int: ...

    def logits(self) -> Tensor:
        """Logits without dropout, ``[N, C]``."""
        ...

    def samples(self, passes: int, seed: int) -> Iterator[Tensor]:
        """Logits of several passes with dropout, batch by batch in order: ``[passes, B, C]`` each."""
        ...

    def views(self, count: int, seed: int) -> Iterator[Tensor]:
        """Logits of randomly shifted images, mirrored too if the dataset allows it: ``[count, B, C]`` per batch."""
        ...

    def members(self) -> Sequence[Pool]:
        """The same samples as seen by each network of an ensemble of ``networks`` networks (see `Estimator`)."""
        ...

    def features(self) -> Tensor:
        """The inputs of the network's last layer without dropout, ``float32 [N, F]``."""
        ...


P_co = TypeVar("P_co", bound=Pool, covariant=True)


@dataclass(frozen=True)
class Fold(Generic[P_co]):
    """Calibration points as one network sees them, with their labels.

    ``pool`` holds the n points and ``labels`` their labels, ``int64 [n]`` or (multi-label) ``bool [n, C]``. ``rest`` is
    the unlabeled pool as seen by the same network. Held-out calibration has one fold, cross calibration several. With
    the policy ``train`` the points are the training data, selected pseudo-labels included.
    """

    pool: P_co
    labels: Tensor
    rest: P_co
