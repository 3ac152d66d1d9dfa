"""Records by dataset and label count, and in each section by row of its table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pseudobench.analysis.arm_settings import grouped
from pseudobench.analysis.arms import Arm, arms_of
from pseudobench.analysis.filtering import known_methods
from pseudobench.analysis.run_facts import Place, method_ranks, read_facts
from pseudobench.analysis.tables import Table, summarize
from pseudobench.contracts.columns import Record, headline, last_round
from pseudobench.contracts.datasets import MULTI
from pseudobench.errors import BenchError

if TYPE_CHECKING:
    from pseudobench.contracts.columns import Column
    from pseudobench.registry.components import Registry

_LONGEST = 150  # characters of a name that figures have room for


@dataclass(frozen=True)
class Series:
    """An arm that is drawn: its name in figures, its style there, and the records of its runs that are done."""

    arm: Arm
    name: str
    style: int
    done: tuple[Record, ...]


@dataclass(frozen=True)
class Section:
    """The runs of one dataset and label count. ``slug`` begins the names of its files.

    ``arms`` are all that there are, ``series`` those that are shown.
    """

    title: str
    slug: str
    arms: tuple[Arm, ...]
    records: tuple[Record, ...]
    table: Table
    series: tuple[Series, ...]
    gaps: Mapping[str, tuple[int, ...]]  # rows without a record of seeds that other rows have

    @property
    def names(self) -> dict[str, int]:
        """Names of the rows in their order, with their styles in figures."""
        return {each.name: each.style for each in self.series}

    @property
    def rivals(self) -> tuple[Series, ...]:
        """The series that are compared: all but those trained on all labels."""
        return tuple(each for each in self.series if not each.arm.ceiling)

    @property
    def ceilings(self) -> tuple[Series, ...]:
        """The series trained on all labels: a bound on the others."""
        return tuple(each for each in self.series if each.arm.ceiling)

    @property
    def measure(self) -> str:
        """What its runs are judged by."""
        done = (record for each in self.series for record in each.done)
        return next((headline(last_round(record))[0] for record in done), "accuracy")

    @property
    def multi_label(self) -> bool:
        """Whether its images have any number of classes."""
        return any(record.get("task") == MULTI for record in self.records)


def sections(
    records: Iterable[Record], registry: Registry, columns: Sequence[Column], methods: Sequence[str] | None = None
) -> list[Section]:
    """A section for every dataset, kind of evaluation and label count; of the ``methods`` named if any are.

    Verdicts are those of all methods, whichever are shown.
    """
    by_id = {record["run_id"]: record for record in records}
    if not by_id:
        raise BenchError("there are no run records to report on; `bench run` makes some")
    arms = arms_of(read_facts(by_id.values(), registry), registry)
    wanted = None if methods is None else known_methods(methods, (arm.method for arm in arms))
    found: dict[str, Section] = {}
    styles = _styles(arms, registry)
    for members in grouped(arms, lambda arm: arm.place[:3]).values():
        if wanted is None or any(arm.method in wanted for arm in members):
            section = _section(members, by_id, columns, wanted, styles)
            slug, index = section.slug, 2
            while slug in found:  # two names may differ in nothing that a file name can hold
                slug, index = f"{section.slug}-{index}", index + 1
            found[slug] = replace(section, slug=slug)
    return list(found.values())


def _styles(arms: Sequence[Arm], registry: Registry) -> dict[str, int]:
    """The style of each arm by its name: of a method its position in the list of methods, then the other names.

    So a method looks the same in every figure of every report.
    """
    ranks = method_ranks(registry)
    others = dict.fromkeys(arm.name for arm in sorted(arms, key=lambda arm: (arm.rank, arm.name)))
    return ranks | {name: len(ranks) + index for index, name in enumerate(name for name in others if name not in ranks)}


def _section(
    arms: Sequence[Arm],
    by_id: Mapping[str, Record],
    columns: Sequence[Column],
    wanted: set[str] | None,
    styles: Mapping[str, int],
) -> Section:
    table = summarize(arms, columns, wanted)
    shown = [row.arms[0] for row in table.rows]
    place = shown[0].place
    everyone = {run.spec["seed"] for arm in shown for run in arm.runs}
    series, gaps = [], {}
    for arm, name in zip(shown, _names(shown), strict=True):
        series.append(Series(arm, name, styles[arm.name], tuple(by_id[run.run_id] for run in arm.runs if run.done)))
        if missing := everyone - {run.spec["seed"] for run in arm.runs}:
            gaps[name] = tuple(sorted(missing))
    images = "" if place.evaluated_on == "test" else place.evaluated_on
    return Section(
        title=f"{place.dataset}, {place.labels} labels" + (f", on {images} images" if images else ""),
        slug=_slug(place.dataset, str(place.labels), *([images] if images else [])),
        arms=tuple(arms),
        records=tuple(by_id[run_id] for arm in shown for run_id in arm.run_ids),
        table=table,
        series=tuple(series),
        gaps=gaps,
    )


def _names(arms: Sequence[Arm]) -> list[str]:
    """The arms' names, with the parts of their places that differ, cut to what figures have room for."""
    keys = [key for key in Place._fields if len({getattr(arm.place, key) for arm in arms}) > 1]
    names: list[str] = []
    for arm in arms:
        rest = [str(getattr(arm.place, key)) for key in keys]
        name = arm.name + (f" ({', '.join(rest)})" if rest else "")
        name = name if len(name) <= _LONGEST else name[:_LONGEST] + "…"
        while name in names:
            name += "'"
        names.append(name)
    return names


def _slug(*parts: str) -> str:
    """A file's name, whatever the parts hold."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", "-".join(parts)).strip("_")[:80] or "section"
