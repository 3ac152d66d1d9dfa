"""``bench data``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pseudobench.base.paths import data_folder
from pseudobench.base.text import counted
from pseudobench.errors import one_line
from pseudobench.files.fetching import reporting
from pseudobench.registry.components import installed

if TYPE_CHECKING:
    from pathlib import Path

    from pseudobench.registry.components import Registry

_EXAMPLES = """\b
Examples:
  bench data
  bench data cifar10 cifar100
  bench data folder:photos features:embeddings.npz
"""


@click.command(epilog=_EXAMPLES)
@click.argument("names", nargs=-1)
@click.option("--data-dir", help="Folder of datasets. [data, or PSEUDOBENCH_DATA]")
def command(names: tuple[str, ...], data_dir: str | None) -> None:
    """Show which datasets are present; fetch and check the named ones."""
    _, registry = installed()
    folder = data_folder(data_dir)
    if names:
        for name in names:
            prepare(registry, name, folder)
    else:
        show(registry, folder)


def show(registry: Registry, folder: Path) -> None:
    """Print every dataset, and whether it can be loaded without fetching anything."""
    from pseudobench.output import console

    rows = []
    for entry in registry.of("datasets"):
        try:
            state = (
                "there" if registry.dataset(entry.name).is_present(folder) else f"`bench data {entry.name}` fetches it"
            )
        except Exception as error:  # of any plugin: the other datasets are still shown
            state = one_line(error)
        rows.append([entry.name, state, entry.summary])
    console.show_table(["dataset", "state", "what it is"], rows, title=f"data folder: {folder}")


def prepare(registry: Registry, name: str, folder: Path) -> None:
    """Load a dataset, fetching it first if need be, and print its sizes."""
    from pseudobench.output import console

    present = registry.dataset(name).is_present(folder)
    with console.working_on(f"{'reading' if present else 'fetching'} {name}") as tell, reporting(tell):
        from pseudobench.execution.datasets import read_dataset

        data = read_dataset(registry, name, folder)
    counts = f"{name}: {len(data.train_labels)} training and {len(data.test_labels)} test"
    console.say(f"{counts} {_described(data.train.shape)}, {data.classes} classes")


def _described(shape: tuple[int, ...]) -> str:
    """A shape of samples in words."""
    if len(shape) == 1:
        return f"vectors of {counted(shape[0], 'number')}"
    channels, height, width = shape
    return f"images of {height} x {width} pixels, {counted(channels, 'channel')}"
