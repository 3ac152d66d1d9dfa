"""``bench show``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from pseudobench.base.paths import results_folder
from pseudobench.cli.showing import show_json
from pseudobench.contracts.columns import headline


@click.command(epilog="\b\nExample:\n  bench show digits-40-ups-s0")
@click.argument("run")
@click.option("--results", help="Folder of run records. [runs, or PSEUDOBENCH_RESULTS]")
@click.option("--json", "as_json", is_flag=True, help="The whole record as JSON.")
def command(run: str, results: str | None, as_json: bool) -> None:
    """Show one run, round by round. RUN is its id, or a part of it that no other run has."""
    from pseudobench.output import console
    from pseudobench.storage.records import Store

    record = Store(results_folder(results)).find(run)
    if as_json:
        show_json(record)
        return
    console.tell(f"{record['run_id']}: {record['status']}, {record['seconds']:.1f} s")
    if record["error"]:
        where = record["error"].get("where")
        console.tell(record["error"]["message"] + (f" ({where})" if where else ""), indent=2)
    for line in describe(record):
        console.tell(line, indent=2)
    header = [
        "round",
        headline(record["rounds"][0])[0] if record["rounds"] else "accuracy",
        "nll",
        "ece",
        "positive",
        "right",
        "negative",
        "right",
        "coverage",
        "set size",
    ]
    rows = [row(each) for each in record["rounds"]]
    held = [at for at in range(len(header)) if at < 2 or any(texts[at] != "–" for texts in rows)]
    console.show_table([header[at] for at in held], [[texts[at] for at in held] for texts in rows], numbers_from=1)


def describe(record: Mapping[str, Any]) -> list[str]:
    """Spec, split and environment of a record, in a few lines."""
    spec, split, environment = record["spec"], record["split"], record["environment"]
    stages = ", ".join(f"{stage} {name}" for stage, name in spec["stages"].items()) or "labels only"
    source, versions = environment.get("source") or {}, environment.get("versions") or {}
    lines = [
        f"method {spec['method']}: {stages}",
        f"{spec['dataset']}, {spec['labels']} labels, seed {spec['seed']}, {spec['backbone']}, preset {spec['preset']}",
        f"split: {split['labeled']} to train on, {split['calibration']} for calibration, "
        f"{split.get('unlabeled', '?')} unlabeled, {split.get('test', '?')} for testing "
        f"(sha256 {split['sha256'][:16]})",
    ]
    for group, values in spec["settings"].items():
        lines.append(f"{group}: " + ", ".join(f"{name}={value}" for name, value in values.items()))
    work = [each["work"] for each in record["rounds"] if "work" in each]
    if work:
        trained, reused, saved = (sum(each[key] for each in work) for key in ("trained", "reused", "saved_seconds"))
        lines.append(f"networks: {trained} trained, {reused} reused, which saved {saved:.0f} s")
    lines.append(
        f"{environment.get('device', '?')} ({environment.get('device_name', '?')}), "
        f"{environment.get('threads', '?')} threads, "
        f"torch {versions.get('torch', '?')}, pseudobench {versions.get('pseudobench', '?')} "
        f"{str(source.get('revision', ''))[:12]}{' with changes' if source.get('changed') else ''}"
    )
    return lines


def row(round_: Mapping[str, Any]) -> list[str]:
    """One round as the texts of a table's row."""
    test, selection = round_["test"], round_.get("selection") or {}
    return [
        str(round_["round"]),
        _text(headline(round_)[1], 100, 2),
        _text(test.get("nll"), 1, 3),
        _text(test.get("ece"), 100, 2),
        _text(selection.get("positives"), 1, 0),
        _text(selection.get("positive_precision"), 100, 2),
        _text(selection.get("negatives"), 1, 0),
        _text(selection.get("negative_precision"), 100, 2),
        _text(selection.get("coverage"), 100, 1),
        _text(selection.get("set_size"), 1, 2),
    ]


def _text(value: float | None, scale: float, digits: int) -> str:
    return "–" if value is None else f"{value * scale:.{digits}f}"
