"""Tables of numbers and categories as vectors. The encoding is fitted to the training rows."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from pseudobench import BenchError
from pseudobench.files.own_files import held_for_testing, read_table
from pseudobench_tables.arrays import Array, Arrays, separate

#: Names of the label column, in order of preference; without one of them it is the last column.
LABELS = ("label", "target")
MISSING = {"", "na", "n/a", "nan", "null", "none", "?"}
#: Encoded columns at most: a column of names would give one for each row.
LIMIT = 4096


def read_encoded(path: Path) -> Arrays:
    """The rows of a CSV file as vectors; the file is read once as long as it does not change."""
    if not path.is_file():
        raise BenchError(f"there is no table {path}")
    return _read(path, path.stat().st_mtime_ns)


@cache
def _read(path: Path, _changed: int) -> Arrays:
    header, rows = read_table(path)
    lowered = [name.lower() for name in header]
    label = next((lowered.index(name) for name in LABELS if name in lowered), len(header) - 1)
    part = lowered.index("part") if "part" in lowered else None
    columns = [place for place in range(len(header)) if place not in (label, part)]
    if not columns or len(rows) < 2:
        raise BenchError(f"{path} must have a column besides the label, {header[label]!r}, and several rows")
    cells = np.array([[cell.strip() for cell in row] for row in rows], dtype=object)
    labels = cells[:, label].astype(str)
    if "" in labels:
        raise BenchError(f"{path}, row {int(np.flatnonzero(labels == '')[0]) + 1}: no {header[label]}")
    test = _test(path, labels, None if part is None else cells[:, part])
    if test.all():
        raise BenchError(f"{path} must have samples both to train and to test with: several rows of each class")
    x = _encode(path, [header[place] for place in columns], cells[:, columns], test)
    return separate(str(path), x[~test], labels[~test], x[test], labels[test])


def _test(path: Path, labels: Array, parts: Array | None) -> Array:
    """Which rows are for testing, ``bool [N]``."""
    if parts is None:
        return np.array(held_for_testing(labels.tolist()), dtype=bool)
    odd = set(parts.tolist()) - {"train", "test"}
    if odd or len(set(parts.tolist())) < 2:
        raise BenchError(f"{path}: the column part says train or test, and both occur; not {sorted(odd or set(parts))}")
    return np.asarray(parts == "test")


def _encode(path: Path, names: list[str], cells: Array, test: Array) -> Array:
    """Numbers with their gaps filled by medians, standardized; categories one-hot: ``float [N, F]``.

    The type of a column, its median, moments and categories come from training rows alone. A category that no
    training row has is all zeros.
    """
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    encoded = []
    for name, column in zip(names, cells.T, strict=True):
        numbers = _numbers(path, name, column, test)
        if numbers is None:
            encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
            values = column.astype(str)[:, None]
        else:
            imputer = SimpleImputer(strategy="median", keep_empty_features=True).fit(numbers[~test])
            encoder, values = StandardScaler(), imputer.transform(numbers)
        encoder.fit(values[~test])
        if numbers is None and len(encoder.categories_[0]) > LIMIT:
            raise BenchError(f"{path}: the column {name!r} has {len(encoder.categories_[0])} categories; drop it")
        encoded.append(encoder.transform(values))
    return np.concatenate(encoded, axis=1)


def _numbers(path: Path, name: str, column: Array, test: Array) -> Array | None:
    """A column as ``float [N, 1]`` with NaN for gaps; None if a training row has a text there."""
    found = np.full((len(column), 1), np.nan)
    for place, cell in enumerate(column):
        if cell.lower() not in MISSING:
            try:
                found[place] = float(cell)
            except ValueError:
                if not test[place]:
                    return None
                found[place] = np.inf
    if np.isinf(found).any():
        row = int(np.flatnonzero(np.isinf(found[:, 0]))[0])
        raise BenchError(f"{path}, row {row + 1}: {column[row]!r} in the column {name!r} of numbers")
    return found
