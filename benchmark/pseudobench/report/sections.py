"""Records by dataset and label count, and in each section by row of its table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from pseudobench.api import results_folder
from pseudobench.errors import BenchError
from pseudobench.experiment import parse_names
from pseudobench.store import Store
from pseudobench.tables import Table, frame, ordered, summarize

if TYPE_CHECKING:
    import pandas as pd

    from pseudobench.columns import Column
    from pseudobench.registry import Registry

Record = Mapping[str, Any]
_KEYS = ("dataset", "evaluated on", "labels")
_LONGEST = 150  # characters of a name that figures have room for


@dataclass(frozen=True)
class Series:
    """One row of the table: its name in figures, and the records of its runs that are done."""

    name: str
    done: tuple[Record, ...]


@dataclass(frozen=True)
class Section:
    """The runs of one dataset and label count. ``slug`` begins the names of its files."""

    title: str
    slug: str
    runs: pd.DataFrame
    records: tuple[Record, ...]
    table: Table
    series: tuple[Series, ...]
    gaps: Mapping[str, tuple[int, ...]]  # rows without a record of seeds that other rows have

    @property
    def names(self) -> list[str]:
        """Names of the rows, in their order."""
        return [each.name for each in self.series]


def read_records(folders: Sequence[str], methods: str | None = None, dataset: str | None = None) -> list[Record]:
    """The records below all folders, or those of some methods and datasets."""
    stores = [Store(results_folder(folder)) for folder in folders or (None,)]
    records: list[Record] = list(chain.from_iterable(store.records() for store in stores))
    ids = [record["run_id"] for record in records]
    if len(set(ids)) < len(ids):
        raise BenchError("the same run is in more than one of the folders; name each folder once")
    for key, wanted in (("method", methods), ("dataset", dataset)):
        names = parse_names(wanted, key) if wanted else ()
        there = dict.fromkeys(record["spec"][key] for record in records)
        for name in names:
            if name not in there:
                raise BenchError(f"no run record has the {key} {name!r}; there are: {', '.join(there)}")
        records = [record for record in records if not names or record["spec"][key] in names]
    if not records:
        raise BenchError("there are no run records to report on; `bench run` makes some")
    return records


def sections(records: Iterable[Record], registry: Registry, columns: Sequence[Column]) -> list[Section]:
    """A section for every dataset, kind of evaluation and label count."""
    by_id = {record["run_id"]: record for record in records}
    runs = ordered(frame(by_id.values(), registry), registry)
    found: dict[str, Section] = {}
    for key, group in runs.groupby(list(_KEYS), sort=False):
        section = _section(tuple(str(part) for part in key), group, by_id, columns)
        slug, place = section.slug, 2
        while slug in found:  # two names may differ in nothing that a file name can hold
            slug, place = f"{section.slug}-{place}", place + 1
        found[slug] = Section(**{**vars(section), "slug": slug})
    return list(found.values())


def _section(
    key: tuple[str, ...], runs: pd.DataFrame, by_id: Mapping[str, Record], columns: Sequence[Column]
) -> Section:
    dataset, evaluated_on, labels = key
    table = summarize(runs, columns)
    everyone = set(runs["seed"])
    series: dict[str, Series] = {}
    gaps: dict[str, tuple[int, ...]] = {}
    for identity, group in runs.groupby(list(table.keys), sort=False):
        name = _name(dict(zip(table.keys, (str(part) for part in identity), strict=True)), series)
        done = group[group["status"] == "done"]
        series[name] = Series(name, tuple(by_id[run_id] for run_id in done["run_id"]))
        if missing := everyone - set(group["seed"]):
            gaps[name] = tuple(sorted(missing))
    return Section(
        title=f"{dataset}, {labels} labels" + ("" if evaluated_on == "test" else f", on {evaluated_on} images"),
        slug=_slug(dataset, labels, *([] if evaluated_on == "test" else [evaluated_on])),
        runs=runs,
        records=tuple(by_id[run_id] for run_id in runs["run_id"]),
        table=table,
        series=tuple(series.values()),
        gaps=gaps,
    )


def _name(identity: Mapping[str, str], taken: Iterable[str]) -> str:
    """The method, with whatever else tells its row from others."""
    rest = [value for key, value in identity.items() if key != "method" and value not in ("", "none")]
    name = identity["method"] + (f" ({', '.join(rest)})" if rest else "")
    name = name if len(name) <= _LONGEST else name[:_LONGEST] + "…"
    while name in taken:
        name += "'"
    return name


def _slug(*parts: str) -> str:
    """A file's name, whatever the parts hold."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", "-".join(parts)).strip("_")[:80] or "section"
