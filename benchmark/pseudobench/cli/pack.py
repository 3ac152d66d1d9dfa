"""``bench pack``."""

from __future__ import annotations

import click

from pseudobench.base.paths import results_folder
from pseudobench.base.text import counted
from pseudobench.cli.showing import results_options


@click.command(epilog="\b\nExamples:\n  bench pack\n  bench pack results/digits results/heads-cifar10")
@results_options
def command(results: tuple[str, ...]) -> None:
    """Move the files of finished runs below the folders RESULTS into one pack in each folder, a tenth of their size.

    Every command reads packed runs like the others. A pack keeps records whole, and of predictions the classes; their
    probabilities are not kept, so that `bench rescore` leaves columns that need them as they are.
    """
    from pseudobench.output import console

    with console.working("reading records"):
        from pseudobench.cli.cache import show_size
        from pseudobench.storage.packing import loose_runs, pack_runs
        from pseudobench.storage.records import Store

        found = list(loose_runs(Store(results_folder(folder)) for folder in results or (None,)).items())
    if not found:
        console.say("nothing to pack: no finished run has a file of its own")
    packed = [pack_runs(folder, records) for folder, records in console.track(found, "packing")]
    for done in packed:
        runs = counted(done.runs, "run")
        console.say(f"{done.folder}: {runs} packed, {show_size(done.before)} to {show_size(done.after)}")
