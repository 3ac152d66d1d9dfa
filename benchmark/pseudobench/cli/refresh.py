"""``bench refresh``."""

from __future__ import annotations

import io
import os
import re
import shlex
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from xml.etree import ElementTree

import click

from pseudobench.base.paths import to_path, write_output
from pseudobench.errors import BenchError
from pseudobench.output.documents import Block, block_text, blocks, fill

_EXAMPLES = """\b
Examples:
  bench refresh results README.md
  bench refresh results --check
\b
A block of a document:
  <!-- bench table results/digits --columns accuracy,precision -->
  <!-- end -->
"""
#: Commands that read records, and the options that say where they write files.
READERS = ("table", "compare", "figures", "report")
_TARGETS = ("-o", "--output")


@click.command(epilog=_EXAMPLES)
@click.argument("documents", nargs=-1, required=True, metavar="DOCUMENTS")
@click.option("--check", is_flag=True, help="Write nothing; name what differs from its records, and exit with 1.")
def command(documents: tuple[str, ...], check: bool) -> None:
    """Make all tables and figures in Markdown DOCUMENTS again, from the run records that they are made of.

    A folder stands for the Markdown files in it. Where a document has a comment with a `bench` command that reads
    records (table, compare, figures, report), what stands between it and the next `<!-- end -->` is replaced by what
    the command prints; files that it draws are written and linked. Commands are those of the folder you are in.
    Documents are written after all commands have succeeded.
    """
    from pseudobench.output import console

    files = list(_files(documents))
    todo = [(file, block) for file in files for block in blocks(_read(file), str(file))]
    if not todo:
        raise BenchError("no block begins with <!-- bench COMMAND -->; `bench refresh --help` shows one")
    done: dict[Path, list[str]] = {file: [] for file in files}
    stale: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        drawn: dict[Path, Path] = {}
        for place, (file, block) in enumerate(console.track(todo, "running commands")):
            text, made = _run(block, file, Path(scratch, str(place)))
            done[file].append(text)
            stale += [f"{file}: `bench {shlex.join(block.arguments)}` prints other text"] * (text != block.text)
            stale += [f"{path} would be drawn differently" for path, new in made.items() if _differ(path, new)]
            drawn |= made
        if not check:
            for path, new in drawn.items():
                write_output(path, new.read_bytes())
            for file in files:
                write_output(file, fill(_read(file), done[file]).encode())
    for line in stale if check else ():
        console.say(line)
    console.say(f"documents: {len(files)}, blocks: {len(todo)}, {'different' if check else 'changed'}: {len(stale)}")
    if check and stale:
        click.get_current_context().exit(1)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BenchError(f"{file} can't be read: {error}") from None


def _files(documents: Sequence[str]) -> Iterator[Path]:
    for name in documents:
        path = to_path(name)
        if path.is_dir():
            yield from (each for each in sorted(path.rglob("*.md")) if blocks(_read(each), str(each)))
        elif path.is_file():
            yield path
        else:
            raise BenchError(f"{name} is neither a Markdown document nor a folder of them")


def _run(block: Block, file: Path, scratch: Path) -> tuple[str, dict[Path, Path]]:
    """What a command makes of its block, and its files by their names, as they were written to ``scratch`` instead."""
    from pseudobench.cli.main import cli

    name, *arguments = block.arguments
    if name not in READERS:
        raise BenchError(f"{file}: `bench {name}` is no command of a document; these are: {', '.join(READERS)}")
    if name in ("table", "compare") and "--format" not in arguments:
        arguments += ["--format", "markdown"]
    at = next((place + 1 for place, each in enumerate(arguments[:-1]) if each in _TARGETS), None)
    if name in ("figures", "report") and at is None:
        raise BenchError(f"{file}: `bench {name}` of a document says where it writes, with -o")
    target = Path("." if at is None else arguments[at])
    if at is not None:
        arguments[at] = str(scratch)
    printed = io.StringIO()
    with redirect_stdout(printed):
        cli.main([name, *arguments], prog_name="bench", standalone_mode=False)
    if at is None:
        return block_text(printed.getvalue()), {}
    written = [Path(line.rpartition(": ")[2]) for line in printed.getvalue().splitlines() if line.strip()]
    made = {target / path.relative_to(scratch): path for path in written}
    return block_text("\n".join(_link(path, file, block.text) for path in made)), made


def _differ(path: Path, new: Path) -> bool:
    return not path.is_file() or _says(path) != _says(new)


def _says(path: Path) -> object:
    """What two files of the same records agree in: of a drawing its words, as their places depend on the fonts."""
    if path.suffix != ".svg":
        return path.read_bytes()
    try:
        elements = [*ElementTree.parse(path).iter()]
    except ElementTree.ParseError:
        return None
    found = ((element.get("aria-label"), element.text) for element in elements if not element.tag.endswith("style"))
    return [text.strip() for texts in found for text in texts if text and text.strip()]


def _link(path: Path, document: Path, before: str) -> str:
    """A figure is shown, with the words for those who can't see it that stood there before; other files are linked."""
    near = Path(os.path.relpath(path, document.parent)).as_posix()
    if path.suffix not in (".svg", ".png"):
        return f"[{path.name}]({near})"
    said = re.search(rf"!\[([^\]]*)\]\({re.escape(near)}\)", before)
    return f"![{said[1] if said else path.stem}]({near})"
