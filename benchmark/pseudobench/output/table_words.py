"""Words around a table: places, settings, and how to read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pseudobench.analysis.run_facts import POLICY, plain
from pseudobench.base.text import counted
from pseudobench.contracts.parameters import Value
from pseudobench.maths.significance import LEVEL, SEEDS_NEEDED

if TYPE_CHECKING:
    from pseudobench.analysis.table_notes import Notes
    from pseudobench.analysis.tables import Table

#: What a calibration policy means to a reader.
_CALIBRATED = {
    "train": "the data that networks are trained on, as printed in the paper, so that no coverage is promised",
    "held-out": "labels held out",
    "cross": "all labels by cross-fitting",
}
_REVISION = 8  # characters of a revision that are shown


def key_words(key: str) -> str:
    """A part of a place as headings have it."""
    return key.replace("_", " ")


def place_words(place: Mapping[str, str | int]) -> list[str]:
    """The parts of a place with their names."""
    return [f"{key_words(key)} {value}" for key, value in place.items()]


def settings_words(settings: Mapping[str, Value]) -> str:
    """Settings in a line, ``ups.tau_p=0.8, selector=ups``. This text is never read back."""
    return _words({key: (value,) for key, value in settings.items()})


def shared_words(table: Table) -> dict[str, str]:
    """What all rows of a table share: parts of the place, the calibration policy, and other settings."""
    shared = {key_words(key): str(value) for key, value in table.place.items()}
    if POLICY in table.settings:
        shared["calibration"] = plain(table.settings[POLICY])
    if rest := {key: value for key, value in table.settings.items() if key != POLICY}:
        shared["settings"] = settings_words(rest)
    return shared


def how_to_read(table: Table, best: str = "Bold") -> str:
    """What the cells are, and what their marks mean; ``best`` says how the best cells look."""
    seeds = counted(table.seeds, "seed") if table.pivoted or table.complete else "seeds"
    seeds += " where not said otherwise" if table.pivoted else ""
    sentences = [f"mean ± half of the 95 % t interval over {seeds}", *_of_marks(table.notes, best)]
    sentences += _of_runs(table.notes)
    return sentences[0] if len(sentences) == 1 else ". ".join(sentences) + "."


def _of_marks(notes: Notes, best: str) -> list[str]:
    said = []
    if notes.marked:
        among = " among rows that differ in method and settings alone" if notes.several else ""
        said.append(
            f"{best}: the best mean of its column{among}, and every mean that is not found different from it (paired "
            f"by seed: sign flips with Westfall and Young's correction over {_pairs_words(notes.pairs)} at "
            f"{100 * LEVEL:g} %, and the 95 % interval of the difference)"
        )
    if notes.marked and notes.hidden:
        rows = "1 row that is" if notes.hidden == 1 else f"{notes.hidden} rows that are"
        said.append(f"Judged together with {rows} not shown here, so that the best of a column may be missing")
    if notes.untested:
        counts = ", ".join(f"{seeds} of {SEEDS_NEEDED}" for seeds in notes.untested)
        said.append(f"Nothing is marked where seeds are too few for a test ({counts} needed)")
    if notes.marked or notes.untested:
        said += [f"{name} has all labels and is not compared" for name in notes.ceilings]
    if notes.incomplete and notes.marked:
        names = ", ".join(notes.incomplete)
        said.append(
            f"Without a value for some seeds, compared on those that both have if {SEEDS_NEEDED} or more: {names}"
        )
    return said


def _pairs_words(counts: Sequence[int]) -> str:
    """The size of the families: all pairs of rows of a column, or of those that a filter has left."""
    if len(counts) == 1:
        return "the one pair" if counts[0] == 1 else f"all {counts[0]} pairs of rows"
    return f"all pairs of rows, {counts[0]} to {counts[-1]} of them"


def _of_runs(notes: Notes) -> list[str]:
    said = []
    if notes.calibrated:
        parts = (f"{_CALIBRATED.get(policy, policy)}: {', '.join(names)}" for policy, names in notes.calibrated.items())
        said.append(f"Calibrated on {'; on '.join(parts)}")
    if notes.doubled:
        names = ", ".join(notes.doubled)
        said.append(
            "A step has equally many labels for all; beside them as many pseudo-labels, at twice the compute "
            f"of labels alone: {names}"
        )
    alike: dict[str, list[str]] = {}
    for method, settings in notes.usual.items():
        # The policy of calibration is said above, of every arm that has one.
        if words := _words({key: values for key, values in settings.items() if key != POLICY}):
            alike.setdefault(words, []).append(method)
    if alike:
        usual = "; ".join(f"{', '.join(methods)} {words}" for words, methods in alike.items())
        said.append(f"Where a name says nothing else: {usual}")
    if notes.untold:
        said.append("(+n): n settings more are its own; `--format csv` has all of them")
    if notes.revisions:
        names = ", ".join(revision[:_REVISION] for revision in notes.revisions)
        said.append(f"Made by {len(notes.revisions)} revisions of the code ({names})")
    if notes.processors:
        said.append(f"Run on {len(notes.processors)} kinds of processor ({', '.join(notes.processors)})")
    return [*said, *(f"{group}: {settings_words(settings)}" for group, settings in notes.groups.items())]


def _words(settings: Mapping[str, tuple[Value, ...]]) -> str:
    """Settings in a line, each with all of its values."""
    return ", ".join(
        f"{'calibration' if key == POLICY else key}={' or '.join(map(plain, values))}"
        for key, values in settings.items()
    )
