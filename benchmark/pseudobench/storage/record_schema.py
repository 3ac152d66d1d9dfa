"""The schema of run records: which keys a record has, of which types, within which bounds.

Records of every version so far fit. Keys without a default here are in all of them; the others came later, or belong
to some kinds of runs alone. Keys unknown here may be in a record too (plugins add numbers), except in its spec: a spec
with an unknown key is of a run that this version does not know how to describe.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

FORMAT = 1
KIND = "pseudobench.run"

#: Bins of a reliability diagram.
_BINS = 15
_MOST = 2**63 - 1

Count = Annotated[int, Meta(ge=0, le=2**53)]
#: A mean of shares can exceed 1 by a rounding error.
Share = Annotated[float, Meta(ge=0, le=1.000001)]
Number = Annotated[float, Meta(ge=-1e30, le=1e30)]
Seconds = Annotated[float, Meta(ge=0, le=1e12)]
Name = Annotated[str, Meta(min_length=1, max_length=100_000)]
Text = Annotated[str, Meta(max_length=100_000)]
#: A value of a setting.
Setting = bool | Annotated[int, Meta(ge=-_MOST, le=_MOST)] | Annotated[float, Meta(ge=-1e300, le=1e300)] | Text | None
Bins = Annotated[list[Number], Meta(min_length=_BINS, max_length=_BINS)]


class Spec(Struct, forbid_unknown_fields=True):
    """The fields of `RunSpec`."""

    dataset: Name
    labels: Annotated[int, Meta(ge=1, le=2**53)]
    method: Name
    seed: int
    backbone: Name
    preset: Name
    stages: dict[Name, Name]
    trains_on: Name
    evaluates_on: Name
    settings: dict[Name, dict[Name, Setting]]
    overrides: dict[Name, Setting]
    sources: dict[Name, Text] = {}

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**64:  # beyond the bounds that msgspec can state
            raise ValueError("seed: not in [0, 2^64)")


class Split(Struct):
    """Sizes of a run's split, and a hash of its indices."""

    sha256: Annotated[str, Meta(pattern=r"^\S{0,128}$")]
    labeled: Count
    calibration: Count
    unlabeled: Count = 0
    test: Count = 0


class Source(Struct):
    """The revision of the source code."""

    revision: Text
    changed: bool


class Environment(Struct):
    """The machine and the versions that a run ran on."""

    versions: dict[Name, Text | None] = {}
    source: Source | None = None
    device: Text = ""
    device_name: Text = ""
    cores: Count | None = None
    threads: Count = 0
    deterministic: bool = True
    python: Text = ""
    platform: Text = ""
    plugins: dict[Name, Text] = {}


class Error(Struct):
    """Why a run failed."""

    message: Text
    where: Text = ""


class Reliability(Struct):
    """Predictions by confidence: how many, their mean confidence, their accuracy."""

    count: Bins
    confidence: Bins
    accuracy: Bins


class Test(Struct):
    """Measurements on the test set: of single-label data with an accuracy, of multi-label data with a mAP."""

    accuracy: Share | UnsetType = UNSET
    map: Share | UnsetType = UNSET
    f1_micro: Share | UnsetType = UNSET
    f1_macro: Share | UnsetType = UNSET
    exact_match: Share | UnsetType = UNSET
    nll: Number | UnsetType = UNSET
    ece: Share | UnsetType = UNSET
    reliability: Reliability | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.accuracy is UNSET and self.map is UNSET:
            raise ValueError("neither accuracy nor map")


class Selection(Struct):
    """A round's pseudo-labels and prediction sets."""

    pool: Count = 0
    positives: Count | None = None
    positive_samples: Count | None = None
    positive_share: Share | None = None
    positive_precision: Share | None = None
    positives_per_class: list[Count] | None = None
    negatives: Count | None = None
    negative_samples: Count | None = None
    negatives_per_sample: Number | None = None
    negative_precision: Share | None = None
    unlabeled: Count | None = None
    not_argmax: Count | None = None
    argmax_accuracy: Share | None = None
    precision_at: list[Share | None] | None = None
    calibration_points: Count | None = None
    tau: Number | None = None
    tau_is_infinite: bool | None = None
    coverage: Share | None = None
    test_coverage: Share | None = None
    test_class_coverage: list[Share | None] | None = None
    test_by_size: list[tuple[Count, Count]] | None = None
    set_size: Number | None = None
    test_set_size: Number | None = None
    empty_sets: Share | None = None
    sizes: list[Count] | None = None
    calibrated: dict[Name, Number | None] | None = None
    scaling: dict[Name, Number | None] | None = None
    scaled_test: Test | None = None


class Work(Struct):
    """Networks trained, networks reused, and the seconds that this saved."""

    trained: Count
    reused: Count
    saved_seconds: Seconds


class Round(Struct):
    """One round."""

    round: Count
    test: Test
    selection: Selection | None = None
    seconds: dict[Name, Seconds] = {}
    work: Work | UnsetType = UNSET


class File(Struct):
    """A file beside the record."""

    file: Annotated[str, Meta(pattern=r"^[^/\\\x00-\x1f.][^/\\\x00-\x1f]{0,254}$")]
    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]


class Record(Struct):
    """A run record. Its id names files: it is no path."""

    kind: Literal["pseudobench.run"]
    format: Literal[1]
    run_id: Annotated[str, Meta(pattern=r"^[^/\\\x00-\x1f.][^/\\\x00-\x1f]{0,239}$")]
    status: Literal["running", "done", "failed"]
    spec: Spec
    split: Split
    environment: Environment
    rounds: list[Round]
    error: Error | None
    seconds: Seconds
    task: Name = ""
    network: dict[Name, Setting] = {}
    started: Text = ""
    finished: Text | None = None
    resumed_after: Count | None = None
    predictions: File | None = None
    logits: File | None = None
    scores: dict[Name, Number | None] = {}

    def __post_init__(self) -> None:
        if self.status == "failed" and self.error is None:
            raise ValueError("status: failed, without an error")
        if self.status == "done" and not self.rounds:
            raise ValueError("status: done, without a round")


class _Head(Struct):
    """The keys that identify a record among other JSON, and its format."""

    kind: Any = None
    format: Any = None


class UnknownFormatError(ValueError):
    """A record of another format, which a newer version may have written."""


_record, _head = msgspec.json.Decoder(Record), msgspec.json.Decoder(_Head)
_anything: msgspec.json.Decoder[dict[str, Any]] = msgspec.json.Decoder(dict[str, Any])


def decode(content: bytes) -> dict[str, Any] | None:
    """A record from its JSON, with all its keys; None for JSON of another kind. Raises ValueError with the reason."""
    try:
        _record.decode(content)  # checks, and leaves out unknown keys
        return _anything.decode(content)
    except (msgspec.ValidationError, RecursionError) as error:
        reason = str(error)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise ValueError("broken JSON") from None
    try:
        head = _head.decode(content)
    except msgspec.ValidationError:  # a list, or a number
        return None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ValueError("broken JSON") from None
    if head.kind != KIND:
        return None
    if head.format != FORMAT:
        raise UnknownFormatError(f"record format {head.format!r}, this pseudobench reads {FORMAT}")
    raise ValueError(reason.replace(" - at `$", ", at `$").replace("`$.", "`"))
