"""Vectors with labels from a file: embeddings of any model."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import numpy as np

from pseudobench import BenchError
from pseudobench_tables.arrays import Array, Arrays, parted, separate

PARTS = ("train_x", "train_y", "test_x", "test_y")


def read_features(path: Path) -> Arrays:
    """The vectors in a file, which is read once as long as it does not change."""
    if path.suffix not in _READERS:
        raise BenchError(f"features:{path}: a file ending in {', '.join(_READERS)}")
    if not path.is_file():
        raise BenchError(f"there is no file {path}")
    return _read(path, path.stat().st_mtime_ns)


@cache
def _read(path: Path, _changed: int) -> Arrays:
    arrays = _READERS[path.suffix](path)
    if set(PARTS) <= arrays.keys():
        return separate(str(path), *(arrays[name] for name in PARTS))
    if {"x", "y"} <= arrays.keys():
        return parted(str(path), arrays["x"], arrays["y"])
    found = ", ".join(sorted(arrays)) or "none"
    raise BenchError(f"{path} must hold the arrays {', '.join(PARTS)}, or x and y; it has: {found}")


def _npz(path: Path) -> Mapping[str, Array]:
    try:
        with path.open("rb") as file:
            loaded = np.load(file, allow_pickle=False)
            if not isinstance(loaded, np.lib.npyio.NpzFile):
                raise ValueError("it is one array, not an archive of arrays by name")
            return {name: loaded[name] for name in loaded.files if name in (*PARTS, "x", "y")}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        pickled = "pickle" in str(error).lower()
        reason = "not an archive of numpy, or with objects in it" if pickled else " ".join(str(error).split())
        raise BenchError(f"{path} can't be read as .npz: {reason}") from None


def _safetensors(path: Path) -> Mapping[str, Array]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return load_file(path)
    except (SafetensorError, OSError, TypeError, KeyError) as error:
        raise BenchError(f"{path} can't be read as .safetensors: {' '.join(str(error).split())}") from None


def _parquet(path: Path) -> Mapping[str, Array]:
    """Columns ``y`` and, for the vectors, ``x`` with a list in each row or one column for each number.

    A column ``part`` says which rows are for testing.
    """
    import pandas as pd

    try:
        table = pd.read_parquet(path, engine="pyarrow")
    except ImportError:
        raise BenchError(f"{path}: Parquet needs pyarrow: pip install 'pseudobench[parquet]'") from None
    except (OSError, ValueError) as error:
        raise BenchError(f"{path} can't be read as Parquet: {' '.join(str(error).split())}") from None
    if "y" not in table:
        raise BenchError(f"{path} must have a column y with the labels; it has: {', '.join(map(str, table))}")
    labels = table["y"]
    y = labels.to_numpy() if labels.dtype.kind in "iub" else labels.astype(str).to_numpy(dtype=str)
    numbers = table.drop(columns=["y", "part"], errors="ignore")
    try:
        x = np.array(table["x"].tolist()) if list(numbers) == ["x"] else numbers.to_numpy(dtype=np.float64)
    except ValueError:
        raise BenchError(
            f"{path}: besides y and part, every column is of numbers, or x is one of equally long lists"
        ) from None
    if "part" not in table:
        return {"x": x, "y": y}
    odd = set(table["part"]) - {"train", "test"}
    if odd:
        raise BenchError(f"{path}: a part is train or test, not {odd.pop()!r}")
    test = (table["part"] == "test").to_numpy()
    return dict(zip(PARTS, (x[~test], y[~test], x[test], y[test]), strict=True))


_READERS: dict[str, Callable[[Path], Mapping[str, Array]]] = {
    ".npz": _npz,
    ".safetensors": _safetensors,
    ".parquet": _parquet,
}
