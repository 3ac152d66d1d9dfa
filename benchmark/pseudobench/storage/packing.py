"""Making packs of finished runs. `packs` says what is in one."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pseudobench.base.paths import write_output
from pseudobench.errors import BenchError
from pseudobench.storage.packs import FOLDER, SUFFIX, Pack, packs_of
from pseudobench.storage.predictions import load_predictions, smallest
from pseudobench.storage.records import Store, record_files

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Packed:
    """What packing did to a folder: how many runs, and the bytes of their files before and after."""

    folder: Path
    runs: int
    before: int
    after: int


def loose_runs(stores: Iterable[Store]) -> dict[Path, list[Mapping[str, Any]]]:
    """The finished records below folders that are files, each once, by the folder that they lie in.

    Runs whose logits were kept stay as they are, and so does a run that a process is at.
    """
    found: dict[Path, list[Mapping[str, Any]]] = {}
    for path, record in record_files(stores):
        done = record["status"] == "done" and not record.get("logits")
        if done and path.exists() and not Store(path.parent).is_claimed(record["run_id"]):
            found.setdefault(path.parent, []).append(record)
    return found


def pack_runs(folder: Path, records: Iterable[Mapping[str, Any]]) -> Packed:
    """Move ``records``, files in ``folder``, into a new pack; the files go when the pack was read back and is right.

    An older pack that holds one of the runs is taken into the new one, in which the file's record counts. The file of a
    run that has been begun again since its record was read stays, and counts.
    """
    loose = sorted(records, key=lambda record: str(record["run_id"]))
    names = {str(record["run_id"]) for record in loose}
    older = [pack for pack in packs_of(folder) if names & pack.records.keys()]
    older.reverse()  # of two packs with one run the first counts
    lines = {run_id: line for pack in older for run_id, line in pack.records.items()}
    lines |= {record["run_id"]: json.dumps(record, separators=(",", ":")).encode() for record in loose}
    answers = {run_id: found for pack in older for run_id, found in _answers(pack)}
    for record in loose:
        answers.pop(record["run_id"], None)
        if record.get("predictions"):
            found = load_predictions(folder, record["predictions"])
            small = found.predicted if found.predicted.ndim == 2 else found.predicted.astype(smallest(found.predicted))
            answers[record["run_id"]] = small, found.correct
    content = _zipped(lines, answers)
    path = folder / FOLDER / f"runs-{hashlib.sha256(content).hexdigest()[:10]}{SUFFIX}"
    write_output(path, content)
    _check(folder, path, lines, answers)
    done = [run_id for record in loose if Store(folder).load(run_id := str(record["run_id"])) == record]
    gone = [file for name in done for file in (folder / f"{name}.predictions.npz", folder / f"{name}.json")]
    gone = [*(pack.path for pack in older if pack.path != path), *(file for file in gone if file.exists())]
    before = sum(file.stat().st_size for file in gone)
    for file in gone:
        file.unlink()
    return Packed(folder, len(done), before, len(content))


def _answers(pack: Pack) -> Iterator[tuple[str, tuple[np.ndarray, np.ndarray]]]:
    for run_id in pack.columns:
        predicted, correct = pack.predicted(run_id), pack.correct(run_id)
        assert predicted is not None
        assert correct is not None
        yield run_id, (predicted, correct)


def _zipped(lines: Mapping[str, bytes], answers: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> bytes:
    """The bytes of a pack; the same for the same runs."""
    import numpy as np

    groups: dict[tuple[object, ...], list[str]] = {}
    for run_id, (predicted, _) in sorted(answers.items()):
        groups.setdefault((predicted.dtype, predicted.shape), []).append(run_id)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_LZMA) as members:

        def add(name: str, data: bytes) -> None:
            entry = zipfile.ZipInfo(name)  # of 1980, so that the bytes do not depend on the time
            entry.compress_type = zipfile.ZIP_LZMA
            members.writestr(entry, data)

        runs = sorted(lines)
        add("index.json", json.dumps({"runs": runs, "predictions": list(groups.values())}).encode())
        add("records.jsonl", b"\n".join(lines[run_id] for run_id in runs))
        for at, inside in enumerate(groups.values()):
            for place, kind in enumerate(("predicted", "correct")):
                array = io.BytesIO()
                np.save(array, np.stack([answers[run_id][place] for run_id in inside], axis=1))
                add(f"{kind}-{at}.npy", array.getvalue())
    return content.getvalue()


def _check(
    folder: Path, path: Path, lines: Mapping[str, bytes], answers: Mapping[str, tuple[np.ndarray, np.ndarray]]
) -> None:
    """Raise unless the pack at ``path`` gives back every record and every prediction."""
    import numpy as np

    pack = next(pack for pack in packs_of(folder) if pack.path == path)
    same = pack.records == lines and pack.columns.keys() == answers.keys()
    if not same or not all(
        np.array_equal(found, kept)
        for run_id, predictions in _answers(pack)
        for found, kept in zip(predictions, answers[run_id], strict=True)
    ):
        raise BenchError(f"{path} does not hold what was put into it; the files of the runs stay as they are")
