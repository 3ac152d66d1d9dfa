"""Settings of the harness: the data, the training recipe, the network, the loop of rounds, the calibration policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pseudobench.contracts.parameters import param


@dataclass(frozen=True)
class Data:
    """What becomes of the dataset."""

    name: ClassVar[str] = "data"
    imbalance: float | None = param(
        None,
        "long-tailed classes: training samples and labels of the last class for one of the first; none: as they are",
        low=0,
        high=1,
        exclusive=True,
        added=True,
    )


@dataclass(frozen=True)
class Recipe:
    """How each network is trained."""

    name: ClassVar[str] = "recipe"
    epochs: int = param(20, "epochs of each training", low=1, high=1_000_000)
    steps: int | None = param(
        50, "steps in an epoch, whatever the number of samples; none: one pass over them", low=1, high=1_000_000
    )
    batch_size: int = param(64, "samples in a step", low=1, high=1_000_000)
    lr: float = param(0.1, "learning rate of SGD with Nesterov momentum", low=0, exclusive=True)
    momentum: float = param(0.9, "momentum", low=0, high=1)
    weight_decay: float = param(5e-4, "weight decay, on weights but not on biases and norms", low=0)
    cosine: float = param(0.4375, "share of a cosine's half period that the rate falls along", low=0, high=0.5)
    warmup: float = param(
        0.0, "share of the steps in which the rate rises from zero, before it falls", low=0, high=0.9, added=True
    )
    decay: str = param(
        "cosine", "how the rate falls: along a cosine, or linear to zero", choices=("cosine", "linear"), added=True
    )
    batches: str = param(
        "mixed",
        "mixed: all samples alike; ups: a fixed ratio of positives to negatives, as UPS; half: half of each batch "
        "labeled; beside: a labeled batch beside one of pseudo-labels, at twice the cost",
        choices=("mixed", "ups", "half", "beside"),
        added=True,
    )
    mirror: bool = param(
        False,
        "predict by the mean of the logits of an image and of its mirror image, where a mirrored image keeps its class",
        added=True,
    )
    halve_below: int = param(
        0,
        "with fewer labels than this the first round's batches are half as large (UPS: 4000)",
        low=0,
        high=1_000_000_000,
        added=True,
    )
    dropout: float = param(0.3, "drop rate of the backbone; MC-dropout draws with it too", low=0, high=0.95)
    augment: str = param(
        "weak",
        "weak: shifts, and flips where a mirrored image is still of its class; cutout: a hole too; paper: UPS's own",
        choices=("none", "weak", "cutout", "paper"),
    )
    threads: int | None = param(
        None,
        "threads of torch on the CPU; none: all cores, or a job's share of them; last bits depend on their number",
        low=1,
        high=1024,
    )
    precision: str = param(
        "float32",
        "numbers that networks compute with in training; bfloat16 is faster on GPUs that have it, and less exact",
        choices=("float32", "bfloat16"),
        added=True,
    )
    compile: bool = param(False, "compile each network with torch.compile (needs a C++ compiler)", added=True)


@dataclass(frozen=True)
class Network:
    """What becomes of the backbone."""

    name: ClassVar[str] = "network"
    tune: str = param(
        "full",
        "full: all of it is trained; head: its features are computed once, and a new head with dropout is trained",
        choices=("full", "head"),
        added=True,
    )
    weights: str | None = param(
        None, "timm: timm's pretrained ones; or a .safetensors or .pth file; or package:NAME that has one", added=True
    )
    image_size: int | None = param(None, "side in pixels that images are upsampled to", low=8, high=4096, added=True)
    stem: str = param(
        "auto",
        "small: for images of 32 pixels; original: as timm has it; auto: small up to 64 pixels if there are no weights",
        choices=("auto", "small", "original"),
        added=True,
    )


@dataclass(frozen=True)
class Loop:
    """Algorithm 2's loop over rounds."""

    name: ClassVar[str] = "loop"
    rounds: int = param(5, "rounds of pseudo-labeling at most, after the first training", low=0, high=10_000)
    settle: float | None = param(
        0.01,
        "stop when at most this share of the positive labels differs from the last round's; none: never stop early",
        low=0,
        high=1,
    )
    backbones: str | None = param(
        None,
        "backbones by round, separated by commas (resnet18,resnet34), in place of --backbone; the last one stays",
        added=True,
    )

    @property
    def backbones_named(self) -> tuple[str, ...]:
        """The backbones by round, each name by itself."""
        return () if self.backbones is None else tuple(name.strip() for name in self.backbones.split(","))


@dataclass(frozen=True)
class Calibration:
    """Where the labels for calibration come from. All of them are part of the label budget."""

    name: ClassVar[str] = "calibration"
    policy: str = param(
        "held-out",
        "held-out: not trained on; train: trained on (the paper's Algorithm 2 to the letter); cross: K folds",
        choices=("held-out", "train", "cross"),
    )
    fraction: float = param(0.2, "share of the labels that held-out calibration takes", low=0, high=1, exclusive=True)
    folds: int = param(5, "folds of cross calibration; each costs one more training a round", low=2, high=10_000)


#: Settings that are not a component's: their group, and what declares its parameters.
GROUPS = {"data": Data, "recipe": Recipe, "network": Network, "loop": Loop, "calibration": Calibration}
