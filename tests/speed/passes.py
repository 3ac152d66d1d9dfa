"""Ten passes with dropout over a pool."""

from __future__ import annotations

from pathlib import Path

import torch
from measuring import Row, cifar, network, normalizer, ratio

from pseudobench.learning.pool import NetworkPool, dropout_on, slices


def rows(data_dir: Path) -> list[Row]:
    """Against one deterministic pass where dropout is in the head, against ten full ones where it is inside."""
    data = cifar("cifar10", data_dir)
    normalize = normalizer(data)
    found = []
    for backbone, count in (("cifar_cnn", 10_000), ("resnet18", 1000)):
        made, images = network(backbone, data), data.train_images[:count]
        _, text = ratio(
            lambda made=made, images=images: list(NetworkPool(made, images, normalize).samples(10, 0)),
            lambda made=made, images=images: NetworkPool(made, images, normalize).logits(),
        )
        found.append(Row(f"ten passes of `{backbone}` against one without dropout", text, "at most 1.25"))
    made, images = network("cnn13", data).eval(), data.train_images[:128]

    @torch.no_grad()
    def ten_full() -> None:
        with dropout_on(made):
            for batch in map(normalize, slices(made, images)):
                torch.stack([made(batch) for _ in range(10)])

    _, text = ratio(lambda: list(NetworkPool(made, images, normalize).samples(10, 0)), ten_full, times=3)
    found.append(Row("ten passes of `cnn13` against ten full ones", text, "at most 0.68", "0.62 by arithmetic"))
    return found
