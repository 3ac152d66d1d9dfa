"""Records by dataset and label count, and in each section by row of its table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pseudobench.analysis.arms import Arm, arms_of
from pseudobench.analysis.dataframe import frame, ordered
from pseudobench.analysis.tables import Table, summarize
from pseudobench.contracts.columns import Record, headline, last_round
from pseudobench.contracts.datasets import MULTI
from pseudobench.errors import BenchError

if TYPE_CHECKING:
    import pandas as pd

    from pseudobench.contracts.columns import Column
    from pseudobench.registry.components import Registry

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

    @property
    def measure(self) -> str:
        """What its runs are judged by."""
        done = (record for each in self.series for record in each.done)
        return next((headline(last_round(record))[0] for record in done), "accuracy")

    @property
    def multi_label(self) -> bool:
        """Whether its images have any number of classes."""
        return any(record.get("task") == MULTI for record in self.records)


def sections(records: Iterable[Record], registry: Registry, columns: Sequence[Column]) -> list[Section]:
    """A section for every dataset, kind of evaluation and label count."""
    by_id = {record["run_id"]: record for record in records}
    if not by_id:
        raise BenchError("there are no run records to report on; `bench run` makes some")
    runs = ordered(frame(by_id.values(), registry), registry)
    found: dict[str, Section] = {}
    for key, group in runs.groupby(list(_KEYS), sort=False):
        section = _section(tuple(str(part) for part in key), group, by_id, columns)
        slug, place = section.slug, 2
        while slug in found:  # two names may differ in nothing that a file name can hold
            slug, place = f"{section.slug}-{place}", place + 1
        found[slug] = replace(section, slug=slug)
    return list(found.values())


def _section(
    key: tuple[str, ...], runs: pd.DataFrame, by_id: Mapping[str, Record], columns: Sequence[Column]
) -> Section:
    dataset, evaluated_on, labels = key
    table = summarize(runs, columns)
    everyone = set(runs["seed"])
    series: dict[str, Series] = {}
    gaps: dict[str, tuple[int, ...]] = {}
    for arm in arms_of(runs, []):
        name = _name(arm, table.keys, series)
        own = [by_id[run_id] for run_id in arm.run_ids]
        series[name] = Series(name, tuple(record for record in own if record["status"] == "done"))
        if missing := everyone - {record["spec"]["seed"] for record in own}:
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


def _name(arm: Arm, keys: Sequence[str], taken: Iterable[str]) -> str:
    """The method, with whatever else tells its row from others."""
    rest = [arm.identity[key] for key in keys if key != "method" and arm.identity[key] not in ("", "none")]
    name = arm.identity["method"] + (f" ({', '.join(rest)})" if rest else "")
    name = name if len(name) <= _LONGEST else name[:_LONGEST] + "…"
    while name in taken:
        name += "'"
    return name


def _slug(*parts: str) -> str:
    """A file's name, whatever the parts hold."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", "-".join(parts)).strip("_")[:80] or "section"
