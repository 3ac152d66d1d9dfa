"""A method is data: which component does each stage, with which parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pseudobench.parameters import Value

#: The stages of a round, in the order in which they run, and the kind of component each takes.
STAGES = {
    "scaling": "scalings",
    "sets": "set-predictors",
    "estimator": "estimators",
    "labeler": "labelers",
    "selector": "selectors",
}
#: What a composition on the command line takes for the stages that it does not name.
UNSAID = {"estimator": "softmax", "labeler": "hard"}


@dataclass(frozen=True)
class Method:
    """One row of the comparison: the names of its components, and settings that differ from their defaults.

    Without a selector it only trains on labels: those of the budget, or all there are (``labels="all"``).
    ``settings`` keys are ``component.parameter``, as for ``--set``.
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

    @property
    def stages(self) -> dict[str, str]:
        """Stage to component name, for the stages it has."""
        return {stage: getattr(self, stage) for stage in STAGES if getattr(self, stage) is not None}

    @property
    def calibrates(self) -> bool:
        """Whether it needs labels that the network was not trained on."""
        return self.scaling is not None or self.sets is not None
