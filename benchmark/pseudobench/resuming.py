"""Where an interrupted run stood, kept after every round, so that the next attempt goes on from there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pseudobench.cache import Cache, key_of
from pseudobench.identity import code_of_run
from pseudobench.rounds import Round
from pseudobench.types import Selection

if TYPE_CHECKING:
    from pseudobench.registry import Registry
    from pseudobench.spec import RunSpec


@dataclass(frozen=True)
class Bookmark:
    """The place of one run in the cache. Changed code makes another place: such a run starts over."""

    cache: Cache
    key: str

    @classmethod
    def of(cls, cache: Cache, spec: RunSpec, registry: Registry, split: str) -> Bookmark:
        """The bookmark of a run with this spec and split."""
        return cls(cache, key_of({"run": spec.run_id, "split": split, "code": code_of_run(registry, spec)}))

    def keep(self, rounds: list[dict[str, Any]], last: Round) -> None:
        """Remember all rounds so far and what the next one needs."""
        chosen = last.selection
        masks = {} if chosen is None else {"positive": chosen.positive, "negative": chosen.negative}
        self.cache.store("runs", self.key, masks, {"rounds": rounds, "settled": last.settled})

    def find(self) -> tuple[list[dict[str, Any]], Round] | None:
        """The rounds of an interrupted attempt, and the last of them."""
        kept = self.cache.load("runs", self.key)
        if kept is None:
            return None
        masks = kept.tensors
        selection = Selection(masks["positive"], masks["negative"]) if masks else None
        rounds = list(kept.note["rounds"])
        return rounds, Round(rounds[-1], selection, bool(kept.note["settled"]))

    def remove(self) -> None:
        """The run has ended."""
        self.cache.discard("runs", self.key)
