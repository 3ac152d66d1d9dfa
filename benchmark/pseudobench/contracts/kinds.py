"""The kinds of components there are. This list is the one place that says so."""

from __future__ import annotations

from dataclasses import dataclass

from pseudobench.contracts.columns import Column
from pseudobench.contracts.methods import Method
from pseudobench.contracts.protocols import Backbone
from pseudobench.contracts.values import Estimate, PredictionSets, PseudoLabels, Selection


@dataclass(frozen=True)
class Kind:
    """One kind of component: its plural name, and the rules its components keep.

    Components are values of the type ``value``, or (None) frozen dataclasses with the method ``verb``, which is called
    with ``arguments``, and with the class attributes ``needs``. ``stage`` is the stage of a round that the kind does,
    if it does one (``objective``: its training), and ``result`` the value that stage hands on (None: a tensor).
    """

    name: str
    value: type | None = None
    verb: str = ""
    arguments: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    stage: str | None = None
    result: type | None = None

    @property
    def hook(self) -> str:
        """The hook that offers such components."""
        return "bench_" + self.name.replace("-", "_")

    @property
    def singular(self) -> str:
        """The name of one of them."""
        return self.name.removesuffix("s")


_DATASET = ("is_present", "classes", "train_size", "test_size", "default_labels", "backbone", "presets")
KINDS = (
    Kind("methods", value=Method),
    Kind("datasets", verb="load", arguments=("data_dir",), needs=_DATASET),
    Kind("backbones", value=Backbone),
    Kind("scalings", verb="fit", arguments=("logits", "labels"), stage="scaling"),
    Kind(
        "set-predictors",
        verb="calibrate",
        arguments=("folds", "context"),
        needs=("scaling",),
        stage="sets",
        result=PredictionSets,
    ),
    Kind(
        "estimators",
        verb="estimate",
        arguments=("pool", "sets", "context"),
        needs=("needs_sets",),
        stage="estimator",
        result=Estimate,
    ),
    Kind(
        "labelers",
        verb="label",
        arguments=("estimate", "sets", "context"),
        needs=("needs_sets",),
        stage="labeler",
        result=PseudoLabels,
    ),
    Kind(
        "selectors",
        verb="select",
        arguments=("estimate", "labels", "sets", "context"),
        needs=("needs_sets",),
        stage="selector",
        result=Selection,
    ),
    Kind("objectives", verb="loss", arguments=("step", "forward", "state"), stage="objective"),
    Kind("executors", verb="execute", arguments=("batch",)),
    Kind("columns", value=Column),
)
#: Stage of a round to the kind of component that does it, in the order in which stages run.
STAGE_KINDS = {kind.stage: kind for kind in KINDS if kind.stage is not None}


def kind_named(name: str) -> Kind:
    """The kind with this plural name."""
    return next(kind for kind in KINDS if kind.name == name)
