"""A method is data: which component does each stage of a round, with which parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pseudobench.contracts.parameters import Value

#: The stages of a round, in the order in which they run.
STAGES = ("scaling", "sets", "estimator", "labeler", "selector", "objective")
#: The objective of a method that names none.
PSEUDO_LABELS = "pseudo-labels"


@dataclass(frozen=True)
class Method:
    """One row of a comparison: the names of its components, and settings that differ from their defaults.

    Without a selector it is a single training on labels: those of the budget, or all there are (``labels="all"``). An
    ``objective`` that asks for views of the pool learns from the pool too, from round 0 on; with a selector each round
    trains by it. None is ``pseudo-labels``: the losses of Eq. 5 and Eq. 6.

    ``settings`` keys are ``component.parameter``, as for ``--set``; ``presets`` maps a preset to further ones that hold
    with it. ``calibration`` is the calibration policy unless the user names one. ``is_default`` puts it into the
    comparison that ``bench run`` makes if no methods are named. Lists and tables show methods with a lower ``rank``
    first.
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
    objective: str | None = None
    presets: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    calibration: str | None = None

    @property
    def stages(self) -> dict[str, str]:
        """Stage to component name, for the stages it has. The default objective is none: run ids do not name it."""
        named = {stage: getattr(self, stage) for stage in STAGES if getattr(self, stage) is not None}
        return {stage: name for stage, name in named.items() if (stage, name) != ("objective", PSEUDO_LABELS)}

    def layers(self, preset: str) -> tuple[Mapping[str, Value], ...]:
        """Its settings with a preset; later ones win."""
        policy = {} if self.calibration is None else {"calibration.policy": self.calibration}
        return self.settings, policy, self.presets.get(preset, {})
