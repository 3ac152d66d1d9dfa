"""``bench plugins``."""

from __future__ import annotations

import click

from pseudobench.cli.showing import show_json
from pseudobench.registry.components import installed


@click.command(epilog="\b\nExamples:\n  bench plugins\n  bench plugins --check")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.option("--check", is_flag=True, help="Exit with 1 if a plugin is broken.")
def command(as_json: bool, check: bool) -> int:
    """List the installed plugins: version, hooks, components, and the reason if one is left out."""
    plugins, registry = installed()
    supplied: dict[str, list[str]] = {}
    for entry in registry:
        supplied.setdefault(entry.plugin, []).append(entry.name)
    rows = [
        {
            "plugin": info.name,
            "distribution": f"{info.distribution} {info.version}",
            "state": info.error or "ok",
            "hooks": [hook.removeprefix("bench_") for hook in info.hooks],
            "components": supplied.get(info.name, []),
        }
        for info in plugins.infos.values()
    ]
    if as_json:
        show_json(rows)
    else:
        from pseudobench.output.console import show_table

        texts = [[v if isinstance(v, str) else ", ".join(v) for v in row.values()] for row in rows]
        show_table(list(rows[0]) if rows else [], texts)
    return int(check and bool(plugins.broken))
