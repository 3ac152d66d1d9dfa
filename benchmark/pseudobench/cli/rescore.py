"""``bench rescore``."""

from __future__ import annotations

import click

from pseudobench.base.paths import data_folder, results_folder
from pseudobench.base.text import counted
from pseudobench.cli.showing import results_options
from pseudobench.errors import BenchError
from pseudobench.registry.components import installed


@click.command(epilog="\b\nExamples:\n  bench rescore\n  bench rescore results/digits results/heads-cifar10")
@results_options
@click.option("--data-dir", help="Folder of datasets. [data, or PSEUDOBENCH_DATA]")
def command(results: tuple[str, ...], data_dir: str | None) -> int:
    """Compute columns anew from the predictions that runs have kept, below the folders RESULTS.

    These are the columns with a score of their own, a plugin's new ones included. Nothing is trained.
    """
    from pseudobench.output import console

    with console.working("reading records"):
        from pseudobench.execution.scoring import Rescorer, scored_columns
        from pseudobench.storage.records import Store, read_record, record_files

        _, registry = installed()
        rescorer = Rescorer(registry, data_folder(data_dir))
        stores = [Store(results_folder(folder)) for folder in results or (None,)]
        found = [(path, record["run_id"]) for path, record in record_files(stores)]
    done = 0
    problems: dict[str, int] = {}
    for path, run_id in console.track(found, "rescoring"):
        try:  # the record as it is now: it may have been a while since all were read
            Store(path.parent).save(rescorer.rescore(read_record(path), path.parent))
            done += 1
        except BenchError as error:
            reason = str(error).replace(run_id, "a run")
            problems[reason] = problems.get(reason, 0) + 1
    console.say(f"{done} of {counted(len(found), 'run')} rescored: {', '.join(scored_columns(registry))}")
    for reason, count in problems.items():
        console.warn(f"{counted(count, 'run')} not rescored: {reason}")
    return int(bool(found) and not done)
