"""Experiments, settings and run ids."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pseudobench import BenchError
from pseudobench.contracts.parameters import parameters
from pseudobench.contracts.run_spec import RunSpec
from pseudobench.experiments.parsing import experiment_from, parse_seeds, read_file
from pseudobench.experiments.resolving import resolve
from pseudobench_raps import Raps
from pseudobench_ups import Ups


def spec(registry, method="ups", **changes):
    return resolve(registry, **{"method": method, "dataset": "digits", "seed": 0, "labels": 50, **changes})


def test_run_id_is_the_same_for_the_same_run_only(registry):
    base = spec(registry)
    assert spec(registry).run_id == base.run_id
    assert spec(registry, settings={"ups.tau_p": "0.7"}).run_id == base.run_id  # its default, said aloud
    others = [
        spec(registry, seed=1),
        spec(registry, labels=60),
        spec(registry, method="pl"),
        spec(registry, backbone="resnet18"),
        spec(registry, preset="smoke"),
        spec(registry, validation=True),
        spec(registry, settings={"ups.tau_p": 0.8}),
        spec(registry, settings={"recipe.lr": 0.05}),
    ]
    assert len({base.run_id, *(other.run_id for other in others)}) == 9


def test_calibration_does_not_concern_methods_without_it(registry):
    assert spec(registry).policy is None
    changed = {"calibration.policy": "cross"}
    assert spec(registry, settings=changed).run_id == spec(registry).run_id
    assert spec(registry, method="ups-raps", settings=changed).policy == "cross"


@pytest.mark.parametrize(
    ("method", "policy", "smoothing"),
    [
        ("ups-raps", "train", False),  # Algorithm 2 as printed
        ("ups-raps-held-out", "held-out", True),
        ("ups-raps-cross", "cross", True),
        ("ups-raps-tuned", "held-out", True),
        ("ups-raps-size", "held-out", True),
        ("ups-raps-complement", "held-out", True),
        ("raps-singleton", "held-out", True),
        ("mc-dropout+raps+set-argmax+ups", "held-out", True),
    ],
)
def test_a_method_says_where_its_sets_are_calibrated(registry, method, policy, smoothing):
    made = spec(registry, method=method)
    assert (made.policy, made.settings["platt"]["smoothing"]) == (policy, smoothing)
    if policy in ("held-out", "cross") and "+" not in method:
        description = registry.get("methods", method).description
        assert policy in description or "folds" in description or "no network is trained on" in description


def test_settings_are_layered(registry):
    assert spec(registry, preset="smoke").settings["recipe"]["epochs"] == 2
    sized = spec(registry, method="ups-raps-size")
    assert sized.settings["ups"]["kappa_p"] == 1
    assert sized.overrides == {}
    mine = spec(registry, method="ups-raps-size", settings={"ups.kappa_p": 3})
    assert mine.settings["ups"]["kappa_p"] == 3
    assert mine.overrides == {"ups.kappa_p": 3}


def test_a_spec_survives_its_record(registry):
    import json
    from dataclasses import asdict

    one = spec(registry, method="ups-raps", settings={"raps.alpha": 0.2})
    again = RunSpec.from_json(json.loads(json.dumps(asdict(one))))
    assert again == one
    assert again.run_id == one.run_id


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("3", (0, 1, 2)), (2, (0, 1)), ("5-7", (5, 6, 7)), ("0,4,7", (0, 4, 7)), ("7,", (7,)), ([3, 1], (3, 1))],
)
def test_seeds(text, seeds):
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["", "0", "a", "1,1", "5-2", "-1", [True], [], [0.5]])
def test_bad_seeds(text):
    with pytest.raises(BenchError, match="seeds"):
        parse_seeds(text)


def test_experiment_files_hold_the_keys_of_the_command_line(tmp_path, registry):
    path = tmp_path / "e.toml"
    path.write_text(
        'methods = ["ups", "pl"]\ndataset = "digits"\nlabels = [50, 100]\nseeds = 2\npreset = "smoke"\n'
        '[set]\n"recipe.lr" = 0.05\nups.tau_p = 0.8\n'
    )
    specs = experiment_from(read_file(path)).specs(registry)
    assert len(specs) == 8
    ups = next(each for each in specs if each.method == "ups")
    assert ups.overrides == {"recipe.lr": 0.05, "ups.tau_p": 0.8}
    narrowed = experiment_from(read_file(path), {"methods": "ups", "seeds": "1", "set": {"ups.tau_p": "0.9"}})
    assert [each.overrides["ups.tau_p"] for each in narrowed.specs(registry)] == [0.9, 0.9]


def test_arms_are_experiments_with_the_keys_of_the_file_where_they_have_none(tmp_path, registry):
    path = tmp_path / "e.toml"
    path.write_text(
        'methods = ["ups", "ups-raps"]\nseeds = 2\nresults = "here"\n[set]\nrecipe.lr = 0.05\n'
        "[[arms]]\n"
        '[[arms]]\nmethods = ["ups-raps"]\ncalibration = "cross"\nset.raps.alpha = 0.2\n'
        '[[arms]]\nmethods = ["ups"]\nset.recipe.lr = 0.01\n'
        '[[arms]]\nmethods = ["ups"]\nseeds = 3\n'
    )
    experiment = experiment_from(read_file(path))
    assert experiment.results == "here"
    found = [(spec.method, spec.seed, spec.overrides) for spec in experiment.specs(registry)]
    cross = {"recipe.lr": 0.05, "raps.alpha": 0.2, "calibration.policy": "cross"}
    assert found == [
        *((method, seed, {"recipe.lr": 0.05}) for seed in (0, 1) for method in ("ups", "ups-raps")),
        *(("ups-raps", seed, cross) for seed in (0, 1)),
        *(("ups", seed, {"recipe.lr": 0.01}) for seed in (0, 1)),
        ("ups", 2, {"recipe.lr": 0.05}),  # seeds 0 and 1 are the first arm's already
    ]
    narrowed = experiment_from(read_file(path), {"seeds": "7,", "set": {"recipe.lr": 0.02}}).specs(registry)
    assert {(spec.seed, spec.overrides["recipe.lr"]) for spec in narrowed} == {(7, 0.02)}


def test_the_command_line_wins_over_the_file():
    layers = ({"set": {"calibration": {"policy": "train"}}}, {"calibration": "cross"})
    assert experiment_from(*layers).settings["calibration.policy"] == "cross"
    assert experiment_from(*reversed(layers)).settings["calibration.policy"] == "train"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("methds = 'ups'", "did you mean 'methods'"),
        ("x = ", "not a TOML file"),
        ("seeds = 'many'", "seeds"),
        ("seeds = 1.5", "seeds = 1.5: not a value"),
        ("seeds = [[1], [2]]", "seeds"),
        ("labels = 2.5", "labels = 2.5: not a value"),
        ("labels = [40.7]", "whole numbers"),
        ("methods = 3", "methods = 3: not a value"),
        ("set = 3", "set = 3: a table"),
        ("validation = 'no'", "validation = 'no': not a value"),
        ("arms = 3", r"arms: tables, each below a line \[\[arms\]\]"),
        ("[[arms]]\nmethds = 'ups'", "did you mean 'methods'"),
        ("[[arms]]\nresults = 'here'", "'results' is for all arms alike"),
    ],
)
def test_bad_experiment_files(tmp_path, content, message):
    path = tmp_path / "e.toml"
    path.write_text(content)
    with pytest.raises(BenchError, match=message):
        experiment_from(read_file(path))
    with pytest.raises(BenchError, match="No such file"):
        read_file(tmp_path / "missing.toml")


ALPHA = next(parameter for parameter in parameters(Raps) if parameter.name == "alpha")
ROUNDS = next(parameter for parameter in parameters(Ups) if parameter.name == "balance_rounds")


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_an_open_range_takes_exactly_what_is_inside(value):
    if 0 < value < 1:
        assert ALPHA.parse(str(value)) == value
    else:
        with pytest.raises(BenchError, match=r"a number in \(0, 1\)"):
            ALPHA.parse(str(value))


@pytest.mark.parametrize(("text", "value"), [("3", 3), (3, 3), ("3.0", 3), (0, 0)])
def test_whole_numbers(text, value):
    assert ROUNDS.parse(text) == value


@pytest.mark.parametrize("text", ["3.5", "x", "nan", "inf", -1, True, None, "none"])
def test_not_whole_numbers(text):
    with pytest.raises(BenchError, match="a whole number of at least 0"):
        ROUNDS.parse(text)
