"""The engine of all verdicts: tiers, families with gaps, and that every command gives the same one."""

from __future__ import annotations

import html
import itertools
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up import record, records, save
from scipy import stats

import pseudobench
from pseudobench.analysis.arms import arms_of
from pseudobench.analysis.comparisons import Comparison
from pseudobench.analysis.run_facts import pick_columns, read_facts
from pseudobench.analysis.verdicts import judge
from pseudobench.output.sentences import sentence
from pseudobench.registry.components import installed

REGISTRY = installed()[1]
(ACCURACY,) = pick_columns(REGISTRY, ["accuracy"])
METHODS = ("supervised", "pl", "ups", "ups-raps", "ups-raps-size", "raps-singleton", "curriculum")


def verdict(values, higher=True):
    """Arms in the order of the values, each by seed, or a list of them."""
    held = [dict(enumerate(each)) if isinstance(each, list | tuple | np.ndarray) else each for each in values]
    groups = [
        [record(method, seed, float(value)) for seed, value in each.items()]
        for method, each in zip(METHODS, held, strict=False)
    ]
    arms = arms_of(read_facts(itertools.chain(*groups), REGISTRY), REGISTRY)
    arms = sorted(arms, key=lambda arm: METHODS.index(arm.method))
    return judge(arms, replace(ACCURACY, higher_is_better=higher))


def tier(found):
    return sorted(METHODS.index(arm.method) for arm in found.best_tier)


NOISE = np.random.default_rng(0).normal(0, 0.01, size=(7, 10))


def test_the_best_tier_is_what_cannot_be_told_from_the_best():
    """By scipy's exact permutation test: clear cases on both sides."""
    best, level, worse = 0.9 + NOISE[0], 0.899 + NOISE[1], 0.8 + NOISE[2]
    p_values = [
        stats.permutation_test((best - other,), np.mean, permutation_type="samples").pvalue for other in (level, worse)
    ]
    assert p_values[0] > 0.05
    assert 3 * p_values[1] < 0.05
    found = verdict([best, level, worse])
    assert tier(found) == [0, 1]
    assert [found.letters[arm.run_ids] for arm in found.arms] == ["a", "a", "b"]
    assert tier(verdict([best, level, worse], higher=False)) == [2]
    assert tier(verdict([best, level, worse], higher=None)) == []


def test_pairs_count_not_intervals_of_the_arms():
    """A point apart in every seed is a difference, however much seeds differ among themselves."""
    wide = np.linspace(0.5, 0.9, 10)
    assert tier(verdict([wide, wide - 0.01 + NOISE[0] / 10])) == [0]


def test_without_a_test_nothing_is_best():
    """Five seeds cannot show a difference; a mark would say that they do."""
    found = verdict([[0.9] * 5, [0.5] * 5])
    assert (found.best, found.best_tier, found.tested, found.most_seeds) == (None, [], False, 5)


def test_an_arm_that_lacks_hard_seeds_is_not_best_for_that():
    """Its mean is higher, of the easy seeds alone; on the seeds that both have it is lower."""
    easy = np.linspace(0.3, 0.9, 10)
    some = {seed: easy[seed] - 0.05 + NOISE[0, seed] / 10 for seed in range(4, 10)}
    found = verdict([easy, some])
    assert np.mean(list(some.values())) > easy.mean()
    assert tier(found) == [0]
    pair = found.between(found.arms[1], found.arms[0])
    assert (pair.n, pair.unpaired, pair.different) == (6, 4, True)


def test_a_pair_with_few_seeds_in_common_has_no_p_value_and_the_others_keep_theirs():
    values = [0.9 + NOISE[0], 0.88 + NOISE[1]]
    found = verdict([*values, dict.fromkeys(range(5), 0.99)])
    assert found.between(found.arms[0], found.arms[1]).p == verdict(values).pairs[0, 1].p
    assert found.between(found.arms[0], found.arms[2]).p is None
    assert found.arms[2].run_ids not in found.letters
    assert tier(found) == [0]


def test_runs_with_other_images_labeled_are_no_pairs():
    groups = records("pl", [0.9] * 8), records("ups", [0.5] * 8)
    for each in groups[1][:3]:
        each["split"] = {**each["split"], "sha256": "0" * 64}
    found = judge(arms_of(read_facts(itertools.chain(*groups), REGISTRY), REGISTRY), ACCURACY)
    assert (found.pairs[0, 1].n, found.pairs[0, 1].unpaired, found.pairs[0, 1].p) == (5, 3, None)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(0, 6), min_size=7, max_size=7), min_size=2, max_size=4), st.booleans())
