"""Tables in the data of a page: column by column, each text once. Rows of a few methods repeat the same few texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

#: Each column's name and values; of texts the different ones, and the position of every row's among them.
Packed = list[tuple[str, list[Any] | dict[str, list[Any]]]]


def packed(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Packed:
    """The table ``rows`` as the page's script unpacks it."""
    values = zip(*rows, strict=True)
    return [(name, _column(list(column))) for name, column in zip(columns, values, strict=False)]


def packed_records(rows: Sequence[Mapping[str, Any]]) -> Packed:
    """The same for rows that name their columns, all of them the same ones."""
    columns = list(rows[0]) if rows else []
    return packed(columns, [[row[name] for name in columns] for row in rows])


def _column(values: list[Any]) -> list[Any] | dict[str, list[Any]]:
    if not all(isinstance(value, str) for value in values):
        return values
    places = {text: place for place, text in enumerate(dict.fromkeys(values))}
    return {"of": list(places), "at": [places[text] for text in values]}
