"""``bench run``."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import click

from pseudobench.api import runner_config
from pseudobench.cli.completing import names_of
from pseudobench.cli.run_words import show_forecast, show_verdict
from pseudobench.cli.showing import show_frame
from pseudobench.contracts.parameters import checked, parameters
from pseudobench.contracts.protocols import Executor
from pseudobench.errors import BenchError
from pseudobench.execution.processes import Processes, automatic_jobs, warm_up
from pseudobench.experiments.parsing import check_jobs, experiment_from, name_plugins, parse_settings, read_file
from pseudobench.experiments.presets import PRESETS
from pseudobench.files.fetching import reporting
from pseudobench.registry.components import Registry, installed

_EXAMPLES = """\b
Examples:
  bench run
  bench run --methods ups,ups-raps --labels 100 --seeds 10
  bench run --methods pl,mc-dropout+raps+set-argmax+ups
  bench run --methods ups --set ups.tau_p=0.8 --set recipe.epochs=40
  bench run --methods ups-raps --calibration cross
  bench run --dataset cifar10 --tune head --backbone resnet18 --weights timm
  bench run baselines/digits.toml

\b
Exit codes: 0 all runs done, 1 some run failed, 2 what was asked for can't be.
"""


_GROUPS = {
    "What": ("methods", "dataset", "labels", "seeds", "settings", "calibration", "imbalance", "validation"),
    "Network": ("backbone", "weights", "tune", "image_size"),
    "How much": ("preset", "timeout", "force", "dry_run"),
    "Where": ("results", "data_dir", "cache_dir", "cache", "device", "jobs", "executor", "in_process"),
    "Output": ("keep", "quiet", "as_json", "help"),
}
_GROUPED = {"file", *(name for names in _GROUPS.values() for name in names)}


class Command(click.Command):
    """A command whose options include the parameters of every executor."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Load the plugins named in an experiment file first: their executors may add options."""
        for word in args:
            if word.endswith(".toml") and Path(word).is_file():
                name_plugins(Path(word))
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The command's own options, then the executors', then --help."""
        own = super().get_params(ctx)
        return [*own[:-1], *executor_options(installed()[1]), *own[-1:]]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options in groups, those of executors last."""
        options = {each.name: each.get_help_record(ctx) for each in self.get_params(ctx)}
        for title, names in {**_GROUPS, "Clusters": [name for name in options if name not in _GROUPED]}.items():
            rows = [row for name in names if (row := options.get(name)) is not None]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def executor_options(registry: Registry) -> list[click.Parameter]:
    """``--ray-address`` for the parameter ``address`` of the executor ``ray``, and so on."""
    return [
        click.Option(
            [f"--{entry.name}-{each.name.replace('_', '-')}"], help=f"{each.meaning}. [{str(each.default).lower()}]"
        )
        for entry in registry.of("executors")
        for each in parameters(entry.component)
    ]


def pick_executor(registry: Registry, name: str | None, flags: dict[str, Any]) -> Executor | None:
    """The executor called ``name``, made with its options, which are removed from ``flags``."""
    found = None
    for entry in registry.of("executors"):
        options = {
            each.name: flags.pop(f"{entry.name}-{each.name}".replace("-", "_"), None)
            for each in parameters(entry.component)
        }
        given = {key: value for key, value in options.items() if value is not None}
        if entry.name == name:
            found = entry.component(**checked(entry.name, entry.component, given))
        elif given:
            option = f"--{entry.name}-{next(iter(given))}".replace("_", "-")
            raise BenchError(f"{option} is for --executor {entry.name}")
    if name is not None and found is None:
        registry.get("executors", name)  # raises, and lists the executors
    return found


