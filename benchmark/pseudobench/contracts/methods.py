"""A method is data: which component does each stage of a round, with which parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pseudobench.contracts.parameters import Value

#: The stages of a round, in the order in which they run.
STAGES = ("scaling", "sets", "estimator", "labeler", "selector")


@dataclass(frozen=True)
class Method:
    """One row of a comparison: the names of its components, and settings that differ from their defaults.

    Without a selector it trains on labels alone: those of the budget, or all there are (``labels="all"``).
    ``settings`` keys are ``component.parameter``, as for ``--set``. ``is_default`` puts it into the comparison that
    ``bench run`` makes if no methods are named. Lists and tables show methods with a lower ``rank`` first.
    """

    name: str
    description: str = ""
    scaling: str | None = None
    sets: str | None = None
    estimator: str | None = None
    labeler: str | None = None
    selector: str | None = None
    labels: Literal["budget", "all"] = "budget"
    settings: Mapping[str, Value] = field(default_factory=dict)
    reference: str = ""
    is_default: bool = False
    rank: int = 100

    @property
    def stages(self) -> dict[str, str]:
        """Stage to component name, for the stages it has."""
        return {stage: getattr(self, stage) for stage in STAGES if getattr(self, stage) is not None}

    @property
    def calibrates(self) -> bool:
        """Whether it needs calibration points."""
        return self.scaling is not None or self.sets is not None
