"""What `bench run` says beside its table: before, with --dry-run, what it would cost; after, what was found."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pseudobench.base.text import counted
from pseudobench.cli.cache import show_size, show_time

if TYPE_CHECKING:
    from pseudobench.analysis.run_facts import RunFacts
    from pseudobench.contracts.executing import RunnerConfig
    from pseudobench.contracts.run_spec import RunSpec
    from pseudobench.registry.components import Registry


def show_forecast(specs: Sequence[RunSpec], config: RunnerConfig, registry: Registry) -> None:
    """Print which runs there are, which are done, and about what the others take. Raises if one of these can't be."""
    from pseudobench.cli.status import show_states
    from pseudobench.contracts.events import Listener
    from pseudobench.execution.datasets import DatasetLoader
    from pseudobench.execution.forecast import forecast
    from pseudobench.execution.processes import automatic_jobs
    from pseudobench.execution.status import states
    from pseudobench.output import console
    from pseudobench.storage.cache import Cache
    from pseudobench.storage.records import Store

    store, jobs = Store(config.results), config.jobs or automatic_jobs(specs, config.device)
    cache = None if config.cache is None else Cache(config.cache)
    cost = forecast(specs, store, cache, force=config.force, jobs=jobs)
    runs = states(store, specs)
    waiting = [spec for spec, run in zip(specs, runs, strict=True) if config.force or run.state != "done"]
    DatasetLoader(config, registry, cache, Listener()).check(waiting)
    show_states(runs, config.results)
    left = cost.runs - cost.done
    verb = "is" if cost.done == 1 else "are"
    console.tell(f"{left} of {counted(cost.runs, 'run')} would be executed; {cost.done} {verb} done.")
    if not left:
        return
    console.tell(
        f"networks: at most {cost.networks - cost.shared} to train, at least {cost.shared} to reuse "
        "(methods that begin with the same labels share the first)"
    )
    guess = f" (from finished runs like {cost.known} of them)" if cost.known < left else ""
    at = counted(jobs, "run")
    console.tell(
        f"time: not known, as no run like these is finished in {config.results}"
        if cost.seconds is None
        else f"time: about {show_time(cost.seconds)} with {at} at a time{guess}"
    )
    console.tell(f"disk: {'not known yet' if cost.size is None else f'about {show_size(cost.size)} at most'}")


def show_verdict(runs: Sequence[RunFacts], registry: Registry, results: Path, jobs: int) -> None:
    """Print what was found, in words, and what to do next."""
    from pseudobench.analysis.arms import arms_of
    from pseudobench.maths.significance import SEEDS_NEEDED
    from pseudobench.output import console
    from pseudobench.output.findings import finding_sentences, findings

    found = findings(arms_of(runs, registry), registry)
    console.say()
    if any(run.place.preset == "smoke" and run.done for run in runs):
        console.tell("The preset smoke shows whether everything works. Its numbers mean nothing.", "yellow")
        found = []
    for line in finding_sentences(found):
        console.tell(line, "bold")
    seeds = sorted({run.spec["seed"] for run in runs})
    if len(seeds) < SEEDS_NEEDED and any(not each.verdict.tested for each in found):
        console.tell(_more_seeds(runs, seeds, jobs))
    folder = "" if str(results) == "runs" else f" {shlex.quote(str(results))}"
    console.say(f"records: {results}")
    for run in [run for run in runs if run.status == "failed"][:1]:
        console.say(f"next: bench show {run.run_id}{folder and f' --results{folder}'}")
    if found and all(each.verdict.tested for each in found):
        first = found[0].floor or found[0].verdict.arms[0]
        console.say(f"next: bench compare {first.method}{folder and f' --results{folder}'}")
    if any(run.done for run in runs):
        console.say(f"next: bench report{folder}")


def _more_seeds(runs: Sequence[RunFacts], seeds: Sequence[int], jobs: int) -> str:
    """How to get to a test: the seeds to ask for, and what they cost."""
    from pseudobench.maths.significance import SEEDS_NEEDED

    more = next_seeds(seeds)
    each = len(runs) / len(seeds)
    took = [run.seconds for run in runs if run.done]
    added = round(each * (SEEDS_NEEDED - len(seeds)))
    cost = f", about {show_time(added * sum(took) / len(took) / jobs)}" if took else ""
    return f"The same command with `--seeds {more}` adds {counted(added, 'run')}{cost}."


def next_seeds(seeds: Sequence[int]) -> str:
    """What to say to --seeds for enough of them, those that there are included."""
    from pseudobench.experiments.repeat_commands import seeds_text
    from pseudobench.maths.significance import SEEDS_NEEDED

    last = max(seeds)
    return seeds_text([*seeds, *range(last + 1, last + 1 + SEEDS_NEEDED - len(seeds))])
