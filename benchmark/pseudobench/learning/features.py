"""Features of a frozen backbone: computed once for a dataset, kept on disk, and used in place of its images."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from pseudobench.base.hashing import key_of
from pseudobench.base.threads import side_by_side
from pseudobench.learning.identity import learning_identity
from pseudobench.learning.networks import input_moments, make_network, network_spec
from pseudobench.learning.pool import Normalizer, slices

if TYPE_CHECKING:
    from torch import Tensor, nn

    from pseudobench.contracts.datasets import Dataset
    from pseudobench.contracts.run_spec import RunSpec
    from pseudobench.registry.components import Registry
    from pseudobench.storage.cache import Cache
    from pseudobench.storage.cache_files import Kept


def with_features(
    data: Dataset,
    spec: RunSpec,
    registry: Registry,
    *,
    weights_file: Path | None,
    cache: Cache | None,
    device: torch.device,
    on_progress: Callable[[int, int], None],
) -> Dataset:
    """The dataset with the features of the run's frozen backbone in place of its images.

    They are what the backbone's last layer would be given, without dropout; ``on_progress`` hears of images done, and
    of how many there are.
    """
    made = network_spec(spec, data.train, data.classes, weights_file)
    moments = input_moments(spec, data.train)
    identity = {
        "network": made.identity,
        "moments": moments,
        "pixels": [data.train.digest, data.test.digest],
        **learning_identity(registry, made.backbone, device, threads=1),
    }
    key = f"{made.backbone}-{key_of(identity)}"
    with nullcontext() if cache is None else cache.lock("features", key):
        kept = None if cache is None else cache.load("features", key, _read)
        if cache is not None and kept is not None:
            train, test, seconds = kept
            cache.saved("features", seconds)
            return replace(data, train_images=train, test_images=test)
        start = time.perf_counter()
        network = make_network(registry, made, seed=0, device=device).eval()
        normalize = Normalizer(moments, device)
        before, total = len(data.train_images), len(data.train_images) + len(data.test_images)
        train = _compute(network, data.train_images, normalize, lambda done: on_progress(done, total))
        test = _compute(network, data.test_images, normalize, lambda done: on_progress(before + done, total))
        if cache is not None:
            note = {"seconds": time.perf_counter() - start, "identity": identity}
            cache.store("features", key, {"train": train, "test": test}, note)
    return replace(data, train_images=train, test_images=test)


def _read(kept: Kept) -> tuple[Tensor, Tensor, float]:
    """The features of training and test images, both ``float32 [N, F]``, and the seconds that they took."""
    return kept.tensors["train"], kept.tensors["test"], float(kept.note["seconds"])


def _compute(network: nn.Module, images: Tensor, normalize: Normalizer, on_done: Callable[[int], None]) -> Tensor:
    """What the last layer is given for each image, ``float32 [N, F]``; the same for any number of cores."""
    timm_model: Any = network

    @torch.no_grad()
    def features(batch: Tensor) -> Tensor:
        maps = timm_model.forward_features(normalize(batch))
        given: Tensor = timm_model.forward_head(maps, pre_logits=True).float().flatten(1)
        return given.cpu()

    parts: list[Tensor] = []
    done = 0
    each = side_by_side if normalize.device.type == "cpu" else map
    for part in each(features, slices(network, images)):
        parts.append(part)
        done += len(part)
        on_done(done)
    return torch.cat(parts)