@click.command(cls=Command, epilog=_EXAMPLES)
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--methods",
    shell_complete=names_of("methods"),
    help="Methods, or compositions of components joined by +. [the default comparison]",
)
@click.option("--dataset", shell_complete=names_of("datasets"), help="Datasets. [the embedded one]")
@click.option("--labels", help="Label counts: the budget of every method. [the dataset's own]")
@click.option("--seeds", help="A count (3: seeds 0, 1, 2), a range (5-9) or a list (0,4,7). [6]")
@click.option(
    "--backbone", shell_complete=names_of("backbones"), help="Any timm model or registered network. [the dataset's own]"
)
@click.option("--weights", help="Where the backbone starts: timm, a .safetensors or .pth file, or package:NAME. [new]")
@click.option(
    "--tune",
    type=click.Choice(("full", "head")),
    help="full: train all of the backbone; head: freeze it and train a head. [full]",
)
@click.option("--image-size", help="Upsample images to this side, in pixels. [as they are]")
@click.option("--preset", type=click.Choice(tuple(PRESETS)), help="How much compute. [cpu]")
@click.option(
    "--calibration",
    type=click.Choice(("held-out", "train", "cross")),
    help="Where calibration labels come from. [the method's own]",
)
@click.option("--imbalance", help="Long-tailed classes: the last one's share of the first one's samples. [as they are]")
@click.option(
    "--validation",
    is_flag=True,
    default=None,
    help="Measure on training images held out, not on test images.",
)
@click.option("--set", "settings", multiple=True, metavar="NAME.PARAMETER=VALUE", help="A parameter; repeatable.")
@click.option("--results", help="Folder for run records. [runs, or PSEUDOBENCH_RESULTS]")
@click.option("--data-dir", help="Folder of datasets. [data, or PSEUDOBENCH_DATA]")
@click.option("--cache-dir", help="Folder of what can be computed again. [PSEUDOBENCH_CACHE, or the user's cache]")
@click.option(
    "--cache/--no-cache", default=True, help="Reuse what was trained before; the results are the same. [cache]"
)
@click.option("--device", default="auto", show_default=True, help="cpu, cuda, cuda:1, ...")
@click.option("--jobs", default="auto", show_default=True, help="Runs at a time, each in a process; auto: all cores.")
@click.option(
    "--executor",
    shell_complete=names_of("executors"),
    help="Where runs execute; `bench list executors` shows them. [processes]",
)
@click.option("--in-process", is_flag=True, help="Run in this process, one after another, for debuggers.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Most seconds that a run may take. [any]")
@click.option("--keep", is_flag=True, help="Keep whole logits of test samples and pool beside each record.")
@click.option("--force", is_flag=True, help="Run again what is finished.")
@click.option(
    "--dry-run", is_flag=True, help="Execute nothing; show the runs, those done, and an estimate of the cost."
)
@click.option("--quiet", is_flag=True, help="No progress.")
@click.option("--json", "as_json", is_flag=True, help="The runs as JSON on standard output, and nothing else there.")
def command(
    file: Path | None,
    settings: tuple[str, ...],
    data_dir: str | None,
    cache_dir: str | None,
    cache: bool,
    jobs: str,
    executor: str | None,
    in_process: bool,
    timeout: float | None,
    keep: bool,
    device: str,
    force: bool,
    dry_run: bool,
    quiet: bool,
    as_json: bool,
    **flags: Any,
) -> int:
    """Run every method on every dataset, label count and seed, then show the table.

    A composition that names no estimator or labeler takes the default one; with sets it takes the scaling of its set
    predictor, unless it names another.

    Options win over FILE, an experiment in TOML with the same keys, a table [set] of parameters, and tables [[arms]]
    for experiments of several parts, each with keys of its own. A run whose record is finished is not run again. Every
    run writes its record after each round.
    """
    from pseudobench.output import console, progress

    plugins, registry = installed()
    where = pick_executor(registry, executor, flags)
    from_file = read_file(file) if file else {}
    experiment = experiment_from(from_file, {**flags, "set": parse_settings(settings)})
    specs = experiment.specs(registry)

    if dry_run and as_json:
        raise BenchError("--json goes not with --dry-run: its estimate is a text")
    if in_process and (jobs != "auto" or executor or timeout):
        raise BenchError("--in-process goes with none of --jobs, --executor and --timeout: runs have no other process")
    if timeout is not None and executor not in (None, Processes.name):
        raise BenchError(f"--timeout is for runs in processes of this machine, not for --executor {executor}")
    if where is None and not in_process:
        where = Processes()
    if isinstance(where, Processes) and not dry_run:
        warm_up(specs)
    with console.working("loading torch and timm"):
        from pseudobench.analysis.run_facts import read_facts
        from pseudobench.execution.runner import Runner

    config = runner_config(
        experiment,
        data_dir=data_dir,
        cache_dir=cache_dir,
        cache=cache,
        device=device,
        force=force,
        jobs=check_jobs(jobs),
        timeout=timeout,
        keep=keep,
    )
    if dry_run:
        show_forecast(specs, config, registry)
        return 0
    listener = progress.listener(quiet)
    try:
        with reporting(progress.teller(listener)), redirect_stdout(sys.stderr):  # a plugin may print
            runs = read_facts(Runner(config, registry, plugins, listener, where).run(specs), registry)
    finally:
        listener.experiment_finished()
    if as_json:
        from pseudobench.analysis.dataframe import frame, scaled

        show_frame(scaled(frame(runs, registry), registry), "json")
    else:
        from pseudobench.cli.table import show_summary

        show_summary(runs, registry)
        show_verdict(runs, registry, config.results, config.jobs or automatic_jobs(specs, device))
    return int(not all(run.done for run in runs))
