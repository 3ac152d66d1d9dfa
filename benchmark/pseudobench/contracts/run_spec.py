"""What one run is: every choice that determines its result, as plain values, and a name for it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from pseudobench.contracts.parameters import Value
from pseudobench.contracts.settings import Loop

Group = TypeVar("Group")
#: The version of the harness's numbers, raised when the same choices give another result.
RESULTS = 5


@dataclass(frozen=True)
class RunSpec:
    """One method on one dataset with one label budget, backbone and seed.

    ``settings`` holds every parameter of every component in use, so that a changed default makes another run.
    Parameters added later are omitted while at their default, so older run ids stay valid. ``overrides`` are the
    settings that the user asked for and that differ from what they would have been.

    ``sources`` are hashes of what else determines the result: the code of the plugins in use by component name, the
    content of the user's own data, and the version of the harness's numbers. Records of earlier versions have none.
    """

    dataset: str
    labels: int
    method: str
    seed: int
    backbone: str
    preset: str
    stages: Mapping[str, str]
    trains_on: str
    evaluates_on: str
    settings: Mapping[str, Mapping[str, Value]]
    overrides: Mapping[str, Value] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def run_id(self) -> str:
        """A readable name that no other spec has."""
        identity = {key: value for key, value in asdict(self).items() if key != "overrides"}
        if not self.sources:
            del identity["sources"]
        digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:10]
        return f"{re.sub(r'[^A-Za-z0-9._-]+', '_', self.dataset)}-{self.labels}-{self.method}-s{self.seed}-{digest}"

    @property
    def policy(self) -> str | None:
        """The calibration policy; None for a method that needs no calibration points."""
        group = self.settings.get("calibration")
        return None if group is None else str(group["policy"])

    @property
    def backbones(self) -> tuple[str, ...]:
        """The backbones of its rounds in their order: one, unless ``loop.backbones`` names several."""
        return self.group(Loop).backbones_named or (self.backbone,)

    def group(self, kind: type[Group]) -> Group:
        """One group of settings (`Data`, `Recipe`, `Network`, `Loop`, `Calibration`) as an object."""
        return kind(**self.settings.get(kind.name, {}))  # type: ignore[attr-defined]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RunSpec:
        """A spec as a record holds it."""
        return cls(**data)


def choices_of(spec: RunSpec) -> dict[str, Value]:
    """Every choice of a run by name, as trackers log them: ``method``, ``ups.tau_p``."""
    names = ("dataset", "labels", "method", "seed", "backbone", "preset", "evaluates_on")
    return {name: getattr(spec, name) for name in names} | flat(spec.settings)


def flat(values: Mapping[str, Mapping[str, Value]]) -> dict[str, Value]:
    """Settings by their whole names, ``group.parameter``."""
    return {f"{group}.{name}": value for group, held in values.items() for name, value in held.items()}
