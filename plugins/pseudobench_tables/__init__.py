"""Vectors: features and tables that users bring, tables inside packages, and networks for them."""

from __future__ import annotations

from pseudobench import VECTORS, Backbone, hookimpl
from pseudobench_tables import sources

OFFERED: list[type] = [
    sources.Features,
    sources.Table,
    sources.BreastCancer,
    sources.Wine,
    sources.Letter,
    sources.Penbased,
    sources.Satimage,
    sources.Texture,
    sources.Optdigits,
    sources.Spambase,
]


@hookimpl
def bench_datasets() -> list[type]:
    """Offer the datasets of vectors."""
    return OFFERED


@hookimpl
def bench_backbones() -> list[Backbone]:
    """Offer networks for vectors."""
    module = "pseudobench_tables.networks"
    return [
        Backbone("mlp", module, "two hidden layers of 256 with dropout, for vectors", VECTORS),
        Backbone("linear", module, "dropout and a linear layer, for vectors", VECTORS),
    ]
