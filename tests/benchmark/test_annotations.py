"""Types of parameters as people write them, bounds of settings, and suggestions for wrong names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Optional

import pytest

from pseudobench import BenchError, param
from pseudobench.contracts.parameters import parameters, suggest
from pseudobench.contracts.settings import GROUPS

if TYPE_CHECKING:
    from somewhere import Unknown  # type: ignore[import-not-found]


@pytest.mark.parametrize("group", GROUPS)
def test_whole_numbers_of_settings_have_an_upper_bound(group):
    assert all(each.high is not None for each in parameters(GROUPS[group]) if each.kind == "int")


@dataclass(frozen=True)
class Typed:
    """Annotations as people write them."""

    name: ClassVar[Unknown] = "typed"
    plain: int = param(1, "a number")
    either: "str | None" = param(None, "quoted")  # noqa: RUF009, UP037
    old: Optional[float] = param(None, "as before Python 3.10")  # noqa: UP045


@dataclass(frozen=True)
class Listed:
    """An annotation with a type inside another."""

    name: ClassVar[str] = "listed"
    values: list[int] = param(None, "a list")  # noqa: RUF009


def test_annotations_are_types_and_not_words():
    assert [(each.kind, each.optional) for each in parameters(Typed)] == [
        ("int", False),
        ("str", True),
        ("float", True),
    ]
    with pytest.raises(BenchError, match=r"Listed.values: a parameter is declared as"):
        parameters(Listed)


def test_suggestions_are_near_and_lists_short():
    names = [f"name{place:02}" for place in range(80)]
    assert suggest("nam07", names) == "; did you mean 'name07'?"
    assert suggest("wine_mlp", ["mixnet_m", "resnet18"]) == "; known: mixnet_m, resnet18"
    listed = suggest("zebra", names)
    assert listed.endswith("name14, name15 and 64 more")
    assert suggest("zebra", names, "bench list").endswith("name15 and 64 more: see `bench list`")
    assert suggest("x", []) == "; there is none"
