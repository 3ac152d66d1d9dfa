"""Vectors: features and tables that users bring, tables inside packages, and networks for them."""

from __future__ import annotations

from pseudobench import VECTORS, Backbone, hookimpl
from pseudobench_tables.sources import OFFERED_KEEL, BreastCancer, Features, Table, Wine


@hookimpl
def bench_datasets() -> list[type]:
    """Offer the datasets of vectors."""
    return [Features, Table, BreastCancer, Wine, *OFFERED_KEEL]


@hookimpl
def bench_backbones() -> list[Backbone]:
    """Offer networks for vectors."""
    module = "pseudobench_tables.networks"
    return [
        Backbone("mlp", module, "two hidden layers of 256 with dropout, for vectors", VECTORS),
        Backbone("linear", module, "dropout and a linear layer, for vectors", VECTORS),
    ]
