"""Markdown documents whose tables and figures are made by the command that stands above each of them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass

from pseudobench.errors import BenchError

#: A comment with a command, over one line or several, what it has made, and the comment that ends it.
_BLOCK = re.compile(r"^<!-- bench (?P<command>.*?)-->\n(?P<text>.*?)^<!-- end -->$", re.MULTILINE | re.DOTALL)
_OPENING = re.compile(r"^<!-- bench ", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """The arguments of a ``bench`` command, and the text that stands below it now."""

    arguments: list[str]
    text: str


def blocks(document: str, name: str) -> list[Block]:
    """The blocks of a document, in their order; ``name`` is for errors. Code between fences is only shown."""
    found = [
        Block(_arguments(match["command"], name), document[slice(*match.span("text"))]) for match in _all(document)
    ]
    opened = len(_OPENING.findall(_without_code(document)))
    if opened != len(found):
        raise BenchError(f"{name}: a <!-- bench … --> has no <!-- end --> on a line of its own before the next one")
    return found


def fill(document: str, texts: Iterable[str]) -> str:
    """The document with the text of each block replaced."""
    parts, end = [], 0
    for match, text in zip(_all(document), texts, strict=True):
        parts += [document[end : match.start("text")], text]
        end = match.end("text")
    return "".join([*parts, document[end:]])


def block_text(printed: str) -> str:
    """What a command printed, as it stands in a document: between empty lines."""
    return f"\n{printed.strip()}\n\n"


def _all(document: str) -> list[re.Match[str]]:
    return [*_BLOCK.finditer(_without_code(document))]


def _without_code(document: str) -> str:
    """The document with spaces in place of code between fences, so that every position stays."""
    return _FENCE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), document)


def _arguments(command: str, name: str) -> list[str]:
    try:
        found = shlex.split(command)
    except ValueError as error:
        raise BenchError(f"{name}: `bench {command.strip()}` can't be read: {error}") from None
    if not found:
        raise BenchError(f"{name}: <!-- bench --> names no command")
    return found
