"""Plugins that are single files, not installed: named with ``--plugin``, or in PSEUDOBENCH_PLUGINS."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from pseudobench.errors import BenchError

#: Environment variable with the files: child processes inherit it.
FILES = "PSEUDOBENCH_PLUGINS"


def plugin_files() -> list[str]:
    """Plugins that are single files: those named with ``--plugin``, or in PSEUDOBENCH_PLUGINS."""
    return [file for file in os.environ.get(FILES, "").split(os.pathsep) if file]


def name_file(file: str) -> None:
    """Make a file one of the plugins of this process, and of those that it starts."""
    path = Path(file).absolute()
    if path.is_dir():
        inside = next(iter(sorted(Path(file).glob("*.py"))), Path(file) / "my_rule.py")
        raise BenchError(f"{file} is a folder; name the file in it, such as {inside}")
    if not path.is_file():
        raise BenchError(f"there is no plugin file {file}")
    if path.suffix != ".py":
        raise BenchError(f"{file} is no plugin file: its name must end in .py")
    os.environ[FILES] = os.pathsep.join(dict.fromkeys([*plugin_files(), str(path)]))


@contextmanager
def naming(files: Sequence[str]) -> Iterator[None]:
    """Make files plugins of this process, and of those that it starts, inside ``with`` alone."""
    before = os.environ.get(FILES)
    folders = {str(Path(file).absolute().parent) for file in files} - set(sys.path)
    try:
        for file in files:
            name_file(file)
        yield
    finally:
        os.environ.pop(FILES, None)
        if before is not None:
            os.environ[FILES] = before
        sys.path[:] = [folder for folder in sys.path if folder not in folders]


def take_files(arguments: Sequence[str]) -> list[str]:
    """Arguments of a command without ``--plugin FILE``; each such file becomes a plugin (see `name_file`)."""
    left: list[str] = []
    waiting = list(arguments)
    while waiting:
        word = waiting.pop(0)
        if word == "--":
            return [*left, word, *waiting]
        if word == "--plugin":
            if not waiting:
                raise BenchError("--plugin needs the file of a plugin")
            name_file(waiting.pop(0))
        elif word.startswith("--plugin="):
            name_file(word.partition("=")[2])
        else:
            left.append(word)
    return left


def import_plugin(name: str) -> ModuleType:
    """A module by its name or file. Modules beside the file can be imported, unless another module has their name."""
    if not name.endswith(".py"):
        return importlib.import_module(name)
    path = Path(name).absolute()
    # A name of its own: a file called statistics.py must not take the place of another module.
    module_name = f"pseudobench_file_{hashlib.sha256(os.fsencode(path)).hexdigest()[:8]}_{path.stem}"
    if not path.is_file():
        raise BenchError(f"there is no plugin file {name}")
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    module = sys.modules.get(module_name)
    return _execute(module_name, path) if module is None else module


def _execute(name: str, path: Path) -> ModuleType:
    """The module called ``name`` from a file."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up there
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
