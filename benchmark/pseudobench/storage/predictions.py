"""Predictions beside a run's record: a compressed file, some 20 kB for 10,000 test samples."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pseudobench.base.paths import write_atomically
from pseudobench.contracts.predictions import Predictions
from pseudobench.errors import BenchError
from pseudobench.storage.packs import pack_with

if TYPE_CHECKING:
    import numpy as np


_SUFFIX = ".predictions.npz"


def save_predictions(folder: Path, run_id: str, found: Predictions) -> dict[str, str]:
    """Write a run's predictions beside its record; returns the part of the record that says where they are."""
    import numpy as np

    multi = found.predicted.ndim == 2
    small = np.packbits(found.predicted, axis=1) if multi else found.predicted.astype(smallest(found.predicted))
    return _save(
        folder / f"{run_id}{_SUFFIX}",
        predicted=small,
        probability=found.probability.astype(np.float16),
        correct=np.packbits(found.correct),
    )


def smallest(classes: np.ndarray) -> type[np.generic]:
    """The smallest type of integer that holds ``classes int64 [N]``."""
    import numpy as np

    return np.uint8 if classes.max(initial=0) < 256 else np.uint16 if classes.max(initial=0) < 65536 else np.uint32


def save_logits(folder: Path, run_id: str, **logits: Any) -> dict[str, str]:
    """Write whole logits, ``test`` and ``pool`` ``float32 [N, C]``, beside a run's record."""
    return _save(folder / f"{run_id}.logits.npz", **logits)


def _save(path: Path, **arrays: Any) -> dict[str, str]:
    import numpy as np

    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    write_atomically(path, content.getvalue())
    return {"file": path.name, "sha256": hashlib.sha256(content.getvalue()).hexdigest()}


def load_predictions(folder: Path, said: Mapping[str, str]) -> Predictions:
    """The predictions of a record in ``folder``; ``said``: their file and hash in the record. Raises if they differ.

    Packed ones have lost their probabilities, which are NaN then.
    """
    import numpy as np

    packed = _packed(folder, said)
    if packed is not None:
        predicted, correct = packed
        found = predicted if predicted.ndim == 2 else predicted.astype(np.int64)
        return Predictions(found, np.full(predicted.shape, np.nan, np.float32), correct)
    predicted, probability, correct = _load(folder, said, "predicted", "probability", "correct")
    if probability.ndim == 2:
        predicted = np.unpackbits(predicted, axis=1, count=probability.shape[1]).astype(bool)
    return Predictions(
        predicted if probability.ndim == 2 else predicted.astype(np.int64),
        probability.astype(np.float32),
        np.unpackbits(correct, count=len(probability)).astype(bool),
    )


def load_correct(folder: Path, said: Mapping[str, str]) -> np.ndarray:
    """Their part ``correct`` alone, bool [N]: a report reads that of every run."""
    import numpy as np

    packed = _packed(folder, said)
    if packed is not None:
        return packed[1]
    predicted, correct = _load(folder, said, "predicted", "correct")
    return np.unpackbits(correct, count=len(predicted)).astype(bool)


def _packed(folder: Path, said: Mapping[str, str]) -> tuple[np.ndarray, np.ndarray] | None:
    """Packed predictions and which are correct; None where there is a file of their own, or no pack that has them."""
    path = folder / Path(said["file"]).name
    run_id = path.name.removesuffix(_SUFFIX)
    pack = None if path.exists() else pack_with(folder, run_id)
    predicted, correct = (pack.predicted(run_id), pack.correct(run_id)) if pack else (None, None)
    return None if predicted is None or correct is None else (predicted, correct)


def _load(folder: Path, said: Mapping[str, str], *names: str) -> list[np.ndarray]:
    import numpy as np

    path = folder / Path(said["file"]).name
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BenchError(f"can't read {path}: {error.strerror}") from None
    if hashlib.sha256(content).hexdigest() != said["sha256"]:
        raise BenchError(f"{path} is not what its record says; run again with --force")
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as held:
            return [held[name] for name in names]
    except (OSError, ValueError, KeyError, zipfile.BadZipFile):
        raise BenchError(f"{path} holds no predictions; run again with --force") from None
