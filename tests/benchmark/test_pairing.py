"""Which runs are compared: the same seed, place and labels, settings each by itself."""

from __future__ import annotations

import numpy as np
import pytest
from made_up import record, records
from made_up_comparisons import PL, SUPERVISED, UPS, compare

from pseudobench import BenchError
from pseudobench.output.sentences import sentence


def test_only_runs_of_the_same_seed_are_pairs(registry):
    """Seeds in any order; a failed one, one that is alone, and those without a value are left out and counted."""
    ups = [record("ups", seed, 0.5 + seed / 100) for seed in reversed(range(8))]
    pl = [record("pl", seed, 0.25 + seed / 100) for seed in range(2, 9)] + [record("pl", 1, None)]
    (found,) = compare(registry, ["ups", "pl"], ups, pl)
    assert found.pair.n == 6
    assert found.pair.mean == pytest.approx(-0.25)
    assert found.pair.half == pytest.approx(0, abs=1e-12)
    assert found.pair.unpaired == 3
    assert "Seeds left out because only one of the two has a value: 3." in sentence(found)


@pytest.mark.parametrize(
    "other",
    [{"labels": 100}, {"backbone": "cnn13"}, {"preset": "smoke"}, {"validation": True}, {"dataset": "cifar10"}],
)
def test_runs_from_different_places_are_never_paired(registry, other):
    other = {"labels": 1000 if other.get("dataset") else 40, **other}
    with pytest.raises(BenchError, match="have no runs that differ in the method alone"):
        compare(registry, ["ups", "pl"], records("ups", UPS), records("pl", PL, **other))
    both = compare(
        registry, ["ups", "pl"], *(records(name, UPS, **more) for name in ("ups", "pl") for more in ({}, other))
    )
    assert len(both) == 2
    assert {found.pair.mean for found in both} == {0.0}


def test_settings_are_compared_each_by_itself(registry):
    groups = [
        records("ups", UPS),
        records("ups-raps-held-out", PL),
        records("ups-raps-held-out", SUPERVISED, settings={"calibration.policy": "cross"}),
        records("ups-raps-held-out", UPS, settings={"platt.smoothing": False}),
    ]
    found = compare(registry, ["ups", "ups-raps-held-out"], *groups)
    assert [each.arm.name for each in found] == [
        "ups-raps-held-out",
        "ups-raps-held-out cross",
        "ups-raps-held-out −smoothing",
    ]
    means = [each.pair.means[0].mean for each in found]
    assert means == pytest.approx([np.mean(PL), np.mean(SUPERVISED), np.mean(UPS)])
    one, other = "ups-raps-held-out:calibration=held-out:platt.smoothing=true", "ups-raps-held-out:calibration=cross"
    (found,) = compare(registry, [one, other], *groups)
    assert (found.arm.name, found.baseline.name) == ("ups-raps-held-out cross", "ups-raps-held-out")


def test_methods_trained_differently_are_compared_only_if_that_is_asked_for(registry):
    groups = records("ups", UPS), records("pl", PL, settings={"recipe.lr": 0.05})
    with pytest.raises(BenchError, match=r"say so: bench compare ups:recipe.lr=0.1 pl:recipe.lr=0.05$"):
        compare(registry, ["ups", "pl"], *groups)
    (found,) = compare(registry, ["ups:recipe.lr=0.1", "pl:recipe.lr=0.05"], *groups)
    assert sentence(found).endswith("They were also trained differently: recipe.lr=0.05 against recipe.lr=0.1.")
    third = records("ups", SUPERVISED, settings={"recipe.lr": 0.05})
    (found,) = compare(registry, ["ups", "pl"], *groups, third)
    assert found.pair.means[1].mean == pytest.approx(np.mean(SUPERVISED))


def test_pairs_with_other_images_labeled_are_refused(registry):
    groups = records("ups", UPS), records("pl", PL)
    groups[1][3]["split"] = {**groups[1][3]["split"], "sha256": "0" * 64}
    with pytest.raises(BenchError, match="pl and ups on digits: their runs with seed 3 had different images labeled"):
        compare(registry, ["ups", "pl"], *groups)


def test_one_name_is_compared_with_everything_that_has_the_same_labels(registry):
    groups = [records(name, UPS) for name in ("fully-supervised", "ups-raps", "pl", "ups")]
    assert [found.arm.name for found in compare(registry, ["pl"], *groups)] == ["ups", "ups-raps"]
    (found,) = compare(registry, ["pl", "fully-supervised"], *groups)
    assert found.pair.p is None
    assert sentence(found).endswith("not tested, as all labels are no rival of some. fully-supervised has all labels.")
