"""``bench``: the command group and the one place where errors become exit codes."""

from __future__ import annotations

import importlib
import io
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import click

from pseudobench.base.text import is_path_text
from pseudobench.contracts.parameters import suggest
from pseudobench.errors import BenchError, BenchWarning, Detached, PluginError
from pseudobench.registry.plugin_files import take_files

#: Subcommand to the module that holds it (as ``command``) and its line of help. Modules load when called.
COMMANDS = {
    "run": ("pseudobench.cli.run", "Run methods on a dataset and show the table."),
    "status": ("pseudobench.cli.status", "Show what of an experiment is done, running, failed or missing."),
    "table": ("pseudobench.cli.table", "Tabulate run records."),
    "compare": ("pseudobench.cli.compare", "Test whether methods differ, paired over seeds."),
    "report": ("pseudobench.cli.report", "Write a report on run records as one HTML file."),
    "figures": ("pseudobench.cli.figures", "Draw run records as SVG, PDF or PNG."),
    "refresh": ("pseudobench.cli.refresh", "Make the tables and figures in Markdown documents again."),
    "rescore": ("pseudobench.cli.rescore", "Compute columns anew from the predictions that runs have kept."),
    "pack": ("pseudobench.cli.pack", "Move finished runs into one file, a tenth of the size."),
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

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """A misspelt command is answered with the one that is near."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(f"there is no command {args[0]!r}{suggest(args[0], self.list_commands(ctx))}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Exit with the code of a closed pipe: click would exit with 1, the code of a failed run."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            _close_output()
            ctx.exit(_PIPE)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing the modules of our own."""
        self._ask_plugins()
        rows = [(name, text) for name, (_, text) in COMMANDS.items()]
        rows += [(name, command.get_short_help_str(80)) for name, command in sorted(self.commands.items())]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Take in a command of a plugin; raises if it is none, or if its name is taken."""
        if not isinstance(cmd, click.Command):
            raise PluginError(f"{cmd!r} is no command of click, but a {type(cmd).__name__}")
        taken = name or cmd.name
        if taken in COMMANDS or taken in self.commands:
            raise PluginError(f"bench has a command {taken!r} already; choose another name")
        super().add_command(cmd, name)

    def _ask_plugins(self) -> None:
        """Ask third-party plugins for commands. Bundled plugins add none, so `bench --help` need not load them."""
        from pseudobench.registry.plugins import FILE, load_plugins

        if not getattr(self, "_asked", False):
            self._asked = True
            plugins = load_plugins(bundled=False)
            plugins.each("bench_commands", cli=self)
            for broken in plugins.broken:
                if broken.distribution == FILE:  # it was named, so that somebody wants it
                    raise BenchError(f"{broken} can't be used: {broken.error}")
                warnings.warn(f"{broken} is not in use: {broken.error}", BenchWarning, stacklevel=2)


@click.command(
    cls=Bench,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with `bench run`: a comparison on the embedded dataset, in a few minutes. "
    "Every command takes `--plugin FILE`, a plugin that is not installed. "
    'Completion: eval "$(_BENCH_COMPLETE=bash_source bench)" in ~/.bashrc; likewise zsh_source, fish_source.',
)
@click.version_option(package_name="pseudobench", prog_name="bench")
def cli() -> None:
    """Benchmark ways of choosing pseudo-labels for semi-supervised learning."""


#: Environment variable: if set, an unexpected exception is shown with its traceback.
DEBUG = "PSEUDOBENCH_DEBUG"
_INTERNAL = 70  # sysexits.h calls it EX_SOFTWARE
_PIPE = 141  # the code of shells for a command whose output was closed


def main(arguments: list[str] | None = None) -> None:
    """Run ``bench``. Exit codes: 0 all done, 1 some run failed, 2 bad input, 70 a defect of pseudobench."""
    _prepare_output()
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning  # type: ignore[assignment]
        warnings.simplefilter("always", BenchWarning)
        code = _exit_code(sys.argv[1:] if arguments is None else arguments)
    sys.exit(code)


def _prepare_output() -> None:
    """Replace closed streams by the null device, and write characters that an encoding lacks as escapes."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - as long as the process
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _exit_code(arguments: list[str]) -> int:
    try:
        if not all(map(is_path_text, arguments)):
            raise BenchError("an argument holds a NUL character, or half of one; no name and no path can")
        code = cli.main(take_files(arguments), prog_name="bench", standalone_mode=False)
        sys.stdout.flush()
    except Detached as left:
        from pseudobench.output.console import say

        say(str(left))
        return 0
    except (Exception, KeyboardInterrupt) as error:
        code, text = _explained(error)
        if code == _INTERNAL and os.environ.get(DEBUG):
            raise
        if isinstance(error, OSError):
            _close_output()
        if text:
            _fail(text)
    return code if isinstance(code, int) else 0


def _explained(error: BaseException) -> tuple[int, str]:
    """The exit code and the message for an error."""
    match error:
        case click.Abort() | KeyboardInterrupt():
            return 130, "stopped; finished runs are kept, and the same command goes on with the rest"
        case BenchError():
            return 2, str(error)
        case BrokenPipeError():  # the reader has closed the output, as `head` does
            return _PIPE, ""
        case OSError():  # of a file or folder that was named, or of a disk that is full
            return 2, f"{error.filename or 'the output'}: {error.strerror or error}"
        case click.ClickException():
            return 2, _usage(error)
    return _INTERNAL, _internal(error)


def _usage(error: click.ClickException) -> str:
    """A mistake in the command line in one line; where a subcommand is missing, the help."""
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":  # which click has since 8.2
        error.show()
        return ""
    return error.format_message() + (f" (see `{context.command_path} --help`)" if context else "")


def _close_output() -> None:
    """Discard standard output if it can't be written to: Python would try again at exit, and complain."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _internal(error: BaseException) -> str:
    """An unexpected exception in one line, with the innermost line of pseudobench in its traceback."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "pseudobench" in frame.filename] or list(frames)
    place = f"{Path(own[-1].filename).name}:{own[-1].lineno}"
    return f"internal error: {type(error).__name__}: {error} (at {place}); please report it ({DEBUG}=1 shows more)"


def _fail(text: str) -> None:
    from pseudobench.output.console import fail

    fail(text)


def _show_warning(message: Warning | str, category: type[Warning], *_: Any) -> None:
    """Print a warning of pseudobench as one line; warnings of libraries are hidden."""
    from pseudobench.output.console import warn

    if issubclass(category, BenchWarning):
        warn(str(message))
