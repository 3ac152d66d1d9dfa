"""The objective of every method that names none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pseudobench.contracts.datasets import MULTI, SINGLE
from pseudobench.contracts.hookspecs import hookimpl
from pseudobench.contracts.methods import PSEUDO_LABELS

if TYPE_CHECKING:
    from torch import Tensor

    from pseudobench.contracts.steps import Step


@dataclass(frozen=True)
class PseudoLabeling:
    """Labels and selected pseudo-labels alike: cross-entropy and Eq. 5; for samples of several classes Eq. 6."""

    name: ClassVar[str] = PSEUDO_LABELS
    tasks: ClassVar[tuple[str, ...]] = (SINGLE, MULTI)

    def loss(self, step: Step, forward: Callable[[Tensor], Tensor], state: dict[str, Tensor]) -> Tensor:
        """One loss for all samples of the batch."""
        from pseudobench.maths.losses import loss_of

        return loss_of(forward(step.inputs), step)


@hookimpl
def bench_objectives() -> list[type[PseudoLabeling]]:
    """Offer the default."""
    return [PseudoLabeling]
