"""Notes about runs that were given to a scheduler: their job, and how they ended. Files beside the records."""

from __future__ import annotations

import json
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pseudobench.base.paths import is_remote
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
            with suppress(OSError, ValueError):
                found[path.stem] = str(json.loads(path.read_text(encoding="utf-8")))
        return found

    def has(self, run_id: str) -> bool:
        """Whether a run was given to a job and has not ended."""
        return not is_remote(self.folder) and (self._notes / f"{run_id}.job").exists() and self.end(run_id) is None

    def put_end(self, run_id: str, reason: str | None) -> None:
        """Note that a run has ended; ``reason`` is why it left no record, if it left none."""
        self._write(f"{run_id}.ended", reason)

    def end(self, run_id: str) -> End | None:
        """How a run ended; None as long as it has not."""
        try:
            return End(json.loads((self._notes / f"{run_id}.ended").read_text(encoding="utf-8")))
        except (OSError, ValueError):
            return None

    def forget(self, run_id: str) -> None:
        """Remove the notes about a run that was collected."""
        for kind in ("job", "ended"):
            (self._notes / f"{run_id}.{kind}").unlink(missing_ok=True)

    def new_folder(self) -> Path:
        """A folder for a scheduler's own files; a new one each time, since job numbers come again."""
        self._notes.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(dir=self._notes, prefix="jobs-"))

    def _write(self, name: str, value: str | None) -> None:
        self._notes.mkdir(parents=True, exist_ok=True)
        unfinished = self._notes / f".{name}"
        unfinished.write_text(json.dumps(value), encoding="utf-8")
        unfinished.replace(self._notes / name)
