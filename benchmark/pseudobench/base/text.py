"""Text to show: that of others (records, plugins, file names) made safe, in lines, in order, numbers with nouns."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

_SURROGATE = re.compile("[\ud800-\udfff]")
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)", re.ASCII)


def visible(text: str, *, keep: str = "") -> str:
    """Text with its invisible characters as escapes: control characters, line breaks, changes of direction, halves.

    A terminal would obey an escape sequence, and a line break could pretend to be another line of output. The
    characters ``keep`` stay as they are, and so do all kinds of spaces.
    """
    if text.isprintable():
        return text
    hidden = {ord(char): escaped(char) for char in set(text) if not (char in keep or _is_shown(char))}
    return text.translate(hidden) if hidden else text


def _is_shown(char: str) -> bool:
    return char.isprintable() or unicodedata.category(char) == "Zs"


def escaped(char: str) -> str:
    """A character as Python writes it: ``\\x1b``, ``\\u202e``."""
    return char.encode("unicode_escape").decode()


def without_surrogates(text: str) -> str:
    """Text that can be encoded: halves of characters (in names of files that are no UTF-8) as escapes."""
    return _SURROGATE.sub(lambda half: escaped(half[0]), text)


def is_path_text(text: str) -> bool:
    """Whether a text can be a path at all: it has no NUL character, and no half of a character."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def shortened(text: str, most: int = 2000) -> str:
    """Text of at most ``most`` characters and a few: a longer one without its middle."""
    return text if len(text) <= most else f"{text[: most // 2]} ... {text[-most // 2 :]}"


def in_texts(function: Callable[[str], str], value: Any) -> Any:
    """A value of JSON with ``function`` applied to every text in it, keys included."""
    if isinstance(value, str):
        return function(value)
    if isinstance(value, Mapping):
        return {in_texts(function, key): in_texts(function, inner) for key, inner in value.items()}
    return [in_texts(function, inner) for inner in value] if isinstance(value, list | tuple) else value


def in_lines(name: str, width: int) -> str:
    """A name in lines of at most ``width`` characters where it can be broken: after a plus sign, a comma or a space."""
    lines = [""]
    for part in re.findall(r"[^+, ]*[+, ]?", name):
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip(" ") for line in lines)


def counted(count: int, word: str) -> str:
    """``1 run``, ``2 runs``."""
    return f"{count} {word}{'s' * (count != 1)}"


def in_order(name: str) -> tuple[str | float, ...]:
    """A key that sorts names as people do, numbers by their value: ``steps=25`` before ``steps=125``."""
    return tuple(float(part) if place % 2 else part for place, part in enumerate(_NUMBER.split(name)))
