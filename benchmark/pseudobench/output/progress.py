"""Showing the progress of an experiment: as bars in a terminal, as lines elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.live_render import LiveRender
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Column

from pseudobench.base.text import counted, visible
from pseudobench.contracts.columns import headline
from pseudobench.contracts.events import Listener
from pseudobench.contracts.events import Progress as Shown
from pseudobench.output.console import err, note, plain

if TYPE_CHECKING:
    from rich.console import Console
    from rich.control import Control

    from pseudobench.contracts.run_spec import RunSpec


def listener(quiet: bool) -> Listener:
    """The listener that shows progress: bars in a terminal, lines elsewhere, nothing if ``quiet``."""
    if quiet:
        return Listener()
    return LiveProgress() if err.is_terminal else PlainProgress()


def teller(shown: Listener) -> Callable[[str, int, int | None], None]:
    """What hears of downloads, for the listener that shows progress."""
    told: Callable[[str, int, int | None], None] = getattr(shown, "told", lambda _text, _done, _total: None)
    return told


def _cut(width: int) -> Column:
    """A column that never makes lines longer than 80: a terminal that is made narrower would break them in two."""
    return Column(max_width=width, no_wrap=True, overflow="ellipsis")


def _outcome(record: Mapping[str, Any]) -> str:
    if record["status"] != "done":
        return f"FAILED: {record['error']['message']}"
    last = record["rounds"][-1]
    work = [round_.get("work") or {} for round_ in record["rounds"]]
    trained, reused = (int(sum(each.get(key, 0) for each in work)) for key in ("trained", "reused"))
    networks = f"trained {trained}" + (f", reused {reused}" if reused else "")
    return f"{_measured(last)}, {networks}, {record['seconds']:.1f} s"


def _measured(round_: Mapping[str, Any]) -> str:
    name, value = headline(round_)
    return f"{name} {100 * value:.2f} %"


def _outdated(count: int, names: Sequence[str]) -> str:
    runs = f"{counted(count, 'run')} {'is' if count == 1 else 'are'}"
    return f"{runs} run again: changed since the finished record: {', '.join(map(_source, names))}"


def _source(name: str) -> str:
    return {"data": "the data", "pseudobench": "the harness's results"}.get(name, f"the code of {name!r}")


class PlainProgress(Listener):
    """A line for each round and each run, for logs and pipes."""

    def __init__(self) -> None:
        self._ended = self._total = self._quarter = 0
        self._told: set[str] = set()

    def told(self, activity: str, _done: int, _total: int | None) -> None:
        """Print a line when an activity begins."""
        if activity not in self._told:
            self._told.add(activity)
            note(activity)

    def experiment_started(self, total: int, finished_before: int) -> None:
        """Print the number of runs."""
        self._total, self._ended = total, finished_before
        note(f"{counted(total, 'run')}, {finished_before} of them finished before")

    def runs_outdated(self, count: int, names: Sequence[str]) -> None:
        """Say why."""
        note(_outdated(count, names))

    def features_computed(self, done: int, total: int) -> None:
        """Print a line at each quarter."""
        quarter = 4 * done // total
        if quarter > self._quarter:
            note(f"features: {done} of {total} images")
        self._quarter = quarter % 4

    def round_finished(self, spec: RunSpec, round_: Mapping[str, Any]) -> None:
        """Print the round's result."""
        selection = round_["selection"]
        chosen = f", {selection['positive_samples']} of {selection['pool']} labeled" if selection else ""
        note(f"  {spec.run_id} round {round_['round']}: {_measured(round_)}{chosen}")

    def run_finished(self, spec: RunSpec, record: Mapping[str, Any]) -> None:
        """Print the run's result, or its error."""
        self._ended += 1
        note(f"[{self._ended}/{self._total}] {spec.run_id}: {_outcome(record)}")


class _Reflowed(LiveRender):
    """Bars that are erased whole, also after a terminal was made narrower and has broken their lines in two."""

    def __init__(self, console: Console) -> None:
        super().__init__("")
        self._console = console

    def position_cursor(self) -> Control:
        """Go to the first line of the bars."""
        if drawn := getattr(self, "_shape", None):  # rich's own note of what it drew, which has no public name
            width, height = drawn
            now = self._console.width
            self._shape = min(width, now), height * max(math.ceil(width / now), 1)
        return super().position_cursor()


