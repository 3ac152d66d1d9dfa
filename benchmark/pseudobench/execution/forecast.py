"""What an experiment would cost: runs, networks, time and disk, judged by what is done already. Nothing is executed."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pseudobench.contracts.settings import Calibration, Loop
from pseudobench.execution.runner import begins_with
from pseudobench.storage.cache import Cache

if TYPE_CHECKING:
    from pseudobench.contracts.run_spec import RunSpec
    from pseudobench.storage.records import Store


@dataclass(frozen=True)
class Forecast:
    """What the runs of an experiment that are not done would take.

    ``networks`` are the most that they can need; ``shared`` of them are first networks that several runs begin with,
    trained once. ``seconds`` and ``size`` (bytes) are None where no run of their kind is done yet; ``known`` is the
    number of waiting runs whose kind is.
    """

    runs: int
    done: int
    networks: int
    shared: int
    seconds: float | None
    known: int
    size: int | None


def forecast(specs: Sequence[RunSpec], store: Store, cache: Cache | None, *, force: bool, jobs: int) -> Forecast:
    """The cost of ``specs``, given the records in the store and the networks in the cache."""
    records = list(store.records()) if store.folder.is_dir() else []
    finished = [record for record in records if record["status"] == "done"]
    ids = set() if force else {record["run_id"] for record in finished}
    waiting = [spec for spec in specs if spec.run_id not in ids]
    shared = len(waiting) - len({begins_with(spec) for spec in waiting}) if cache is not None else 0
    networks = sum(map(most_networks, waiting))
    took = _times(finished)
    known = [statistics.mean(found) for spec in waiting if (found := took.get(_kind(vars(spec))))]
    seconds = statistics.mean(known) * len(waiting) / jobs if known else None
    return Forecast(
        len(specs),
        len(specs) - len(waiting),
        networks,
        shared,
        seconds if waiting else 0.0,
        len(known),
        _size(len(waiting), networks - shared, len(finished), store, cache),
    )


def most_networks(spec: RunSpec) -> int:
    """How many networks a run trains at most: in each round one, and one for each fold or member but in the last."""
    if "selector" not in spec.stages:
        return 1
    rounds = spec.group(Loop).rounds
    folds = spec.group(Calibration).folds if spec.policy == "cross" else 0
    members = int(spec.settings.get(spec.stages["estimator"], {}).get("networks") or 1)
    return rounds + 1 + rounds * max(folds, members - 1)


def _kind(spec: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(spec[key] for key in ("dataset", "labels", "method", "backbone", "preset"))


def _times(records: Sequence[Mapping[str, Any]]) -> dict[tuple[Any, ...], list[float]]:
    took: dict[tuple[Any, ...], list[float]] = {}
    for record in records:
        took.setdefault(_kind(record["spec"]), []).append(float(record["seconds"]))
    return took


def _size(runs: int, networks: int, finished: int, store: Store, cache: Cache | None) -> int | None:
    """Bytes of records and networks, as large as those that there are."""
    kept = [entry.size for entry in cache.entries() if entry.kind == "networks"] if cache is not None else []
    if not finished or (cache is not None and not kept):
        return None
    files = sum(path.stat().st_size for path in store.folder.rglob("*") if path.is_file())
    return round(runs * files / finished + (networks * statistics.mean(kept) if kept else 0))
