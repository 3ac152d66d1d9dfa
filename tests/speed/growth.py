"""Memory and time of a CIFAR-100 run, at three sizes of the pool. Run as a program, it measures one size."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from measuring import CPU, Row, cifar

from pseudobench.cli.main import main
from pseudobench.execution.environment import set_up
from pseudobench.experiments.resolving import resolve
from pseudobench.experiments.splits import split_for
from pseudobench.registry.components import installed
from pseudobench.rounds.algorithm import Run, run_rounds
from pseudobench.rounds.recorder import Recorder

SIZES = (15_000, 30_000, 50_000)
LABELS = 10_000
TURNS = 4


def rows(data_dir: Path) -> list[Row]:
    """Each size in a process of its own, since memory that was used once stays with it."""
    whole = _run_all(data_dir)
    found = [Row("peak memory of a CIFAR-100 run of `ups-raps` with `cifar_cnn`", f"{whole:.2f} GB", "below 1.5 GB")]
    turns = [[_measured(size, data_dir) for size in SIZES] for _ in range(TURNS)]
    pools = [size - LABELS for size in SIZES]
    for what, unit in (("seconds", "ms"), ("gigabytes", "MB")):
        # The least of each size: what else goes on in the machine adds to all of them, to some more than to others.
        each = [min(turn[place][what] for turn in turns) for place in range(len(SIZES))]
        slopes = [1000 * (b - a) / (q - p) * 1000 for a, b, p, q in zip(each, each[1:], pools, pools[1:], strict=False)]
        found.append(
            Row(
                f"{what} of choosing pseudo-labels, pool of {', '.join(f'{p:,}' for p in pools)}",
                " / ".join(f"{value:.2f}" for value in each),
                "linear",
                f"least of {TURNS}; per 1,000 more samples: {slopes[0]:.1f} {unit}, then {slopes[1]:.1f} {unit}",
            )
        )
    return found


def _measured(size: int, data_dir: Path) -> dict[str, float]:
    """What `measure` finds, in a process of its own."""
    command = [sys.executable, __file__, str(size), str(data_dir)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=1200)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _run_all(data_dir: Path) -> float:
    """Gigabytes at the peak of a whole `bench run`."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["--dataset=cifar100", "--methods=ups-raps", "--preset=smoke", "--seeds=1", "--quiet", "--json"]
        places = [f"--results={folder}", f"--data-dir={data_dir}"]
        command = [sys.executable, __file__, "run", *options, *places]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=1200)
    return float(done.stderr.splitlines()[-1])


def _peak() -> float:
    """Gigabytes that this process had at most; not those of the one that started it, as `resource` would say."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1e6


def measure(size: int, data_dir: Path) -> dict[str, float]:
    """Two rounds on the first ``size`` training images: what choosing took, and the peak memory of it all."""
    _, registry = installed()
    set_up(CPU, None)
    data = cifar("cifar100", data_dir)
    data = replace(data, train_images=data.train_images[:size].clone(), train_labels=data.train_labels[:size])
    spec = resolve(registry, method="ups-raps", dataset="cifar100", seed=0, preset="smoke")
    split = split_for(spec, data)
    recorder = Recorder(data.classes, data.train_labels[list(split.unlabeled)], data.test_labels)
    rounds = [each.record for each in run_rounds(Run(spec, registry, data.known_to(split), CPU), recorder)]
    stages = rounds[1]["seconds"]
    chosen = sum(stages[stage] for stage in ("predict", "scale", "sets", "estimate", "label", "select"))
    return {"seconds": chosen, "gigabytes": _peak()}


if __name__ == "__main__":
    if sys.argv[1] == "run":
        with suppress(SystemExit):
            main(sys.argv[1:])
        print(_peak(), file=sys.stderr)
    else:
        print(json.dumps(measure(int(sys.argv[1]), Path(sys.argv[2]))))
