"""A new plugin: a small distribution with everything that one needs to be installed, tested and published."""

from __future__ import annotations

import keyword
import re
from pathlib import Path
from string import Template

from pseudobench import templates
from pseudobench.errors import BenchError

KINDS = tuple(templates.KINDS)


def create(name: str, kind: str, folder: Path) -> list[Path]:
    """Write a plugin called ``name`` into ``folder``, which must not exist; the files written."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name) or keyword.iskeyword(name):
        raise BenchError(f"{name!r}: a plugin's name is lower-case words joined by hyphens, such as my-rule")
    if kind not in templates.KINDS:
        raise BenchError(f"--kind {kind}: one of {', '.join(templates.KINDS)}")
    if folder.exists():
        raise BenchError(f"{folder} exists already; choose another name, or remove it")
    texts = render(name, kind)
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return [folder / path for path in texts]


def render(name: str, kind: str) -> dict[str, str]:
    """The files of a plugin, path to text."""
    imports, typing, body = templates.KINDS[kind]
    module = name.replace("-", "_")
    words = {
        "name": name,
        "module": module,
        "kind": kind,
        "class_": "".join(word.capitalize() for word in name.split("-")),
        "title": name.replace("-", " ").capitalize(),
        "summary": f"{_article(kind)} {kind} for pseudobench",
        "article": _article(kind),
        "Article": _article(kind).capitalize(),
        "imports": imports,
        "typing": "\n".join(f"    {line}" if line else "" for line in typing),
        "hook": f"bench_{kind.replace('-', '_')}s",
        "use": templates.USE.get(kind, ""),
    }
    files = {
        "pyproject.toml": templates.PYPROJECT,
        f"{module}.py": templates.HEAD + body + templates.TAIL,
        f"tests/test_{module}.py": templates.TEST,
        "README.md": templates.README,
    }
    return {path: Template(text).substitute(words).replace("$name", name) for path, text in files.items()}


def _article(kind: str) -> str:
    return "an" if kind[0] in "aeiou" else "a"
