"""Commands made from records ask for exactly the runs that the records are of."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pseudobench import BenchError
from pseudobench.cli.run import command as run_command
from pseudobench.contracts.run_spec import RESULTS as NOW
from pseudobench.contracts.run_spec import RunSpec
from pseudobench.experiments.parsing import SHORT, experiment_from, parse_seeds, parse_settings
from pseudobench.experiments.repeat_commands import commands, seeds_text
from pseudobench.experiments.resolving import resolve
from pseudobench.storage.records import Store

RESULTS = Path(__file__).parents[2] / "results"
KEYS = ("methods", "dataset", "labels", "seeds", "backbone", "preset", "validation", *SHORT)


def asked_for(text, registry):
    """The runs that a command asks for, by the path that `bench run` takes."""
    bench, run, *rest = shlex.split(text)
    assert (bench, run) == ("bench", "run")
    given = run_command.make_context("run", rest).params
    flags = {key: given[key] for key in KEYS}
    return experiment_from({**flags, "set": parse_settings(given["settings"])}).specs(registry)


def test_committed_records_give_commands_that_ask_for_them(registry):
    kept = [RunSpec.from_json(record["spec"]) for record in Store(RESULTS).records()]
    here = {dataset for dataset in {spec.dataset for spec in kept} if is_here(dataset, registry)}
    specs = [spec for spec in kept if spec.dataset in here]
    found = commands(specs, registry)
    for each in found:  # records of an earlier version are told that the code has changed, and nothing else is wrong
        assert each.problem == "" or (each.problem.startswith("changed since: ") and "pseudobench" in each.problem)
    earlier = {spec.sources.get("pseudobench") for spec in specs} - {None, str(NOW)}
    assert any(each.problem for each in found) is bool(earlier)
    assert len(found) < len(specs) / 5
    asked = {named(spec) for each in found for spec in asked_for(each.text, registry)}
    assert asked == set(map(named, specs))  # a set: runs of two versions have one name


def is_here(dataset, registry):
    """Whether a dataset is, or may be fetched; some are in packages that are not installed everywhere."""
    try:
        return bool(resolve(registry, method="supervised", dataset=dataset, seed=0))
    except BenchError as error:
        if "which is absent: pip install" not in str(error):
            raise
        return False


def named(spec):
    """The id of a run, whatever the code of its plugins, and whatever the order of a composition."""
    return replace(spec, sources={}, method="+".join(sorted(spec.method.split("+")))).run_id


def test_every_kind_of_setting_comes_back(registry):
    common = {"method": "ups-raps", "dataset": "digits", "preset": "smoke"}
    settings = (
        {"recipe.steps": "none", "recipe.lr": 0.1 + 0.2, "raps.randomized": False},
        {"calibration.policy": "cross", "raps.alpha": 0.2},
        {"network.image_size": 16, "ups.negatives": "complement"},
    )
    specs = [
        resolve(registry, **common, seed=seed, labels=labels, validation=validation, settings=each)
        for each in settings
        for seed in (3, 4, 9)
        for labels, validation in ((40, False), (100, True))
    ]
    found = commands(specs, registry)
    assert len(found) == 6
    asked = {spec.run_id for each in found for spec in asked_for(each.text, registry)}
    assert asked == {spec.run_id for spec in specs}


def test_a_default_that_has_changed_since_is_said(registry):
    spec = resolve(registry, method="pl", dataset="digits", seed=0)
    old = replace(spec, settings={**spec.settings, "recipe": {**spec.settings["recipe"], "lr": 0.07}})
    (found,) = commands([old], registry)
    assert "--set recipe.lr=0.07" in found.text
    assert found.problem == ""
    assert [each.run_id for each in asked_for(found.text, registry)] == [old.run_id]


def test_every_word_is_quoted_for_a_shell(registry):
    spec = resolve(registry, method="pl", dataset="digits", seed=0)
    odd = "0;touch x $(touch y) `touch z` 'q' \"q\" \n|&"
    texts = dict.fromkeys(("dataset", "method", "backbone", "preset", "labels"), odd)
    (found,) = commands([replace(spec, **texts, settings={odd: {odd: odd}}, overrides={odd: odd})], registry)
    words = shlex.split(found.text)
    assert words.count(odd) == 5
    assert f"{odd}={odd}" in words
    (found,) = commands([replace(spec, seed="0;touch x")], registry)
    assert "0;touch x," in shlex.split(found.text)


def test_what_can_not_be_asked_for_is_said(registry):
    spec = resolve(registry, method="pl", dataset="digits", seed=0)
    gone = replace(spec, settings={**spec.settings, "recipe": {**spec.settings["recipe"], "warmth": 1}})
    foreign = replace(spec, method="it's mine; rm -rf", dataset='a "name"')
    other = replace(spec, stages={**spec.stages, "labeler": "set-argmax"})
    for each, problem in (
        (gone, "recipe has no parameter 'warmth'"),
        (foreign, "there is no method"),
        (other, "runs something else under these names"),
    ):
        (found,) = commands([each], registry)
        assert problem in found.problem
        words = shlex.split(found.text)
        assert words[words.index("--methods") + 1] == each.method
        assert words[words.index("--dataset") + 1] == each.dataset


@given(st.lists(st.integers(0, 30), min_size=1, unique=True))
def test_seeds_come_back(seeds):
    assert parse_seeds(seeds_text(seeds)) == tuple(sorted(seeds))


@pytest.mark.parametrize(
    ("seeds", "text"), [([0, 1, 2], "3"), ([5, 6], "5-6"), ([7], "7,"), ([0], "0,"), ([1, 3], "1,3")]
)
def test_seeds_are_short(seeds, text):
    assert seeds_text(seeds) == text
