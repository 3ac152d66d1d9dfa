"""A new plugin: a small distribution with everything that one needs to be installed, tested and published."""

from __future__ import annotations

import keyword
import re
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from string import Template

from pseudobench.contracts.kinds import KINDS as ALL_KINDS
from pseudobench.errors import BenchError
from pseudobench.registry.components import installed

_TEMPLATES = resources.files("pseudobench.registry").joinpath("templates")
#: Kinds of component that a new plugin can start with, and the hook of each.
HOOKS = {
    **{kind.singular: kind.hook for kind in ALL_KINDS},
    "command": "bench_commands",
    "listener": "bench_run_finished",
}
KINDS = tuple(HOOKS)
#: How the README of a new plugin says to use its component.
_USE = {
    "selector": " Use it in any composition, such as `bench run --methods supervised,softmax+hard+$name`.",
    "labeler": " Use it in any composition, such as `bench run --methods softmax+$name+confidence`.",
    "estimator": " Use it in any composition, such as `bench run --methods $name+hard+ups`.",
    "scaling": " Use it in any composition, such as `bench run --methods $name+raps+set-argmax+confidence`.",
    "set-predictor": " Use it in any composition, such as `bench run --methods $name+set-argmax+confidence`.",
    "dataset": " Use it as `bench run --dataset $name`.",
    "method": " Use it as `bench run --methods $name`.",
    "objective": " Use it as `bench run --methods $name`, or in a composition with a selector.",
    "column": " Use it as `bench table --columns accuracy,$name`.",
    "command": " Use it as `bench $name`.",
    "backbone": " Use it as `bench run --backbone $plain`, once it is installed.",
    "executor": " Use it as `bench run --executor $name`.",
}


def create(name: str, kind: str, folder: Path) -> list[Path]:
    """Write a plugin called ``name`` into ``folder``, which must not exist; the files written."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name) or keyword.iskeyword(name):
        raise BenchError(f"{name!r}: a plugin's name is lower-case words joined by hyphens, such as my-rule")
    if kind not in KINDS:
        raise BenchError(f"--kind {kind}: one of {', '.join(KINDS)}")
    if folder.name == _module(name):
        raise BenchError(f"--folder {folder}: beside it, {folder.name} would mean the folder, not the module inside")
    if folder.exists():
        raise BenchError(f"{folder} exists already; choose another name, or remove it")
    _check_free(name)
    texts = render(name, kind)
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return [folder / path for path in texts]


def _check_free(name: str) -> None:
    """Raise if a plugin, a component or a module has the name already: the new one could not be installed beside it."""
    plugins, registry = installed()
    owners = [f"{entry.owner} supplies it in {entry.kind}" for entry in registry.find(name)]
    owners += [str(plugins.infos[name])] if name in plugins.infos else []
    owners += [f"there is a module {_module(name)}"] if find_spec(_module(name)) else []
    if owners:
        raise BenchError(f"the name {name!r} is taken: {owners[0]}; choose another")


def render(name: str, kind: str) -> dict[str, str]:
    """The files of a plugin, path to text."""
    module = _module(name)
    article = "an" if kind[0] in "aeiou" else "a"
    words = {
        "name": name,
        "module": module,
        "modules": f'"{module}", "{module}_network"' if kind == "backbone" else f'"{module}"',
        "plain": name.replace("-", "_"),
        "hook": HOOKS[kind],
        "kind": kind,
        "class_": "".join(word.capitalize() for word in name.split("-")),
        "title": name.replace("-", " ").capitalize(),
        "article": article,
        "Article": article.capitalize(),
        "use": Template(_USE.get(kind, "")).substitute(name=name, plain=name.replace("-", "_")),
    }
    own_test = _TEMPLATES.joinpath(f"test-{kind}.py.template").is_file()
    files = {
        "pyproject.toml": "pyproject.toml",
        f"{module}.py": f"{kind}.py",
        f"tests/test_{name.replace('-', '_')}.py": f"test-{kind}.py" if own_test else "test.py",
        "README.md": "README.md",
    }
    if kind == "backbone":
        files[f"{module}_network.py"] = "network.py"
    return {path: Template(_template(source)).substitute(words) for path, source in files.items()}


def _template(name: str) -> str:
    return _TEMPLATES.joinpath(f"{name}.template").read_text(encoding="utf-8")


def _module(name: str) -> str:
    """The module of a plugin. Its name is not the folder's: beside that folder, Python would import the folder."""
    return f"pseudobench_{name.replace('-', '_')}"
