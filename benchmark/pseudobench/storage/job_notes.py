"""Notes about runs that were given to a scheduler: their job, and how they ended. Files beside the records."""

from __future__ import annotations

import json
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pseudobench.base.paths import instead_of_file, is_remote, write_output
from pseudobench.errors import BenchError


@dataclass(frozen=True)
class End:
    """How a run ended: ``reason`` says why it left no record; None if it left one."""

    reason: str | None


@dataclass(frozen=True)
class JobNotes:
    """Notes about the runs whose records are in ``folder``."""

    folder: Path

    @property
    def _notes(self) -> Path:
        return self.folder.absolute() / ".queue"

    def prepare(self) -> None:
        """Raise unless notes can be left there."""
        if is_remote(self.folder):
            raise BenchError(f"jobs leave notes beside the records: a folder that all nodes see, not {self.folder}")

    def put(self, run_id: str, job: str) -> None:
        """Note the job that a run was given to."""
        self._write(f"{run_id}.job", job)

    def jobs(self) -> dict[str, str]:
        """The job of every run that was given to one and not collected yet."""
        found = {}
        for path in self._notes.glob("*.job"):
            job = _read(path)
            if isinstance(job, str):
                found[path.stem] = job
        return found

    def has(self, run_id: str) -> bool:
        """Whether a run was given to a job and has not ended."""
        return not is_remote(self.folder) and (self._notes / f"{run_id}.job").exists() and self.end(run_id) is None

    def put_end(self, run_id: str, reason: str | None) -> None:
        """Note that a run has ended; ``reason`` is why it left no record, if it left none."""
        self._write(f"{run_id}.ended", reason)

    def end(self, run_id: str) -> End | None:
        """How a run ended; None as long as it has not."""
        reason = _read(self._notes / f"{run_id}.ended")
        return End(reason) if isinstance(reason, str | None) else None

    def forget(self, run_id: str) -> None:
        """Remove the notes about a run that was collected."""
        for kind in ("job", "ended"):
            with suppress(OSError):
                (self._notes / f"{run_id}.{kind}").unlink()

    def new_folder(self) -> Path:
        """A folder for a scheduler's own files; a new one each time, since job numbers come again."""
        self._notes.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(dir=self._notes, prefix="jobs-"))

    def _write(self, name: str, value: str | None) -> None:
        write_output(self._notes / name, json.dumps(value).encode())


def _read(path: Path) -> Any:
    """The content of a note; ``...`` if there is no readable note."""
    with suppress(OSError, ValueError, RecursionError):
        if instead_of_file(path) is None:
            return json.loads(path.read_text(encoding="utf-8"))
    return ...
