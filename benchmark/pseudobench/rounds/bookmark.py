"""Bookmarks: the state of an interrupted run, kept after every round, so that the next attempt goes on from there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from pseudobench.contracts.values import Selection
from pseudobench.rounds.algorithm import Round
from pseudobench.rounds.cache_keys import run_key
from pseudobench.storage.cache import Cache
from pseudobench.storage.cache_files import Kept

if TYPE_CHECKING:
    from pseudobench.contracts.run_spec import RunSpec

#: The parts of a record that rounds add to.
_PARTS = ("rounds", "predictions", "scores", "logits")


@dataclass(frozen=True)
class Interrupted:
    """An interrupted attempt: the parts of its record, and its last round."""

    record: dict[str, Any]
    last: Round


#: The tensors of a selection, by name.
_SELECTION = tuple(each.name for each in fields(Selection))


@dataclass(frozen=True)
class Bookmark:
    """The cache entry of one interrupted run. Changed code has another key, so that such a run starts over."""

    cache: Cache
    key: str

    @classmethod
    def of(cls, cache: Cache, spec: RunSpec, split: str) -> Bookmark:
        """The bookmark of a run with this spec and this split's digest."""
        return cls(cache, run_key(spec, split))

    def keep(self, record: Mapping[str, Any], last: Round) -> None:
        """Keep the record so far and what the next round needs."""
        parts = {} if last.selection is None else {part: getattr(last.selection, part) for part in _SELECTION}
        kept = {name: tensor for name, tensor in parts.items() if tensor is not None}
        note = {"record": {part: record[part] for part in _PARTS if part in record}, "settled": last.settled}
        self.cache.store("runs", self.key, kept, note)

    def find(self) -> Interrupted | None:
        """The interrupted attempt, if there is one."""
        return self.cache.load("runs", self.key, _read)

    def remove(self) -> None:
        """Forget it: the run has ended."""
        self.cache.discard("runs", self.key)


def _read(kept: Kept) -> Interrupted:
    selection = Selection(**kept.tensors) if kept.tensors else None
    record = dict(kept.note["record"])
    return Interrupted(record, Round(record["rounds"][-1], selection, bool(kept.note["settled"])))
