"""Plugin files that change while a process lives: in a notebook, a rule is edited and run again."""

from __future__ import annotations

import ast
import hashlib
import importlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pseudobench.base import source_code
from pseudobench.errors import BenchError

#: File to the hash of its content when it was last read as a part of a plugin.
_READ: dict[Path, str] = {}


def code_in(files: Iterable[str]) -> str:
    """A hash of the content of plugin files and of the modules beside them that they import; "" for no files."""
    found = sorted((str(path), _hash(path)) for path in _reach(map(_root, files)))
    return hashlib.sha256(repr(found).encode()).hexdigest()[:12] if found else ""


def forget_changed(files: Sequence[str]) -> None:
    """Let everything of plugin files that has changed since it was read be imported anew, and hashed anew.

    That is the files themselves, the modules and packages beside them that they import, and whatever imports a changed
    one of these; also modules of other plugin files, read before, that have the name of one of these. Others of this
    process may still hold the modules from before.
    """
    reached = _reach(map(_root, files))
    _check_names({path: top for path, top in reached.items() if path not in {path for path, _ in map(_root, files)}})
    present = {path: _hash(path) for path in reached}
    changed = {path for path, content in present.items() if _READ.get(path) != content}
    stale = {str(path) for path, top in reached.items() if changed & _reach([(path, top)]).keys()}
    former, names = {str(path) for path in _READ.keys() - reached}, {top.stem for top in reached.values()}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name != "__main__" and (file in stale or (name.partition(".")[0] in names and file in former)):
            del sys.modules[name]
    _READ.update(present)
    importlib.invalidate_caches()  # of folders: a file may be a moment old
    forget_hashes()


def _check_names(modules: Mapping[Path, Path]) -> None:
    """Raise if two plugin files import different modules by one name: both would get the first."""
    by_name: dict[str, Path] = {}
    for top in sorted(set(modules.values())):
        other = by_name.setdefault(top.stem, top)
        if other != top and top.stem not in sys.stdlib_module_names:
            raise BenchError(f"plugin files import both {other} and {top} as {top.stem!r}; rename one of them")


def forget_hashes() -> None:
    """Let the code of modules be hashed anew."""
    source_code.code_of_module.cache_clear()
    source_code._roots.cache_clear()


def _root(file: str) -> tuple[Path, Path]:
    """A plugin file as `_reach` takes it: it is a module by itself."""
    path = Path(file).absolute()
    return path, path


def _reach(modules: Iterable[tuple[Path, Path]]) -> dict[Path, Path]:
    """Files, and every module beside them that they import, directly or not: of a package, all of it.

    By file, what it is a part of as Python looks for it: the file itself, or the folder of its package.
    """
    waiting, found = list(modules), dict[Path, Path]()
    while waiting:
        path, top = waiting.pop()
        if path not in found and path.is_file():
            found[path] = top
            waiting += [(each, top) for each in top.rglob("*.py")] if top.is_dir() else []
            waiting += [each for name in _imported(path) for each in _beside(top, name)]
    return found


def _beside(top: Path, name: str) -> Iterator[tuple[Path, Path]]:
    """The module or package ``name`` in the folder of ``top``; Python takes the package if there are both."""
    package, module = top.with_name(name) / "__init__.py", top.with_name(f"{name}.py")
    yield (package, package.parent) if package.is_file() else (module, module)


def _imported(path: Path) -> Iterator[str]:
    """Every top-level module that a file imports, in functions too, or may name in a text, as backbones name theirs.

    None if it is no Python: importing it says so.
    """
    try:
        nodes = list(ast.walk(ast.parse(path.read_bytes())))
    except (SyntaxError, ValueError, OSError):
        return
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            yield node.value


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
