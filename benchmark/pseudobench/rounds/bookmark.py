"""Bookmarks: the state of an interrupted run, kept after every round, so that the next attempt goes on from there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pseudobench.base.hashing import key_of
from pseudobench.contracts.values import Selection
from pseudobench.rounds.algorithm import Round
from pseudobench.rounds.cache_keys import run_code
from pseudobench.storage.cache import Cache
from pseudobench.storage.cache_files import Kept

if TYPE_CHECKING:
    from pseudobench.contracts.run_spec import RunSpec
    from pseudobench.registry.components import Registry


@dataclass(frozen=True)
class Bookmark:
    """The cache entry of one interrupted run. Changed code has another key, so that such a run starts over."""

    cache: Cache
    key: str

    @classmethod
    def of(cls, cache: Cache, spec: RunSpec, registry: Registry, split: str) -> Bookmark:
        """The bookmark of a run with this spec and this split's digest."""
        return cls(cache, key_of({"run": spec.run_id, "split": split, "code": run_code(registry, spec)}))

    def keep(self, rounds: list[dict[str, Any]], last: Round) -> None:
        """Keep the records of all rounds so far and what the next round needs."""
        chosen = last.selection
        masks = {} if chosen is None else {"positive": chosen.positive, "negative": chosen.negative}
        self.cache.store("runs", self.key, masks, {"rounds": rounds, "settled": last.settled})

    def find(self) -> tuple[list[dict[str, Any]], Round] | None:
        """The records of an interrupted attempt's rounds, and the last round; None if there is none."""
        return self.cache.load("runs", self.key, _read)

    def remove(self) -> None:
        """Forget it: the run has ended."""
        self.cache.discard("runs", self.key)


def _read(kept: Kept) -> tuple[list[dict[str, Any]], Round]:
    masks = kept.tensors
    selection = Selection(masks["positive"], masks["negative"]) if masks else None
    rounds = list(kept.note["rounds"])
    return rounds, Round(rounds[-1], selection, bool(kept.note["settled"]))
