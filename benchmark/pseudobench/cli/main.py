"""``bench``: the command group and the one place where errors become exit codes."""

from __future__ import annotations

import importlib
import sys
import warnings
from typing import Any

import click

from pseudobench.errors import BenchError, BenchWarning, Detached

#: Subcommand to the module that holds it (as ``command``) and its line of help. Modules load when called.
COMMANDS = {
    "run": ("pseudobench.cli.run", "Run methods on a dataset and show the table."),
    "status": ("pseudobench.cli.status", "Show what of an experiment is done, running, failed or missing."),
    "table": ("pseudobench.cli.table", "Tabulate run records."),
    "compare": ("pseudobench.cli.compare", "Test whether methods differ, paired over seeds."),
    "report": ("pseudobench.cli.report", "Write a report on run records as one HTML file."),
    "figures": ("pseudobench.cli.figures", "Draw run records as SVG, PDF or PNG."),
    "rescore": ("pseudobench.cli.rescore", "Compute columns anew from the predictions that runs have kept."),
    "show": ("pseudobench.cli.show", "Show one run, round by round."),
    "data": ("pseudobench.cli.data", "Show where datasets are, and prepare them."),
    "cache": ("pseudobench.cli.cache", "Show what is kept to be reused, and what that saved."),
    "list": ("pseudobench.cli.list", "List methods, datasets and all other components."),
    "plugin": ("pseudobench.cli.plugin", "Start a plugin, and check one."),
    "plugins": ("pseudobench.cli.plugins", "List the installed plugins and what they supply."),
}


class Bench(click.Group):
    """Loads a subcommand's module only when it is called, and asks plugins for theirs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Our commands in the order of use, then the plugins'."""
        self._ask_plugins()
        return [*COMMANDS, *sorted(self.commands)]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """A command by name."""
        if name in COMMANDS:
            command: click.Command = importlib.import_module(COMMANDS[name][0]).command
            return command
        self._ask_plugins()
        return super().get_command(ctx, name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without loading ours."""
        self._ask_plugins()
        rows = [(name, text) for name, (_, text) in COMMANDS.items()]
        rows += [(name, command.get_short_help_str(80)) for name, command in sorted(self.commands.items())]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def _ask_plugins(self) -> None:
        """Strangers alone: ours add no command, and `bench --help` need not wait for them."""
        from pseudobench.registry.plugins import load_plugins

        if not getattr(self, "_asked", False):
            self._asked = True
            plugins = load_plugins(bundled=False)
            plugins.each("bench_commands", cli=self)
            for broken in plugins.broken:
                warnings.warn(f"{broken} is not in use: {broken.error}", BenchWarning, stacklevel=2)


@click.command(
    cls=Bench,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with `bench run`: four methods on the embedded dataset, in a few minutes.",
)
@click.version_option(package_name="pseudobench", prog_name="bench")
def cli() -> None:
    """Benchmark ways of choosing pseudo-labels for semi-supervised learning."""


def main(arguments: list[str] | None = None) -> None:
    """Run ``bench``. Exit codes: 0 all done, 1 some run failed, 2 what was asked for can't be."""
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning  # type: ignore[assignment]
        warnings.simplefilter("always", BenchWarning)
        sys.exit(_exit_code(arguments))


def _exit_code(arguments: list[str] | None) -> int:
    try:
        code = cli.main(arguments, prog_name="bench", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        _fail("stopped; finished runs are kept, and the same command goes on with the rest")
        return 130
    except Detached as left:
        from pseudobench.output.console import say

        say(str(left))
        return 0
    except BenchError as error:
        _fail(str(error))
        return 2
    return code if isinstance(code, int) else 0


def _fail(text: str) -> None:
    from pseudobench.output.console import fail

    fail(text)


def _show_warning(message: Warning | str, category: type[Warning], *_: Any) -> None:
    """Our own warnings as a line; those of libraries stay out of the user's way."""
    from pseudobench.output.console import warn

    if issubclass(category, BenchWarning):
        warn(str(message))
