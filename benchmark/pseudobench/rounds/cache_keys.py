"""The keys under which networks and interrupted runs are kept: hashes of everything that determines them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pseudobench import base
from pseudobench.base.hashing import digest, key_of
from pseudobench.base.source_code import code_of_class, code_of_packages
from pseudobench.contracts.settings import Recipe
from pseudobench.learning.identity import learning_identity
from pseudobench.learning.training_set import TrainingSet

if TYPE_CHECKING:
    from pseudobench.contracts.run_spec import RunSpec
    from pseudobench.rounds.run import Run

_HARNESS = Path(base.__path__[0]).parent


def network_key(run: Run, round_: int, data: TrainingSet, recipe: Recipe, seeds: tuple[int, int]) -> str:
    """The key of the network that a round trains on ``data``; ``seeds`` are those of its weights and its training."""
    return key_of(
        {
            "network": run.network_of(round_).identity,
            "recipe": asdict(recipe),
            "flip": run.data.flip,
            "moments": run.moments,
            "seeds": seeds,
            "data": run.data.train.digest,
            "samples": [digest(*data.known), data.labeled],
            "task": run.data.task,
            "objective": objective_key(run, round_, data),
            **learning_identity(run.registry, run.network_of(round_).backbone, run.device),
        }
    )


def objective_key(run: Run, round_: int, data: TrainingSet) -> dict[str, Any] | None:
    """What an objective is and knows: its code, its parameters, its round and the pool. None for the default one."""
    objective = run.component("objective")
    if objective is None:
        return None
    context = run.context(round_)
    return {
        "name": objective.name,
        "parameters": asdict(objective),
        "code": code_of_class(type(objective)),
        "context": [context.seed, context.round, context.rounds],
        "pool": None if data.pool is None else digest(data.pool),
    }


def run_key(spec: RunSpec, split: str) -> str:
    """The key of an interrupted run; ``split`` is the digest of its split. The spec holds its plugins' code."""
    return key_of({"run": spec.run_id, "split": split, "code": code_of_packages((_HARNESS,))})
