"""Vectors with labels as arrays, checked, and turned into a dataset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pseudobench import MULTI, SINGLE, BenchError
from pseudobench.files.own_files import held_for_testing

if TYPE_CHECKING:
    from pseudobench import Dataset

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Arrays:
    """Vectors ``float32 [N, F]`` and labels ``int64 [N]`` or ``bool [N, C]``, for training and for testing."""

    classes: int
    train_x: Array
    train_y: Array
    test_x: Array
    test_y: Array

    @property
    def task(self) -> str:
        """Whether each sample has one class, or any number of them."""
        return SINGLE if self.train_y.ndim == 1 else MULTI

    def dataset(self, name: str) -> Dataset:
        """The arrays as a dataset."""
        import torch

        from pseudobench import Dataset

        train_x, train_y, test_x, test_y = (
            torch.from_numpy(np.ascontiguousarray(part))
            for part in (self.train_x, self.train_y, self.test_x, self.test_y)
        )
        return Dataset(name, self.classes, train_x, train_y, test_x, test_y)


def parted(where: str, x: Array, y: Array) -> Arrays:
    """One array of vectors and its labels; of each class one sample in five is for testing."""
    vectors, labels, classes = _vectors(where, "x", x), *_labels(where, y, y)[::2]
    _check_length(where, "x", "y", vectors, labels)
    test = np.array(held_for_testing(labels.tolist() if labels.ndim == 1 else [0] * len(labels)), dtype=bool)
    return _checked(where, Arrays(classes, vectors[~test], labels[~test], vectors[test], labels[test]))


def separate(where: str, train_x: Array, train_y: Array, test_x: Array, test_y: Array) -> Arrays:
    """Vectors and labels that come in two parts."""
    train, test = _vectors(where, "train_x", train_x), _vectors(where, "test_x", test_x)
    if train.shape[1] != test.shape[1]:
        raise BenchError(f"{where}: train_x has {train.shape[1]} columns and test_x {test.shape[1]}")
    of_train, of_test, classes = _labels(where, train_y, test_y)
    _check_length(where, "train_x", "train_y", train, of_train)
    _check_length(where, "test_x", "test_y", test, of_test)
    return _checked(where, Arrays(classes, train, of_train, test, of_test))


def _vectors(where: str, name: str, x: Array) -> Array:
    """``float32 [N, F]`` of finite numbers."""
    if x.ndim != 2 or x.dtype.kind not in "fiub" or 0 in x.shape:
        raise BenchError(f"{where}: {name} must be numbers [N, F], and is {x.dtype} {list(x.shape)}")
    with np.errstate(over="ignore"):  # too large for float32: infinite, and refused
        found = x.astype(np.float32)
    if not np.isfinite(found).all():
        row, column = np.argwhere(~np.isfinite(found))[0]
        raise BenchError(f"{where}: {name}[{row}, {column}] is {x[row, column]}; vectors are finite numbers of 32 bits")
    return found


def _labels(where: str, train: Array, test: Array) -> tuple[Array, Array, int]:
    """Labels as ``int64 [N]``, classes being numbered in sorted order, or ``bool [N, C]``; and how many classes."""
    if train.ndim == 2 and test.ndim == 2 and train.shape[1] == test.shape[1] and _is_multi_hot(train, test):
        return train.astype(bool), test.astype(bool), train.shape[1]
    if train.ndim != 1 or test.ndim != 1 or {train.dtype.kind, test.dtype.kind} - set("iubU"):
        shown = f"{train.dtype} {list(train.shape)}"
        raise BenchError(f"{where}: labels are whole numbers or texts [N], or zeros and ones [N, C]; these are {shown}")
    if (train.dtype.kind == "U") != (test.dtype.kind == "U"):
        raise BenchError(f"{where}: labels are numbers in one part and texts in the other")
    names = np.unique(train)
    unknown = np.setdiff1d(test, names)
    if len(unknown):
        raise BenchError(f"{where}: no training sample has the class {unknown[0]!s}, and a test sample does")
    return np.searchsorted(names, train), np.searchsorted(names, test), len(names)


def _is_multi_hot(*parts: Array) -> bool:
    return all(part.dtype.kind in "iub" and bool(np.isin(part, (0, 1)).all()) for part in parts)


def _check_length(where: str, first: str, second: str, x: Array, y: Array) -> None:
    if len(x) != len(y):
        raise BenchError(f"{where}: {first} has {len(x)} rows and {second} {len(y)}")


def _checked(where: str, arrays: Arrays) -> Arrays:
    if arrays.classes < 2 or not len(arrays.train_y) or not len(arrays.test_y):
        raise BenchError(f"{where} must have at least two classes, and samples both to train and to test with")
    return arrays
