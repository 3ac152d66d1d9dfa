"""Calling `bench` in this process, with a limit on time, and looking at how it ends."""

from __future__ import annotations

import os
import signal
import traceback
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO

from pseudobench.cli.main import DEBUG, main

#: Exit codes that are an answer: done, not all done, can't be.
ANSWERS = (0, 1, 2)
#: Control characters that no output holds, for people or machines.
CONTROL = {chr(code) for code in (*range(32), *range(127, 160))} - {"\n"} | {"\u202e", "\u2066", "\ud800"}


class TooSlowError(Exception):
    """A command that took longer than a command may."""


@contextmanager
def limited(seconds):
    """Raise inside if it takes longer."""

    def stop(*_):
        raise TooSlowError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def bench(words, seconds=60):
    """Standard output, and why this is no way for a command to end; None if it is one."""
    out, err, before = StringIO(), StringIO(), dict(os.environ)
    os.environ[DEBUG] = "1"
    try:
        with redirect_stdout(out), redirect_stderr(err), limited(seconds):
            main(list(words))
    except SystemExit as stop:
        problem = None if stop.code in ANSWERS else f"exit code {stop.code}"
    except BaseException:
        problem = traceback.format_exc(limit=-6)
    finally:
        os.environ.clear()
        os.environ.update(before)
    said = out.getvalue(), err.getvalue()
    if problem is None and (odd := CONTROL & set("".join(said))):
        problem = f"control characters in the output: {sorted(odd)!r}"
    if problem is None and stop_lines(said[1]) > 1:
        problem = f"more than one error: {said[1]!r}"
    return said[0], problem


def stop_lines(err):
    """How many lines are no warning."""
    return sum(not line.startswith("warning: ") for line in err.splitlines())
