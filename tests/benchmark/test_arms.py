"""Arms: which runs are one, what they are called, and that settings stay what they are."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import record, records

from pseudobench.analysis.arm_settings import shared_settings
from pseudobench.analysis.arms import arms_of
from pseudobench.analysis.run_facts import pick_columns, read_facts
from pseudobench.analysis.tables import summarize
from pseudobench.output.text_tables import table_grid
from pseudobench.registry.components import installed

REGISTRY = installed()[1]


def arms(*groups):
    return arms_of(read_facts(itertools.chain(*groups), REGISTRY), REGISTRY)


def names(*groups):
    return [arm.name for arm in arms(*groups)]


def test_a_method_with_one_arm_has_its_own_name():
    assert names(records("pl", [0.5]), records("ups", [0.5], settings={"ups.tau_p": 0.8})) == ["pl", "ups"]


def test_arms_of_a_method_are_named_by_the_one_setting_they_differ_in():
    """By the last part of its name; a policy by itself, a flag by its name with a minus sign where it is off."""
    for setting, values, expected in (
        ("ups.tau_p", (0.7, 0.8), ["ups-raps τ_p=0.7", "ups-raps τ_p=0.8"]),
        ("calibration.policy", ("held-out", "cross"), ["ups-raps cross", "ups-raps held-out"]),
        ("platt.smoothing", (True, False), ["ups-raps smoothing", "ups-raps −smoothing"]),
    ):
        made = names(*(records("ups-raps", [0.5], settings={setting: value}) for value in values))
        assert made == expected


def test_arms_that_differ_in_a_number_stand_in_its_order():
    made = arms(*(records("pl", [0.5], settings={"recipe.steps": steps}) for steps in (125, 25, 62)))
    assert [arm.name for arm in made] == ["pl steps=25", "pl steps=62", "pl steps=125"]
    table = table_grid(summarize(made, pick_columns(REGISTRY, ["accuracy"])))
    assert [row[0].text for row in table.rows] == ["pl steps=25", "pl steps=62", "pl steps=125"]


def test_a_setting_that_records_leave_out_at_its_default_has_that_value():
    """Those that were added later: otherwise the ids of earlier runs would change."""
    made = arms(records("pl", [0.5]), records("pl", [0.5], settings={"recipe.batches": "half"}))
    assert "batches" not in records("pl", [0.5])[0]["spec"]["settings"]["recipe"]
    assert [arm.name for arm in made] == ["pl batches=half", "pl batches=mixed"]


def test_arms_that_differ_in_several_settings_are_named_by_what_is_not_usual():
    made = arms(
        records("ups-raps-held-out", [0.5]),
        records("ups-raps-held-out", [0.5], settings={"raps.alpha": 0.05}),
        records("ups-raps-held-out", [0.5], settings={"calibration.policy": "cross"}),
        records("ups-raps-held-out", [0.5], settings={"calibration.policy": "cross", "platt.smoothing": False}),
    )
    assert [arm.name for arm in made] == [
        "ups-raps-held-out",
        "ups-raps-held-out cross",
        "ups-raps-held-out cross −smoothing",
        "ups-raps-held-out α=0.05",
    ]
    assert made[0].usual == {"calibration.policy": "held-out", "platt.smoothing": True, "raps.alpha": 0.1}
    table = summarize(made, pick_columns(REGISTRY, ["accuracy"]))
    assert "ups-raps-held-out platt.smoothing=True, raps.alpha=0.1" in table_grid(table).legend


def test_arms_without_one_at_the_defaults_are_named_by_what_each_user_set():
    """Defaults are what the other arm has where its user set nothing."""
    made = arms(
        records("ups", [0.5], settings={"ups.balance_rounds": 0}),
        records("ups", [0.5], settings={"ups.negatives": "none"}),
    )
    assert [arm.name for arm in made] == ["ups −balance_rounds", "ups −negatives"]
    assert made[0].usual == {"ups.negatives": "improbable"}


def test_a_setting_that_other_methods_of_the_place_lack_is_in_the_name():
    made = names(records("ups-raps", [0.5]), records("raps-singleton", [0.5], settings={"calibration.policy": "cross"}))
    assert made == ["ups-raps", "raps-singleton cross"]


def test_settings_that_end_alike_are_named_whole():
    """Both have a parameter ``alpha``."""
    groups = [records("ups-raps", [0.5], settings={"raps.alpha": alpha}) for alpha in (0.1, 0.2)]
    for group, alpha in zip(groups, (0.3, 0.4), strict=True):
        group[0]["spec"]["settings"]["lac"] = {"alpha": alpha}
    assert names(*groups) == ["ups-raps", "ups-raps raps.α=0.2 lac.α=0.4"]


def test_arms_that_differ_in_many_settings_have_short_names():
    """Runs of two versions of a recipe: the name says what tells them apart, the legend that there is more."""
    settings = {"recipe.lr": 0.3, "recipe.batch_size": 7, "recipe.steps": 3, "recipe.epochs": 2, "ups.tau_p": 0.8}
    groups = [records("ups", [0.5]), records("ups", [0.5], settings=settings)]
    groups.append(records("ups", [0.5], settings=settings | {"ups.tau_p": 0.9}))
    made = arms(*groups, records("pl", [0.5]))
    ups = [arm for arm in made if arm.method == "ups"]
    assert [arm.untold for arm in ups] == [0, 2, 2]
    assert len({arm.name for arm in ups}) == 3
    assert all(arm.name.endswith(" (+2)") and "τ_p=" in arm.name for arm in ups[1:])
    legend = table_grid(summarize(made, pick_columns(REGISTRY, ["accuracy"]))).legend
    assert "(+n): n settings more are its own" in legend


def test_the_same_arm_has_the_same_name_on_every_dataset():
    groups = [records("raps-singleton", [0.5]), records("raps-singleton", [0.5], labels=100)]
    cross = records("raps-singleton", [0.5], labels=100, settings={"calibration.policy": "cross"})
    assert names(*groups) == ["raps-singleton"] * 2
    assert names(*groups, cross) == ["raps-singleton held-out", "raps-singleton cross", "raps-singleton held-out"]


def test_a_component_with_a_colon_in_its_name_merges_nothing():
    """Settings were joined to text and split again where the next one seemed to begin."""
    odd = records("pl", [0.5], settings={"recipe.lr": 0.05})
    odd[0]["spec"]["settings"]["a:b"] = {"x": "1, y=2"}
    odd[0]["spec"]["overrides"] |= {"a:b.x": "1, y=2"}
    made = arms(odd, records("ups", [0.5]))
    assert made[0].settings["a:b.x"] == "1, y=2"
    assert shared_settings(made)["a:b.x"] == "1, y=2"
    assert "recipe.lr" in made[0].shown


def test_settings_keep_their_types():
    (arm,) = arms(records("ups-raps", [0.5]))
    assert arm.settings["platt.smoothing"] is False
    assert arm.settings["ups.tau_p"] == 0.7
    assert isinstance(arm.settings["recipe.epochs"], int)


def test_runs_with_the_same_settings_are_one_arm_whoever_set_them():
    """One user asked for the value that was the default for another."""
    other = record("pl", 1, 0.6)
    other["spec"]["overrides"] = {"recipe.lr": other["spec"]["settings"]["recipe"]["lr"]}
    (arm,) = arms([record("pl", 0, 0.5), other])
    assert arm.values["accuracy"] == {0: 0.5, 1: 0.6}


@pytest.mark.parametrize("key", ["device", "precision"])
def test_kinds_of_device_are_never_pooled(key):
    groups = [[record("pl", seed, 0.5, environment={"device": "cuda", key: value})] for seed, value in enumerate("ab")]
    assert len(arms(*groups)) == 2


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 2), st.sampled_from([0.5, 1.0, "1", "0.5", "None", "a b=1"])
)


@given(st.lists(st.dictionaries(st.sampled_from(["a.x", "b.x", "b.y", "c"]), VALUES), min_size=1, max_size=6))
def test_names_are_unique_whatever_the_settings(settings):
    """Values that print alike included. Runs with equal settings are one arm; here each has a seed of its own."""
    made = []
    for seed, held in enumerate(settings):
        run = record("pl", seed, 0.5)
        run["spec"]["settings"]["odd"] = held
        run["run_id"] += str(seed)
        made.append(run)
    found = arms(made)
    assert len({arm.name for arm in found}) == len(found)
    assert len(found) == len({repr(sorted(held.items())) for held in settings})