class LiveProgress(Listener):
    """Bars for the experiment and the current runs, with the time left; finished runs scroll by above."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("{task.description}", markup=False, table_column=_cut(34)),
            BarColumn(bar_width=12),
            TextColumn("{task.fields[note]}", markup=False, table_column=_cut(22)),
            TimeRemainingColumn(compact=True, elapsed_when_finished=True),
            console=err,
            transient=True,
        )
        self._progress.live._live_render = _Reflowed(err)
        self._fetching: TaskID | None = None
        self._runs: TaskID | None = None
        self._todo = 0
        self._features: TaskID | None = None
        self._current: dict[str, TaskID] = {}
        self._last: dict[str, str] = {}
        self._shares: dict[str, float] = {}

    def experiment_started(self, total: int, finished_before: int) -> None:
        """Show the bars."""
        note(f"{counted(total, 'run')}, {finished_before} of them finished before")
        self._end_fetching()
        self._todo = total - finished_before
        self._runs = self._progress.add_task("all runs", total=self._todo, note=f"0/{self._todo}")
        if self._todo:
            self._progress.start()

    def runs_outdated(self, count: int, names: Sequence[str]) -> None:
        """Say why."""
        note(_outdated(count, names))

    def features_computed(self, done: int, total: int) -> None:
        """Move the bar of features, which comes before the runs; it goes at its end."""
        self._end_fetching()
        if self._features is None:
            self._features = self._progress.add_task("features", total=total, note="")
            self._progress.start()
        self._progress.update(self._features, completed=done, note=f"{done}/{total} images")
        if done == total:
            self._progress.remove_task(self._features)
            self._features = None

    def run_started(self, spec: RunSpec) -> None:
        """Add a bar for the run."""
        self._end_fetching()
        name = f"{spec.method} seed {spec.seed}, {spec.dataset} {spec.labels}"
        self._current[spec.run_id] = self._progress.add_task(visible(name), total=1.0, note="")

    def epoch_finished(self, spec: RunSpec, progress: Shown) -> None:
        """Move the run's bar and the bar of all runs."""
        if spec.run_id not in self._current:  # said after the run's end, by another process
            return
        last = self._last.get(spec.run_id, "")
        now = f"round {progress.round}/{progress.rounds}{last or f' epoch {progress.epoch}/{progress.epochs}'}"
        self._progress.update(self._current[spec.run_id], completed=progress.share, note=now)
        self._move(spec, progress.share)

    def round_finished(self, spec: RunSpec, round_: Mapping[str, Any]) -> None:
        """Keep the round's result, to show it beside the run's bar."""
        self._last[spec.run_id] = f", {100 * headline(round_)[1]:.2f} %"

    def run_finished(self, spec: RunSpec, record: Mapping[str, Any]) -> None:
        """Replace the run's bar by a line above the bars."""
        if spec.run_id in self._current:
            self._progress.remove_task(self._current.pop(spec.run_id))
        self._move(spec, 1.0)
        self._progress.console.print(plain(f"{spec.run_id}: {_outcome(record)}"))

    def told(self, activity: str, done: int, total: int | None) -> None:
        """Move the bar of a download or another activity before the runs; it goes when the next thing begins."""
        if self._fetching is None:
            self._fetching = self._progress.add_task(visible(activity), total=total, note="")
            self._progress.start()
        self._progress.update(self._fetching, description=visible(activity), completed=done, total=total)
        if total is not None and done >= total:
            self._end_fetching()

    def _end_fetching(self) -> None:
        """Remove the bar of an activity, which need not have said how much there is of it."""
        if self._fetching is not None:
            self._progress.remove_task(self._fetching)
            self._fetching = None

    def _move(self, spec: RunSpec, share: float) -> None:
        """Move the bar of all runs, given that ``share`` (0 to 1) of this run is done."""
        self._shares[spec.run_id] = share
        if self._runs is not None:
            done = sum(each == 1.0 for each in self._shares.values())
            self._progress.update(self._runs, completed=sum(self._shares.values()), note=f"{done}/{self._todo}")

    def experiment_finished(self) -> None:
        """Remove the bars."""
        self._progress.stop()
