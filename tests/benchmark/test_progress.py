"""The bars of an experiment in a terminal."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from pseudobench.output import progress

SPEC = SimpleNamespace(
    run_id="digits-40-ups-s0-e1fea3640c",
    method="unscaled+mc-dropout+raps+set-argmax+ups",
    seed=0,
    dataset="digits",
    labels=40,
)
NOW = SimpleNamespace(round=1, rounds=5, epoch=3, epochs=20, share=0.3)
ROUND = {"test": {"accuracy": 0.7601}}
RECORD = {"status": "done", "rounds": [{**ROUND, "work": {"trained": 1, "reused": 1}}], "seconds": 0.7}


@pytest.fixture
def bars(monkeypatch):
    """Progress in a wide terminal."""
    terminal = Console(file=io.StringIO(), width=130, force_terminal=True)
    monkeypatch.setattr(progress, "err", terminal)
    shown = progress.LiveProgress()
    yield shown
    shown.experiment_finished()


def lines(shown):
    """What the bars look like now."""
    terminal = Console(file=io.StringIO(), width=130)
    terminal.print(shown._progress.get_renderable())
    return [line.rstrip() for line in terminal.file.getvalue().splitlines() if line.strip()]


def test_bars_fit_80_columns_of_a_wide_terminal(bars):
    """A terminal that is made narrower would break longer lines, and leave their halves behind."""
    bars.experiment_started(12, 0)
    bars.run_started(SPEC)
    bars.epoch_finished(SPEC, NOW)
    bars.round_finished(SPEC, ROUND)
    bars.epoch_finished(SPEC, NOW)
    assert len(lines(bars)) == 2
    assert "76.01 %" in lines(bars)[1]
    assert max(map(len, lines(bars))) <= 80


def test_bars_of_a_terminal_that_was_made_narrower_are_erased_whole(bars):
    """It has broken each of their lines in two."""
    bars.experiment_started(12, 0)
    bars.run_started(SPEC)
    bars._progress.refresh()
    drawn = bars._progress.live._live_render
    assert drawn.last_render_height == 2
    progress.err.width = max(map(len, lines(bars))) - 1
    assert str(drawn.position_cursor()).count("\x1b[1A") == 3
    progress.err.width = 130


def test_what_is_heard_of_a_run_after_its_end_changes_nothing(bars):
    """Another process may have said it before."""
    bars.experiment_started(2, 0)
    bars.run_started(SPEC)
    bars.run_finished(SPEC, RECORD)
    before = lines(bars)
    bars.round_finished(SPEC, ROUND)
    bars.epoch_finished(SPEC, NOW)
    bars.run_finished(SPEC, RECORD)
    assert lines(bars) == before
    assert "1/2" in before[0]


def test_the_bar_of_a_download_goes_when_the_next_thing_begins(bars):
    """Not every download says how much there is of it, and so when it ends."""
    bars.told("fetching a package", 0, None)
    assert "fetching a package" in lines(bars)[0]
    bars.experiment_started(2, 0)
    assert not any("fetching" in line for line in lines(bars))
    bars.told("fetching a file", 5, 10)
    assert any("fetching a file" in line for line in lines(bars))
    bars.run_started(SPEC)
    assert not any("fetching" in line for line in lines(bars))


def test_the_line_of_a_run_fits_80_columns():
    assert len(f"{SPEC.run_id}: {progress._outcome(RECORD)}") <= 80
