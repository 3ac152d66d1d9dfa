"""The keys under which networks and interrupted runs are kept: hashes of everything that determines them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from pseudobench import base
from pseudobench.base.hashing import digest, key_of
from pseudobench.base.source_code import code_of_packages
from pseudobench.contracts.settings import Recipe
from pseudobench.learning.identity import learning_identity
from pseudobench.learning.training_loop import TrainingSet

if TYPE_CHECKING:
    from pseudobench.contracts.run_spec import RunSpec
    from pseudobench.rounds.run import Run

_HARNESS = Path(base.__path__[0]).parent


def network_key(run: Run, data: TrainingSet, seeds: tuple[int, int]) -> str:
    """The key of the network that is trained on ``data``; ``seeds`` are those of its weights and of its training."""
    return key_of(
        {
            "network": run.network.identity,
            "recipe": asdict(run.spec.group(Recipe)),
            "flip": run.data.flip,
            "moments": run.moments,
            "seeds": seeds,
            "data": run.data.train.digest,
            "samples": digest(data.rows, data.positive, data.negative),
            "task": run.data.task,
            **learning_identity(run.registry, run.spec.backbone, run.device),
        }
    )


def run_key(spec: RunSpec, split: str) -> str:
    """The key of an interrupted run; ``split`` is the digest of its split. The spec holds its plugins' code."""
    return key_of({"run": spec.run_id, "split": split, "code": code_of_packages((_HARNESS,))})
