"""Bookmarks: the state of an interrupted run, kept after every round, so that the next attempt goes on from there."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from pseudobench.base.hashing import key_of
from pseudobench.contracts.values import Selection
from pseudobench.rounds.algorithm import Round
from pseudobench.rounds.cache_keys import run_code
from pseudobench.storage.cache import Cache

if TYPE_CHECKING:
    from pseudobench.contracts.run_spec import RunSpec
    from pseudobench.registry.components import Registry


#: The tensors of a selection, by name.
_PARTS = tuple(each.name for each in fields(Selection))


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
        parts = {} if last.selection is None else {part: getattr(last.selection, part) for part in _PARTS}
        kept = {name: tensor for name, tensor in parts.items() if tensor is not None}
        self.cache.store("runs", self.key, kept, {"rounds": rounds, "settled": last.settled})

    def find(self) -> tuple[list[dict[str, Any]], Round] | None:
        """The records of an interrupted attempt's rounds, and the last round; None if there is none."""
        kept = self.cache.load("runs", self.key)
        if kept is None:
            return None
        selection = Selection(**kept.tensors) if kept.tensors else None
        rounds = list(kept.note["rounds"])
        return rounds, Round(rounds[-1], selection, bool(kept.note["settled"]))

    def remove(self) -> None:
        """Forget it: the run has ended."""
        self.cache.discard("runs", self.key)
