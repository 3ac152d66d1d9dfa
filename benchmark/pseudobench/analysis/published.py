"""Published numbers, to be shown beside ours and never among them: they come from other code, compute and rules."""

from __future__ import annotations

import csv
import importlib.metadata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from pathlib import Path

from pseudobench.base.paths import instead_of_file
from pseudobench.errors import BenchError

FILE = Path("baselines") / "published.csv"
#: How a number is printed there, which of our columns that is, and how it becomes a number as ours are shown.
METRICS: dict[str, tuple[str, Callable[[float], float]]] = {
    "test error %": ("accuracy", lambda value: 100 - value),
    "test accuracy %": ("accuracy", lambda value: value),
    "coverage": ("coverage", lambda value: 100 * value),
    "mean set size": ("set-size", lambda value: value),
}


@dataclass(frozen=True)
class Published:
    """One number, ``value`` and ``interval`` as they are printed. Empty: the source that was read does not say."""

    citation: str
    read_in: str
    dataset: str
    labels: str
    method: str
    backbone: str
    metric: str
    value: str
    interval: str
    checkpoint: str  # which network was tested: best (on the test images), or last
    differs: str  # from how we measure

    @property
    def column(self) -> str:
        """Our column for it."""
        return METRICS[self.metric][0]

    @property
    def converted(self) -> float:
        """The number as our tables show it; an error becomes 100 minus it."""
        return METRICS[self.metric][1](float(self.value))


def find_published(given: str | None = None) -> Path:
    """The file asked for; else that of the working folder, of the checkout, or of the installed package."""
    if given is not None:
        return Path(given)
    files = importlib.metadata.files("pseudobench") or []
    installed = [Path(str(file.locate())) for file in files if file.name == FILE.name]
    for path in (FILE, Path(__file__).parents[3] / FILE, *installed):
        if path.is_file():
            return path
    raise BenchError(f"there is no {FILE} here; --published-from FILE says where published numbers are")


def read_published(path: Path) -> list[Published]:
    """The numbers of a file; raises unless each is whole."""
    names = [field.name for field in fields(Published)]
    odd = instead_of_file(path)
    if odd is not None:
        raise BenchError(f"{path} is {odd}, not a CSV file")
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            rows = list(reader)
    except OSError as error:
        raise BenchError(f"{path}: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise BenchError(f"{path} is not a CSV file: {error}") from None
    if list(reader.fieldnames or ()) != names:
        raise BenchError(f"{path}: its columns must be {', '.join(names)}")
    return [_checked(path, line, row) for line, row in enumerate(rows, start=2)]


def _checked(path: Path, line: int, row: dict[str, str]) -> Published:
    if None in row or None in row.values():
        raise BenchError(f"{path}, line {line}: not as many values as columns")
    found = Published(**row)
    if found.metric not in METRICS:
        raise BenchError(f"{path}, line {line}: the metric {found.metric!r} is none of {', '.join(METRICS)}")
    try:
        float(found.value), float(found.interval or 0)
    except ValueError:
        raise BenchError(
            f"{path}, line {line}: value {found.value!r} and interval {found.interval!r}: numbers"
        ) from None
    if not (found.citation and found.read_in and found.dataset and found.method):
        raise BenchError(f"{path}, line {line}: a number needs a citation, where it was read, a dataset and a method")
    return found


def beside(numbers: Iterable[Published], places: Iterable[tuple[str, str]], columns: Iterable[str]) -> list[Published]:
    """Those for the datasets and label counts, and the columns, that a table of ours shows."""
    wanted, names = set(places), set(columns)
    fits = [each for each in numbers if (each.dataset, each.labels) in wanted and each.column in names]
    return sorted(fits, key=lambda each: (each.dataset, len(each.labels), each.labels))
