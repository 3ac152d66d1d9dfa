"""Loading plugins and looking up components: broken ones are named, the rest works."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import ClassVar

import pytest

from pseudobench import (
    Backbone,
    BenchError,
    BenchWarning,
    Column,
    Estimate,
    Method,
    PluginError,
    Selection,
    hookimpl,
    hookspecs,
    param,
)
from pseudobench.frames import frame
from pseudobench.listeners import Listener
from pseudobench.networks import check_backbone
from pseudobench.plugins import PluginInfo, load_plugins
from pseudobench.registry import Registry, build_registry
from pseudobench.runner import Runner
from pseudobench.spec import resolve
from pseudobench.store import Store

PLUGINS = Path(__file__).parents[2] / "plugins"


def plugin(name="stranger", **hooks):
    module = ModuleType(name)
    for hook, function in hooks.items():
        setattr(module, hook, hookimpl(function))
    return module


def load(*modules):
    """The bundled plugins and then these."""
    plugins = load_plugins()
    for module in modules:
        plugins.add(module, PluginInfo(module.__name__, f"dist-{module.__name__}", "1.2"))
    return plugins, build_registry(plugins)


@dataclass(frozen=True)
class Anything:
    """Selects nothing, and labels nothing."""

    name: ClassVar[str] = "anything"
    needs_sets: ClassVar[bool] = False
    share: float = param(0.5, "a share", low=0, high=1)

    def select(self, *given): ...

    label = estimate = select


def test_bundled_plugins_are_entry_points_and_all_load():
    plugins = load_plugins()
    assert set(plugins.infos) == {"pl", "ups", "raps", "vision"} | {p.name for p in entry_points(group="pseudobench")}
    assert not plugins.broken


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
        ({"bench_selectors": lambda: None}, "bench_selectors: PluginError: it must return a list, not NoneType"),
        (
            {"bench_selectors": lambda: [WrongSignature]},
            "select must take (self, estimate, labels, sets, context), not",
        ),
        ({"bench_run_started": lambda spec, more: None}, "more"),
        ({"bench_selectors": lambda: [NoName]}, "needs a `name`"),
        ({"bench_selectors": lambda: [BadParameter]}, "param(0.5"),
        ({"bench_selectors": lambda: [Taken]}, "plugin 'ups' (pseudobench 0.1.0) supplies it in estimators"),
        ({"bench_selectors": lambda: [Unfrozen]}, "must be a frozen dataclass"),
        ({"bench_selectors": lambda: [Anything()]}, "(the class itself)"),
        ({"bench_selectors": lambda: [NoVerb]}, "'no-verb' in selectors lacks select"),
        (
            {"bench_methods": lambda: [Method("pl")]},
            "the name 'pl' is taken: plugin 'pl' (pseudobench 0.1.0) supplies it",
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


@dataclass(frozen=True)
class Faulty(Anything):
    """A selector that does what it is told."""

    name: ClassVar[str] = "faulty"
    fault: str = param("raises", "what is wrong with it", choices=("raises", "shape", "type", "both"))

    def select(self, estimate, labels, sets, context):
        if self.fault == "raises":
            raise IndexError("out of\nreach")
        if self.fault == "type":
            return labels.target
        if self.fault == "both":
            return Selection(labels.target, labels.target)
        return Selection(labels.target[:3], labels.target[:3] & False)


@dataclass(frozen=True)
class Nan:
    """An estimator that knows nothing."""

    name: ClassVar[str] = "nan"
    needs_sets: ClassVar[bool] = False

    def estimate(self, pool, sets, context):
        probs = pool.logits() * float("nan")
        return Estimate(probs, probs)


@pytest.mark.parametrize(
    ("method", "fault", "expected"),
    [
        (
            "softmax+hard+faulty",
            "raises",
            "selector 'faulty' of plugin 'stranger' (dist-stranger 1.2): IndexError: out of",
        ),
        ("softmax+hard+faulty", "shape", "returned Selection of shape [3, 10], not [1161, 10]"),
        ("softmax+hard+faulty", "type", "returned Tensor, not Selection"),
        ("softmax+hard+faulty", "both", "Selection holds a class as both positive and negative"),
        (
            "nan+hard+ups",
            "raises",
            "estimator 'nan' of plugin 'stranger' (dist-stranger 1.2): Estimate.probs holds NaN",
        ),
    ],
)
def test_what_goes_wrong_in_a_stage_is_blamed_on_its_plugin(tmp_path, method, fault, expected):
    plugins, registry = load(plugin(bench_selectors=lambda: [Faulty], bench_estimators=lambda: [Nan]))
    settings = {"faulty.fault": fault} if "faulty" in method else {}
    spec = resolve(registry, method=method, dataset="digits", seed=0, preset="smoke", settings=settings)
    (record,) = Runner(registry, plugins, Store(tmp_path), Listener(), tmp_path, "cpu").run([spec])
    assert record["status"] == "failed"
    assert expected in record["error"]["message"]
    assert "\n" not in record["error"]["message"]


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


def test_a_failing_listener_is_a_warning_and_the_others_hear():
    heard = []

    def fails(spec):
        raise ValueError("deaf")

    def hears(spec):
        heard.append(spec)

    plugins, _ = load(plugin("first", bench_run_started=fails), plugin("second", bench_run_started=hears))
    with pytest.warns(BenchWarning, match=r"'first' \(dist-first 1.2\) failed in bench_run_started: ValueError: deaf"):
        plugins.notify("bench_run_started", spec="the spec")
    assert heard == ["the spec"]


def test_unknown_names_suggest_or_list(registry):
    with pytest.raises(BenchError, match="did you mean 'ups-raps'"):
        registry.get("methods", "ups-rasp")
    with pytest.raises(BenchError, match="known: cifar10, cifar10-grid, cifar100, csv, digits"):
        registry.get("datasets", "zzz")


def test_the_same_name_twice_raises():
    registry = Registry()
    registry.add("selectors", Anything, "first")
    with pytest.raises(PluginError, match="plugin 'first' supplies it in selectors"):
        registry.add("estimators", Anything, "second")


def test_a_composition_is_the_method_of_the_same_parts(registry):
    composed, named = registry.method("mc-dropout+raps+set-argmax+ups"), registry.method("ups-raps")
    assert composed.stages == named.stages
    assert registry.method("unscaled+raps+set-argmax+ups").scaling == "unscaled"
    assert registry.method("mc-dropout+ups").stages == registry.method("ups").stages


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


def test_one_strangers_backbone_that_does_not_import_harms_no_other():
    _, registry = load(plugin(bench_backbones=lambda: [Backbone("ghost_net", "a_module_that_is_not_there", "boo")]))
    check_backbone(registry, "digits_cnn")
    with pytest.raises(BenchError, match=r"backbone 'ghost_net' of plugin 'stranger' \(dist-stranger 1.2\) can't be"):
        check_backbone(registry, "ghost_net")


def test_one_strangers_column_that_fails_is_named_and_empty(tmp_path):
    def fails(record):
        raise KeyError("nothing there")

    plugins, registry = load(plugin(bench_columns=lambda: [Column("ghost", "fails", fails)]))
    spec = resolve(registry, method="supervised", dataset="digits", seed=0, preset="smoke")
    records = Runner(registry, plugins, Store(tmp_path), Listener(), tmp_path, "cpu").run([spec])
    with pytest.warns(BenchWarning, match="column 'ghost' can't read"):
        runs = frame(records, registry)
    assert runs["ghost"].isna().all()
    assert runs["accuracy"].notna().all()


def test_bundled_plugins_use_the_public_api_alone():
    """They import `pseudobench`, its documented modules, themselves, and third parties: no internals."""
    public = {
        "pseudobench",
        "pseudobench.conformal",
        "pseudobench.estimation",
        "pseudobench.selection",
        "pseudobench.executors",
        "pseudobench.queue",
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
    from pseudobench.parameters import parameters

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
