"""Hashes of source code: which code a plugin's component consists of, and whether it has changed.

Comments, docstrings and blank lines do not count: words about code give no other results. Neither do modules called
``presets``: their values are defaults, and those that a run took are among its settings.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import io
import sys
import tokenize
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path


def code_of_class(component: type) -> str:
    """A hash of the code that a class consists of; of a class from a notebook's cell, of the class alone."""
    if _roots(component.__module__):
        return code_of_module(component.__module__)
    try:
        text = inspect.getsource(component)
    except (OSError, TypeError):
        text = ""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@cache  # a process never sees its own source change
def code_of_module(module: str) -> str:
    """A hash of a module's code, and of all code it imports from its own package, distribution or folder."""
    return _digest(sorted(_closure(module)))


@cache
def code_of_packages(folders: tuple[Path, ...]) -> str:
    """A hash of all code in and below folders."""
    return _digest([path for folder in folders for path in sorted(folder.rglob("*.py"))])


def _digest(paths: Iterable[Path]) -> str:
    found = hashlib.sha256()
    for path in paths:
        found.update(f"{path.name}\n{_code(path)}\n".encode())
    return found.hexdigest()[:12]


def _closure(module: str) -> set[Path]:
    """The files of a module and of everything of its own that it imports, directly or not."""
    roots = _roots(module)
    waiting, seen, files = [module], set[str](), set[Path]()
    while waiting:
        name = waiting.pop()
        if name in seen or name.endswith(".presets"):
            continue
        seen.add(name)
        path = _file(name, roots)
        if path is None:
            continue
        files.add(path)
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        imported = list(_imports(path, package))
        parents = [name.rpartition(".")[0]] if "." in name else []
        waiting += [each for each in imported + parents if each.partition(".")[0] in roots]
    return files


@cache
def _roots(module: str) -> dict[str, Path]:
    """Name to file or folder of the top-level modules that belong together with ``module``.

    They are the modules of its distribution (without the harness itself); for a plugin that is a file, the modules and
    packages of its folder.
    """
    top = module.partition(".")[0]
    spec = None if top in sys.modules else find_spec(top)
    origin = getattr(sys.modules.get(top), "__file__", None) or (spec.origin if spec else None)
    if origin is None:
        return {}
    path = Path(origin)
    own = {top: path.parent if path.name == "__init__.py" else path}
    distributions = set(_distributions().get(top, ()))
    if not distributions:  # not installed: a file, beside which others may lie
        if own[top] != path:
            return own
        packages = {each.parent.name: each.parent for each in path.parent.glob("*/__init__.py")}
        return {**{each.stem: each for each in path.parent.glob("*.py")}, **packages, **own}
    for name, owners in _distributions().items():
        other = find_spec(name) if distributions & set(owners) and name not in (top, "pseudobench") else None
        if other is not None and other.origin is not None:
            found = Path(other.origin)
            own[name] = found.parent if found.name == "__init__.py" else found
    return own


_distributions = cache(packages_distributions)


def _file(name: str, roots: dict[str, Path]) -> Path | None:
    """The file of a module below its root; None if there is none (a name that is no module)."""
    top, *parts = name.split(".")
    if top not in roots:
        return None
    path = roots[top].joinpath(*parts)
    for each in (path / "__init__.py", path.with_name(f"{path.name}.py"), path):
        if each.is_file() and each.suffix == ".py":
            return each
    return None


def _imports(path: Path, package: str) -> Iterator[str]:
    """Every module that a file may import, functions included; ``package`` is what relative names start from."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            start = ".".join([*base, *([node.module] if node.module else [])])
            yield start
            yield from (f"{start}.{alias.name}" for alias in node.names)


def _code(path: Path) -> str:
    """A file's source without comments, docstrings and blank lines."""
    source = path.read_bytes()
    lines = [bytearray(line.encode()) for line in source.decode("utf-8", "surrogateescape").splitlines()]
    for first, start, last, end in (*_docstrings(source), *_comments(source)):
        for number in range(first, last + 1):
            left = start if number == first else 0
            right = end if number == last else len(lines[number - 1])
            lines[number - 1][left:right] = b" " * (right - left)
    texts = (line.decode("utf-8", "replace").rstrip() for line in lines)
    return "\n".join(text for text in texts if text)


def _docstrings(source: bytes) -> Iterator[tuple[int, int, int, int]]:
    """First line, its offset, last line and its end, in bytes, of every docstring."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and type(first.value.value) is str:
                yield first.lineno, first.col_offset, first.end_lineno or 0, first.end_col_offset or 0


def _comments(source: bytes) -> Iterator[tuple[int, int, int, int]]:
    """The same of every comment."""
    for token in tokenize.tokenize(io.BytesIO(source).readline):
        if token.type == tokenize.COMMENT:
            before = len(token.line[: token.start[1]].encode())
            yield token.start[0], before, token.start[0], before + len(token.string.encode())