def test_tiers_turn_with_the_direction_and_hold_the_best_mean(columns, higher):
    found = verdict([[value / 8 for value in each] for each in columns], higher)
    turned = verdict([[1 - value / 8 for value in each] for each in columns], not higher)
    assert tier(found) == tier(turned)
    sums = [sum(each) if higher else -sum(each) for each in columns]
    assert sums.index(max(sums)) in tier(found)
    shared = {
        one: [two for two in range(len(columns)) if set(letters(found, one)) & set(letters(found, two))]
        for one in range(len(columns))
    }
    assert tier(found) == shared[sums.index(max(sums))]


def letters(found, place):
    return found.letters[found.arms[place].run_ids]


def test_tables_of_equal_methods_mark_all_of_them_but_for_5_percent():
    """Seven equal methods, eight seeds, 150 tables: one that is told from the best is an error.

    Picked from the data and tested against the others alone, the best was wrongly alone in 8 to 11 %.
    """
    generator, tables = np.random.default_rng(1), 150
    base = verdict([np.zeros(8)] * 7)
    wrong = 0
    for _ in range(tables):
        drawn = generator.normal(0.8, 0.01, size=(7, 8)) + generator.normal(0, 0.05, size=8)
        arms = [
            replace(arm, values={"accuracy": dict(enumerate(values.tolist()))})
            for arm, values in zip(base.arms, drawn, strict=True)
        ]
        wrong += len(judge(arms, ACCURACY).best_tier) < 7
    assert wrong / tables <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / tables)


def test_intervals_are_over_test_samples_too_where_predictions_are_stored():
    """A hundred test samples say little of a difference that six seeds agree on."""
    generator = np.random.default_rng(2)
    hard = generator.random(100)
    right = [[(hard < 0.8 + shift) ^ (generator.random(100) < 0.02) for _ in range(6)] for shift in (0.0, 0.03)]
    groups = [
        records(method, [each.mean() for each in held]) for method, held in zip(("pl", "ups"), right, strict=True)
    ]
    stored = {
        run["run_id"]: each
        for runs, held in zip(groups, right, strict=True)
        for run, each in zip(runs, held, strict=True)
    }
    found = judge(arms_of(read_facts(itertools.chain(*groups), REGISTRY), REGISTRY), ACCURACY)
    facts = [
        replace(each, read_correct=lambda found=stored[each.run_id]: found)
        for each in read_facts(itertools.chain(*groups), REGISTRY)
    ]
    arms = arms_of(facts, REGISTRY)
    plain, both = found.pairs[0, 1], judge(arms, ACCURACY).pairs[0, 1]
    assert (plain.over_samples, both.over_samples) == (False, True)
    assert both.p == plain.p
    assert both.half > plain.half
    said = sentence(Comparison(arms[0], arms[1], ACCURACY, both))
    assert "over 6 seeds and the test samples" in said


def p_values_of_the_report(path):
    """By method: what the page says of its difference from the first."""
    text = html.unescape(re.sub(r"<[^>]*>", "", path.read_text(encoding="utf-8"))).replace("\N{NO-BREAK SPACE}", " ")
    return dict(re.findall(r"The accuracy of (\S+) is .*? p = (\S+?)[, )]", text))


def test_every_command_gives_the_same_p_value_for_the_same_pair(bench):
    """`bench compare` with all methods or with two, `bench table`, `bench report`, and the function."""
    shifts = dict(zip(METHODS, (0.0, 0.012, 0.05, 0.011, 0.01, 0.013, 0.012), strict=True))
    save(
        Path("runs"),
        *(records(name, (0.8 + shift + NOISE[place]).tolist()) for place, (name, shift) in enumerate(shifts.items())),
    )
    frame = pseudobench.compare("supervised", "runs").set_index("method")["p"]
    assert len(set(frame)) > 2
    assert pseudobench.compare("ups", "runs").set_index("method")["p"]["supervised"] == frame["ups"]
    rows = json.loads(bench("compare", "supervised", "pl", "--format", "json").out)
    assert [row["p"] for row in rows] == pytest.approx([frame["pl"]])
    table = {row["arm"]: row for row in json.loads(bench("table", "--format", "json").out)}
    assert [name for name, row in table.items() if row["accuracy_best"]] == ["ups"]
    assert table["supervised"]["accuracy_p"] == pytest.approx(frame["ups"])
    assert bench("report").code == 0
    assert p_values_of_the_report(Path("report.html")) == {name: f"{p:.2g}" for name, p in frame.items()}
    cells = [[cell.strip() for cell in line.split("│")] for line in bench("compare", "supervised").out.splitlines()]
    printed = {row[1]: row[5] for row in cells if len(row) > 5}
    assert printed == {name: f"{p:.2g}" for name, p in frame.items()}
    few = bench("compare", "supervised", "pl", "ups").out
    said = dict(re.findall(r"The accuracy of (\S+) is .*? p = (\S+?)[, )]", few))
    assert said == {name: f"{frame[name]:.2g}" for name in ("pl", "ups")}
