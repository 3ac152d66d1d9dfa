"""Ranks over datasets, against scipy and a published example."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from made_up import records, save
from scipy import stats

from pseudobench.maths.ranks import rank

#: AUC of C4.5 and three variants on 14 datasets: table 6 of Demsar (2006). Two values of the last but one that are
#: printed alike have different ranks there, so the fourth is a little smaller here.
DEMSAR = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.975, 0.9749],
        [0.957, 0.978, 0.946, 0.970],
    ]
)


def test_ranks_and_critical_difference_are_those_of_demsar():
    found = rank(DEMSAR)
    assert found.average == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=5e-4)
    assert found.critical == pytest.approx(2.569 * math.sqrt(4 * 5 / (6 * 14)), abs=1e-3)


def test_friedmans_statistic_is_scipys():
    """And Iman and Davenport's p-value that of the F distribution."""
    found = rank(DEMSAR)
    assert found.statistic == pytest.approx(stats.friedmanchisquare(*DEMSAR.T).statistic)
    ratio = 13 * found.statistic / (14 * 3 - found.statistic)
    assert found.p == pytest.approx(stats.f.sf(ratio, 3, 39))
    assert rank(-DEMSAR, higher_is_better=False).average == pytest.approx(found.average)


def test_the_ends():
    same = np.ones((6, 3))
    assert (rank(same).p, list(rank(same).average)) == (1.0, [2.0, 2.0, 2.0])
    assert rank(np.arange(12.0).reshape(6, 2)).p == 0.0
    assert rank(np.array([[1.0, 0.0]] * 3 + [[0.0, 1.0]] * 3)).p > 0.5


def runs(datasets):
    """Three methods in one order everywhere, with a method that some datasets lack."""
    for place, dataset in enumerate(datasets):
        for method, shift in (("pl", 0.2), ("ups", 0.1), ("supervised", 0.0), ("fully-supervised", 0.3)):
            values = [0.5 + shift + place / 100, 0.52 + shift + place / 100]
            yield records(method, values, dataset=dataset, labels=100 if dataset != "cifar100" else 400)
    yield records("curriculum", [0.9, 0.9], dataset=datasets[0], labels=100)


FIVE = ("digits", "cifar10", "cifar100", "fashion-mnist", "digits-grid")


def test_the_command_ranks_over_five_datasets(bench):
    save(Path("runs"), *runs(FIVE))
    out = bench("table", "--ranks", "--format", "markdown").out
    lines = [line for line in out.splitlines() if line.startswith("| ")]
    assert [line.split(" | ")[:2] for line in lines[2:]] == [
        ["| pl", "**1.00**"],
        ["| ups", "**2.00**"],
        ["| supervised", "3.00"],
    ]
    assert "Left out, as some dataset lacks them or some of their seeds: curriculum." in out
    assert "1.48" in out  # 2.343 sqrt(3 * 4 / (6 * 5))
    for format_ in ("terminal", "latex", "html", "csv", "json"):
        outcome = bench("table", "--ranks", "--format", format_)
        assert (outcome.code, outcome.err) == (0, "")
        assert "supervised" in outcome.out


@pytest.mark.parametrize(
    ("datasets", "arguments", "message"),
    [
        (FIVE[:4], (), "ranks need 5 datasets or more; there are 4: "),
        (FIVE, ("--pivot",), "--ranks is a table of its own"),
        (FIVE, ("--columns", "coverage"), "no value of 'coverage' is better than another"),
        (FIVE, ("--columns", "accuracy,ece"), "--ranks is of one column"),
        (FIVE, ("--methods", "pl"), "ranks need two methods or more"),
    ],
)
def test_mistakes_are_one_line(bench, datasets, arguments, message):
    save(Path("runs"), *runs(datasets))
    outcome = bench("table", "--ranks", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_dataset_counts_once(bench):
    save(Path("runs"), *runs(FIVE), records("pl", [0.5, 0.6], labels=40))
    assert "digits is there with several label counts" in bench("table", "--ranks").err


def test_a_mean_over_fewer_seeds_is_no_rival(bench):
    """A method that has only begun on one dataset is not ranked by the seeds that it happens to have."""
    begun = [
        records("ups-raps", [0.9, 0.9], dataset=name, labels=400 if name == "cifar100" else 100) for name in FIVE[1:]
    ]
    save(Path("runs"), *runs(FIVE), *begun, records("ups-raps", [0.9], dataset=FIVE[0], labels=100))
    out = bench("table", "--ranks", "--format", "markdown").out
    assert "Left out, as some dataset lacks them or some of their seeds: ups-raps, curriculum." in " ".join(out.split())
    assert "| pl | **1.00**" in out
