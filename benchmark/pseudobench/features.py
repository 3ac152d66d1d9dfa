"""Features of a frozen backbone: computed once for a dataset, kept on disk, and used in place of its images."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import timm
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from pseudobench.errors import BenchWarning
from pseudobench.networks import input_moments, make_network, network_spec
from pseudobench.pool import Normalizer, batches

if TYPE_CHECKING:
    from torch import Tensor, nn

    from pseudobench.registry import Registry
    from pseudobench.spec import RunSpec
    from pseudobench.types import Dataset

FORMAT = 1


def with_features(
    data: Dataset,
    spec: RunSpec,
    registry: Registry,
    *,
    weights_file: Path | None,
    cache_dir: Path,
    device: torch.device,
    on_progress: Callable[[int, int], None],
) -> Dataset:
    """The dataset with the features of the run's frozen backbone in place of its images.

    They are what the backbone's last layer would be given, without dropout; ``on_progress`` hears of images done, and
    of how many there are.
    """
    made = network_spec(spec, data, weights_file)
    moments = input_moments(spec, data)
    identity = {
        "format": FORMAT,
        "timm": timm.__version__,
        "backbone": made.backbone,
        "options": asdict(made.options),
        "moments": moments,
        "pixels": _digest(data.train_images, data.test_images),
    }
    name = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:16]
    path = cache_dir / "features" / f"{made.backbone}-{name}.safetensors"
    found = _read(path)
    if found is None:
        network = make_network(registry, made, seed=0, device=device).eval()
        normalize = Normalizer(moments, device)
        total = len(data.train_images) + len(data.test_images)
        train = _compute(network, data.train_images, normalize, lambda done: on_progress(done, total))
        before = len(data.train_images)
        test = _compute(network, data.test_images, normalize, lambda done: on_progress(before + done, total))
        found = train, test
        _write(path, *found, identity)
    return replace(data, train_images=found[0], test_images=found[1])


def _digest(*images: Tensor) -> str:
    """A hash of all pixels."""
    digest = hashlib.sha256()
    for part in images:
        digest.update(repr(tuple(part.shape)).encode())
        digest.update(part.contiguous().numpy().data)
    return digest.hexdigest()


@torch.no_grad()
def _compute(network: nn.Module, images: Tensor, normalize: Normalizer, on_done: Callable[[int], None]) -> Tensor:
    """What the last layer is given for each image, ``float32 [N, F]``."""
    timm_model: Any = network
    parts = []
    done = 0
    for batch in batches(network, images, normalize):
        features = timm_model.forward_head(timm_model.forward_features(batch), pre_logits=True)
        parts.append(features.float().flatten(1).cpu())
        done += len(batch)
        on_done(done)
    return torch.cat(parts)


def _read(path: Path) -> tuple[Tensor, Tensor] | None:
    """Features from the cache; None if they are not there, or no longer whole."""
    if not path.is_file():
        return None
    try:
        with safe_open(path, "pt") as file:
            return file.get_tensor("train"), file.get_tensor("test")
    except (SafetensorError, OSError) as error:
        warnings.warn(f"{path.name} in the cache can't be read ({error}); computed again", BenchWarning, stacklevel=2)
        return None


def _write(path: Path, train: Tensor, test: Tensor, identity: dict[str, Any]) -> None:
    """Whole or not at all; features that can't be kept are used all the same."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        save_file({"train": train, "test": test}, unfinished, {"identity": json.dumps(identity)})
        unfinished.replace(path)
    except (OSError, SafetensorError) as error:
        with suppress(OSError):
            unfinished.unlink()
        warnings.warn(f"features can't be kept in {path.parent} ({error}); --cache-dir", BenchWarning, stacklevel=2)
