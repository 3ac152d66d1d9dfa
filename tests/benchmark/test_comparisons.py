"""Comparisons: their numbers are scipy's, and sentences and commands say the same."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from made_up import record, records, save
from made_up_comparisons import NOISE, PL, SUPERVISED, UPS, compare
from scipy import stats

import pseudobench
from pseudobench import BenchError
from pseudobench.output.comparison_tables import comparison_grid, comparison_matrix
from pseudobench.output.sentences import sentence, sentences
from pseudobench.output.summary_frames import comparison_frame


def test_numbers_are_scipys(registry):
    """P-values by themselves; corrected ones are not smaller, and in a family of one pair the same."""
    rows = comparison_frame(
        compare(
            registry,
            ["ups", "pl", "supervised"],
            records("ups", UPS),
            records("pl", PL),
            records("supervised", SUPERVISED),
        )
    )
    assert list(rows["method"]) == ["pl", "supervised"]
    for row, values in zip(rows.to_dict("records"), (PL, SUPERVISED), strict=True):
        theirs = stats.ttest_rel(values, UPS)
        assert row["difference"] == pytest.approx(np.mean(values) - np.mean(UPS))
        assert (row["low95"], row["high95"]) == pytest.approx(tuple(theirs.confidence_interval()))
        signs = stats.permutation_test((np.subtract(values, UPS),), np.mean, permutation_type="samples")
        assert row["p_alone"] == pytest.approx(signs.pvalue)
        assert row["p"] >= row["p_alone"]
        assert (row["seeds"], row["pairs"], row["interval_over"]) == (10, 3, "seeds")
    (alone,) = compare(registry, ["ups", "pl"], records("ups", UPS), records("pl", PL))
    assert alone.pair.p == pytest.approx(alone.pair.alone)


def test_the_family_is_all_there_is_whatever_is_asked_for(registry):
    groups = [records(name, values) for name, values in (("ups", UPS), ("pl", PL), ("supervised", SUPERVISED))]
    everything = {
        frozenset((each.arm.name, each.baseline.name)): each.pair.p
        for name in ("ups", "pl")
        for each in compare(registry, [name], *groups)
    }
    assert len(everything) == 3
    for one, other in (("ups", "pl"), ("pl", "ups"), ("supervised", "pl")):
        (found,) = compare(registry, [one, other], *groups)
        assert found.pair.p == everything[frozenset((one, other))]


def test_the_family_of_a_baseline_has_its_pairs_alone(registry):
    groups = [records(name, values) for name, values in (("ups", UPS), ("pl", PL), ("supervised", SUPERVISED))]
    found = compare(registry, ["ups"], *groups, family="baseline")
    assert {each.pair.tests for each in found} == {2}
    assert all(each.pair.p >= each.pair.alone for each in found)
    with pytest.raises(BenchError, match="there is no family 'some'; known: all, baseline"):
        compare(registry, ["ups"], *groups, family="some")


def test_lines_of_several_networks_say_which(registry):
    groups = [
        records(method, [value + shift for value in UPS], backbone=backbone)
        for backbone in ("digits_cnn", "cnn13")
        for method, shift in (("ups", 0.0), ("pl", 0.01))
    ]
    lines = sentences(compare(registry, ["ups", "pl"], *groups))
    assert {line.partition(": ")[0] for line in lines} == {"digits_cnn", "cnn13"}
    assert all(": The accuracy of pl is 1.00 points above that of ups on digits " in line for line in lines)
    found = compare(registry, ["ups", "pl"], *groups[:2])
    assert sentences(found) == [sentence(each) for each in found]


def test_the_line_says_it_in_words(registry):
    baseline = [0.5 + 0.01 * seed for seed in range(10)]
    groups = records("ups", baseline), records("pl", [value - 0.125 for value in baseline])
    (found,) = compare(registry, ["ups", "pl"], *groups)
    assert sentence(found) == (
        "The accuracy of pl is 12.50 points below that of ups on digits with 40 labels (95 % interval 12.50 to 12.50 "
        "over 10 seeds, p = 0.002, the smallest that 10 seeds can reach): a real difference at this budget, for the "
        "worse."
    )
    (found,) = compare(registry, ["pl", "ups"], *groups)
    assert "ups is 12.50 points above that of pl" in sentence(found)
    assert sentence(found).endswith("for the better.")


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        ("ece", "ece of pl is 10.00 points above that of ups"),
        ("nll", "nll of pl is 0.500 above that of ups"),
    ],
)
def test_lower_is_better_where_it_is(registry, metric, said):
    groups = [
        [record(method, seed, 0.5, ece=ece, nll=nll) for seed in range(6)]
        for method, ece, nll in (("ups", 0.25, 1.0), ("pl", 0.35, 1.5))
    ]
    (found,) = compare(registry, ["ups", "pl"], *groups, metric=metric)
    assert said in sentence(found)
    assert sentence(found).endswith("a real difference at this budget, for the worse.")


def test_no_difference_is_not_called_one(registry):
    (found,) = compare(registry, ["ups", "pl"], records("ups", UPS), records("pl", (0.9 + NOISE[1]).tolist()))
    assert found.pair.p > 0.05
    assert sentence(found).endswith("no difference that these seeds can show.")
    assert " below to " in sentence(found)


def test_few_seeds_get_an_interval_and_no_p_value(registry):
    (found,) = compare(registry, ["ups", "pl"], records("ups", UPS[:5]), records("pl", PL[:5]))
    assert found.pair.p is None
    assert found.pair.half > 0
    assert sentence(found).endswith("5 seeds): too few seeds for a test, 6 are needed.")
    (found,) = compare(registry, ["ups", "pl"], records("ups", UPS[:1]), records("pl", PL[:1]))
    assert "(1 seed)" in sentence(found)


def test_six_seeds_do_for_any_number_of_comparisons(registry):
    """Six seeds all in favour: 2 / 64, however many arms there are."""
    shifts = {"ups": 0, "pl": 0.1, "supervised": 0.2, "curriculum": 0.3, "ups-raps": 0.4}
    groups = [records(method, [0.9 - shift + seed / 100 for seed in range(6)]) for method, shift in shifts.items()]
    for found in compare(registry, ["ups"], *groups):
        assert found.pair.p == 2 / 64
        assert "p = 0.031 over 10 pairs, the smallest that 6 seeds can reach): a real difference" in sentence(found)


def test_a_difference_needs_the_test_and_the_interval(registry):
    """All six seeds in favour, one of them by far: the test says yes, the t interval holds zero."""
    ahead = [0.001, 0.001, 0.001, 0.001, 0.001, 0.3]
    groups = records("ups", [0.5] * 6), records("pl", [0.5 + each for each in ahead])
    (found,) = compare(registry, ["ups", "pl"], *groups)
    assert found.pair.p == 2 / 64
    assert not found.pair.different
    assert sentence(found).endswith("no difference that both the test and the interval show.")


def test_the_command_and_the_function_say_the_same(bench):
    save(
        Path("runs"),
        records("ups", UPS, labels=100),
        records("ups", UPS),
        records("pl", PL),
        records("pl", PL, labels=100),
    )
    rows = json.loads(bench("compare", "ups", "pl", "--labels", "100", "--format", "json").out)
    frame = pseudobench.compare("ups,pl", "runs", where={"labels": 100})
    shares = {"mean", "baseline_mean", "difference", "low95", "high95"}  # fractions here, percent in commands
    (held,) = json.loads(frame.to_json(orient="records"))
    assert {key: held[key] for key in held if key not in shares} == {
        key: rows[0][key] for key in held if key not in shares
    }
    assert {key: 100 * held[key] for key in shares} == pytest.approx({key: rows[0][key] for key in shares})
    assert len(rows) == 1
    assert len(pseudobench.compare(["ups", "pl"], ["runs"])) == 2
    for format_ in ("terminal", "markdown", "latex", "html", "csv"):
        outcome = bench("compare", "ups", "pl", "--format", format_)
        assert (outcome.code, outcome.err) == (0, "")
        assert "100" in outcome.out
    assert bench("compare", "ups", "pl").out.count("The accuracy of pl is") == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ups", "upps"), "no run record has the method 'upps'"),
        (("ups:tau=1", "pl"), "no run record says anything of 'tau'"),
        (("ups:ups.tau_p=0.9", "pl"), "no run record has the ups.tau_p '0.9'; there are: 0.7"),
        (("ups",), "ups and no other method"),
        (("ups", "ups"), "ups is named twice"),
        (("ups", "./runs"), "./runs is a folder; records are named by --results, and methods are compared"),
        (("runs",), "runs is a folder; records are named by --results, and methods are compared"),
        (("ups", "pl", "--metric", "acc"), "there is no column 'acc'"),
        (("ups", "pl", "--results", "elsewhere"), "there is no results folder elsewhere"),
    ],
)
def test_mistakes_are_one_line(bench, arguments, message):
    save(Path("runs"), records("ups", UPS[:2]))
    if len(arguments) > 1 and arguments[1] == "pl":
        save(Path("runs"), records("pl", PL[:2]))
    outcome = bench("compare", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


def test_what_all_comparisons_share_is_said_once(registry):
    """So that the table fits a terminal; a baseline's mean over other seeds stays in its row."""
    groups = [records("ups", UPS), records("pl", PL), records("supervised", SUPERVISED)]
    grid = comparison_grid(compare(registry, ["ups"], *groups))
    assert grid.header == ("method", "verdict", "difference", "95 % interval", "p", "accuracy")
    assert f"accuracy against ups ({100 * sum(UPS) / len(UPS):.2f}), " in grid.caption
    assert grid.caption.endswith(f", {len(UPS)} seeds")
    grid = comparison_grid(compare(registry, ["ups"], *groups[:2], records("supervised", SUPERVISED[:6])))
    assert grid.header[-2:] == ("baseline's", "seeds")


