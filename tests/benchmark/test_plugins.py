"""Loading plugins and looking up components: broken ones are named, the rest works."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import ClassVar

import pytest
from strangers import Anything, load, plugin

from pseudobench import BenchError, Method, PluginError, param
from pseudobench.contracts import hookspecs
from pseudobench.contracts.kinds import kind_named
from pseudobench.experiments.resolving import resolve
from pseudobench.registry.components import Registry, build_registry
from pseudobench.registry.plugins import load_plugins

PLUGINS = Path(__file__).parents[2] / "plugins"


def test_bundled_plugins_are_entry_points_and_all_load():
    plugins = load_plugins()
    assert set(plugins.infos) == {"pl", "ups", "raps", "vision"} | {p.name for p in entry_points(group="pseudobench")}
    assert not plugins.broken


def test_a_hook_without_its_decorator_is_named():
    """Beside another with it, it would be silently ignored."""
    half = plugin("half", bench_columns=lambda: [])
    half.bench_selectors = lambda: [Anything]
    (broken,) = load(half)[0].broken
    assert broken.error == "bench_selectors is not in use: it lacks the line @hookimpl above it"


def test_a_strangers_component_is_listed_with_its_owner():
    _, registry = load(plugin(bench_selectors=lambda: [Anything]))
    (entry,) = registry.find("anything")
    assert (entry.kind, entry.plugin, entry.summary) == (
        "selectors",
        "stranger",
        "Selects nothing, and labels nothing.",
    )


@dataclass(frozen=True)
class WrongSignature(Anything):
    name: ClassVar[str] = "wrong-signature"

    def select(self, estimate): ...


EVERYTHING = Method("x", estimator="softmax", labeler="hard", selector="ups")


def line_of(text):
    """The line of this file that begins with a text."""
    lines = Path(__file__).read_text().splitlines()
    return 1 + next(number for number, line in enumerate(lines) if line.strip().startswith(text))


def raises():
    raise RuntimeError("no can do")


@dataclass(frozen=True)
class NoName(Anything):
    name: ClassVar[str] = ""


@dataclass(frozen=True)
class BadParameter(Anything):
    name: ClassVar[str] = "bad-parameter"
    other: float = 0.5


@dataclass(frozen=True)
class OutOfBounds(Anything):
    name: ClassVar[str] = "out-of-bounds"
    other: float = param(1.5, "another share", low=0, high=1)


@dataclass(frozen=True)
class WrongType(Anything):
    name: ClassVar[str] = "wrong-type"
    count: int = param("3", "a number in quotes")


@dataclass(frozen=True)
class NoClassVar(Anything):
    name: str = "no-class-var"


@dataclass(frozen=True)
class NeedsWithoutClassVar(Anything):
    name: ClassVar[str] = "needs-without"
    needs_sets: bool = False


@dataclass(frozen=True)
class Taken(Anything):
    name: ClassVar[str] = "mc-dropout"


@dataclass
class Unfrozen:
    name: ClassVar[str] = "unfrozen"


@dataclass(frozen=True)
class NoVerb:
    name: ClassVar[str] = "no-verb"
    needs_sets: ClassVar[bool] = False


@pytest.mark.parametrize(
    ("hooks", "expected"),
    [
        ({"bench_selectorz": lambda: []}, "did you mean 'bench_selectors'"),
        ({"bench_selectors": lambda nonsense: []}, "nonsense"),
        ({"bench_selectors": raises}, "bench_selectors: RuntimeError: no can do"),
        ({"bench_selectors": lambda: None}, "bench_selectors: it must return a list, not NoneType"),
        (
            {"bench_selectors": lambda: [WrongSignature]},
            "select must take (self, estimate, labels, sets, context), not",
        ),
        ({"bench_run_started": lambda spec, more: None}, "more"),
        ({"bench_selectors": lambda: [NoName]}, "NoName needs a `name` without spaces"),
        ({"bench_selectors": lambda: [BadParameter]}, "param(0.5"),
        (
            {"bench_selectors": lambda: [OutOfBounds]},
            f"OutOfBounds.other (test_plugins.py:{line_of('other: float = param(1.5')}): its default, 1.5, is not",
        ),
        (
            {"bench_selectors": lambda: [WrongType]},
            f"WrongType.count (test_plugins.py:{line_of('count: int = param')}): its default, '3', is not a whole",
        ),
        (
            {"bench_selectors": lambda: [NoClassVar]},
            f"NoClassVar.name (test_plugins.py:{line_of('name: str')}) is no parameter; write "
            "`name: ClassVar[str] = 'no-class-var'`",
        ),
        ({"bench_selectors": lambda: [NeedsWithoutClassVar]}, "write `needs_sets: ClassVar[bool] = False`"),
        ({"bench_selectors": lambda: [Taken]}, "plugin 'ups' (pseudobench 0.2.0) supplies it in estimators"),
        ({"bench_selectors": lambda: [Unfrozen]}, "must be a frozen dataclass"),
        ({"bench_selectors": lambda: [Anything()]}, "(the class itself)"),
        ({"bench_selectors": lambda: [NoVerb]}, "'no-verb' in selectors lacks select"),
        (
            {"bench_methods": lambda: [Method("pl")]},
            "the name 'pl' is taken: plugin 'pl' (pseudobench 0.2.0) supplies it",
        ),
        ({"bench_methods": lambda: [Anything]}, "must be a Method"),
        ({"bench_methods": lambda: [Method("x", selector="ups")]}, "needs an estimator and a labeler"),
        ({"bench_methods": lambda: [Method("x", sets="raps")]}, "has stages but no selector"),
        ({"bench_methods": lambda: [replace(EVERYTHING, labels="all")]}, "there is no pool to choose from"),
    ],
)
def test_a_broken_plugin_is_named_and_the_rest_works(hooks, expected):
    good = plugin("good", bench_columns=lambda: [])
    plugins, registry = load(plugin("bad", bench_labelers=lambda: [Anything], **hooks), good)
    assert [info.name for info in plugins.broken] == ["bad"]
    assert expected in plugins.broken[0].error
    assert not registry.find("anything")  # nothing of it is used, not even its sound half
    assert plugins.infos["good"].error is None
    assert registry.get("methods", "ups-raps").selector == "ups"


@pytest.mark.parametrize(("wanted", "cure"), [(0, "a newer version of the plugin"), (7, "install a newer pseudobench")])
def test_a_plugin_for_another_api_is_named_with_what_to_install(wanted, cure):
    other = plugin("other", bench_columns=lambda: [])
    other.PSEUDOBENCH_API = wanted
    plugins, registry = load(other)
    (broken,) = plugins.broken
    assert str(broken) == "plugin 'other' (dist-other 1.2)"
    assert f"made for version {wanted} of the plugin API" in broken.error
    assert cure in broken.error
    assert registry.get("methods", "ups")


def test_a_plugin_that_does_not_import_is_named(tmp_path, monkeypatch):
    (tmp_path / "explodes.py").write_text("import a_module_that_is_not_there\n")
    info = tmp_path / "explodes-0.3.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: explodes\nVersion: 0.3\n")
    (info / "entry_points.txt").write_text("[pseudobench]\nexplodes = explodes\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    plugins = load_plugins()
    (broken,) = plugins.broken
    assert (broken.name, broken.distribution, broken.version) == ("explodes", "explodes", "0.3")
    assert "a_module_that_is_not_there" in broken.error
    assert build_registry(plugins).get("methods", "ups")


def test_unknown_names_suggest_or_list(registry):
    with pytest.raises(BenchError, match=r"known: csa, .* and \d+ more: see `bench list methods`"):
        registry.get("methods", "zzz")
    with pytest.raises(BenchError, match="did you mean 'ups-raps'"):
        registry.get("methods", "ups-rasp")
    with pytest.raises(BenchError, match=r"known: .*cifar10, cifar10-grid, cifar100, csv, digits"):
        registry.get("datasets", "zzz")


def test_the_same_name_twice_raises():
    registry = Registry()
    registry.add(kind_named("selectors"), Anything, "first")
    with pytest.raises(PluginError, match="plugin 'first' supplies it in selectors"):
        registry.add(kind_named("estimators"), Anything, "second")


def test_a_composition_is_the_method_of_the_same_parts(registry):
    composed, named = registry.method("mc-dropout+raps+set-argmax+ups"), registry.method("ups-raps")
    assert composed.stages == named.stages
    assert registry.method("unscaled+raps+set-argmax+ups").scaling == "unscaled"
    assert registry.method("mc-dropout+ups").stages == registry.method("ups").stages


@pytest.mark.parametrize("text", ["mc-dropout + hard + ups", "mc-dropout +hard+ups", " mc-dropout+hard+ups "])
def test_spaces_in_a_composition_change_nothing(registry, text):
    assert registry.method(text) == registry.method("mc-dropout+hard+ups")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mc-dropout+raps+ups", "say which labeler it takes; one of: hard, set, set-argmax"),
        ("mc-dropout+hard", "needs a selector"),
        ("mc-dropout+softmax+ups", "names two for its estimator"),
        ("mc-droput+ups", "did you mean 'mc-dropout'"),
    ],
)
def test_bad_compositions(registry, text, message):
    with pytest.raises(BenchError, match=message):
        registry.method(text)


def test_a_method_that_sets_what_it_does_not_have_is_refused():
    _, registry = load(plugin(bench_methods=lambda: [replace(EVERYTHING, settings={"usp.tau_p": 0.9})]))
    with pytest.raises(BenchError, match=r"'x' sets usp\.tau_p, but has no 'usp'"):
        resolve(registry, method="x", dataset="digits", seed=0)


def test_bundled_plugins_use_the_public_api_alone():
    """They import `pseudobench`, its documented modules, themselves, and third parties: no internals."""
    public = {
        "pseudobench",
        "pseudobench.conformal",
        "pseudobench.estimation",
        "pseudobench.selection",
        "pseudobench.maths.losses",
        "pseudobench.executors",
        "pseudobench.files.own_files",
        "pseudobench.files.fetching",
    }
    for path in PLUGINS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            for name in names:
                internal = name.split(".")[0] == "pseudobench" and name not in public
                foreign = name.startswith("pseudobench_") and name.split(".")[0] != path.relative_to(PLUGINS).parts[0]
                assert not internal, f"{path.name} imports {name}"
                assert not foreign, f"{path.name} imports {name}"


def test_every_hook_is_documented():
    hooks = [value for name, value in vars(hookspecs).items() if name.startswith("bench_")]
    assert len(hooks) > 10
    for hook in hooks:
        assert inspect.getdoc(hook)


def test_every_component_and_parameter_says_what_it_is(registry):
    from pseudobench.contracts.parameters import parameters

    for entry in registry:
        assert entry.summary, entry.name
        if isinstance(entry.component, type):
            assert all(parameter.meaning for parameter in parameters(entry.component))


def test_bundled_plugins_add_no_commands():
    """`bench --help` does not load them."""
    ours = [info for info in load_plugins().infos.values() if info.distribution == "pseudobench"]
    assert len(ours) > 5
    assert not any("bench_commands" in info.hooks for info in ours)


def test_what_the_package_offers_is_there():
    import pseudobench

    assert set(pseudobench.__all__) == set(pseudobench._MODULES)
    assert all(getattr(pseudobench, name) is not None for name in pseudobench.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = pseudobench.nonsense