def test_without_a_test_nothing_is_said_of_p_values(registry):
    grid = comparison_grid(compare(registry, ["ups"], records("ups", UPS[:3]), records("pl", PL[:3])))
    assert "Young" not in grid.legend


def test_corrections_are_said_where_there_are_several_tests(registry):
    one = comparison_grid(compare(registry, ["ups"], records("ups", UPS), records("pl", PL)))
    assert one.legend.endswith(" p: sign-flip test over the pairs of seeds.")
    groups = (records("ups", UPS), records("pl", PL), records("supervised", SUPERVISED))
    three = comparison_grid(compare(registry, ["ups"], *groups))
    assert three.legend.endswith("after Westfall and Young's correction over 3 pairs of arms.")


def test_verdicts_at_a_glance_are_those_of_the_rows(registry):
    """A column for each dataset and label count, in which a cell has the sign and the difference of its row."""
    groups = [
        records(name, values, labels=labels)
        for labels, better in ((40, 0.0), (100, 0.01))
        for name, values in (("ups", UPS), ("pl", [each + better for each in PL]), ("supervised", SUPERVISED))
    ]
    found = compare(registry, ["ups"], *groups, records("csa", UPS, labels=100))
    rows = {(row[1].text, row[0].text): f"{row[2].text} {row[3].text}" for row in comparison_grid(found).rows}
    matrix = comparison_matrix(found)
    assert matrix.header == ("method", "digits 40", "digits 100")
    for name, *cells in matrix.rows:
        assert [cell.text for cell in cells] == [rows.get((name.text, count), "no runs") for count in ("40", "100")]
    assert {name.text for name, *_ in matrix.rows} == {"pl", "supervised", "csa"}


def test_several_networks_share_a_column_only_if_dataset_and_labels_tell_them_apart(registry):
    both = (("ups", UPS), ("pl", PL))
    one = [records(name, values, backbone="digits_cnn") for name, values in both]
    other = [records(name, values, backbone="linear", dataset="wine", labels=60) for name, values in both]
    matrix = comparison_matrix(compare(registry, ["ups"], *one, *other))
    assert matrix.header == ("method", "digits 40", "wine 60")
    assert "backbone digits_cnn of digits and backbone linear of wine" in matrix.caption
    same = [records(name, values, backbone="cifar_cnn") for name, values in both]
    assert len(set(comparison_matrix(compare(registry, ["ups"], *one, *same)).header)) == 3


def test_the_matrix_is_no_table_of_data(bench):
    outcome = bench("compare", "ups", "--pivot", "--format", "csv")
    assert outcome.code == 2
    assert "--pivot is a table to look at" in outcome.err
