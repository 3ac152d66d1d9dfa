"""Published numbers: as printed, converted plainly, and never among ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from made_up import records, save

from pseudobench import BenchError
from pseudobench.analysis.published import FILE, beside, find_published, read_published

ROOT = Path(__file__).parents[2]
HEADER = "citation,read_in,dataset,labels,method,backbone,metric,value,interval,checkpoint,differs\n"


def test_the_committed_file_is_whole_and_found_from_anywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    numbers = read_published(find_published())
    assert numbers == read_published(ROOT / FILE)
    assert all(each.differs for each in numbers)
    assert len(
        {(each.citation, each.dataset, each.labels, each.method, each.backbone, each.metric) for each in numbers}
    ) == len(numbers)


def test_errors_become_accuracies():
    (ups,) = (
        each
        for each in read_published(ROOT / FILE)
        if (each.method, each.dataset, each.labels) == ("UPS", "cifar10", "4000")
    )
    assert (ups.column, ups.converted, ups.value, ups.interval) == ("accuracy", 93.61, "6.39", "0.02")


def test_the_working_folder_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FILE.parent.mkdir()
    FILE.write_text(HEADER)
    assert read_published(find_published()) == []
    assert find_published("mine.csv") == Path("mine.csv")


def test_those_of_our_datasets_and_label_counts_are_shown():
    numbers = read_published(ROOT / FILE)
    found = beside(numbers, [("cifar100", "10000"), ("cifar10", "4000")], ["accuracy"])
    assert {(each.dataset, each.labels) for each in found} == {("cifar100", "10000"), ("cifar10", "4000")}
    assert len(found) == 41  # 18 of USB for each, UPS and Arazo et al. for each, and curriculum labeling
    assert beside(numbers, [("cifar10", "4000")], ["ece"]) == []


def test_they_are_a_table_of_their_own(bench):
    """93.61 is far above what was made up here, and is neither the best nor in any mean."""
    save(Path("runs"), *(records(name, [0.5, 0.6], dataset="cifar10", labels=4000) for name in ("pl", "ups")))
    ours = bench("table", "--format", "markdown").out
    both = bench("table", "--format", "markdown", "--published").out
    assert both.startswith(ours)
    assert "| accuracy | 93.61 | test error 6.39 ± 0.02 |" in both.removeprefix(ours)
    assert "**" not in both.removeprefix(ours)
    parts = json.loads(bench("table", "--format", "json", "--published").out)
    assert parts["runs"] == json.loads(bench("table", "--format", "json").out)
    assert {each["dataset"] for each in parts["published"]} == {"cifar10"}
    for format_ in ("terminal", "latex", "html"):
        outcome = bench("table", "--pivot", "--published", "--format", format_)
        assert outcome.code == 0
        assert "93.61" in outcome.out


def test_nothing_published_is_said(bench):
    save(Path("runs"), records("pl", [0.5]))
    assert "Published: no number for these datasets and label counts." in bench("table", "--published").out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "its columns must be citation, read_in"),
        (HEADER + "x,y\n", "line 2: not as many values as columns"),
        (HEADER + "c,r,d,40,m,b,luck,1,,,x\n", "the metric 'luck' is none of test error %"),
        (HEADER + "c,r,d,40,m,b,coverage,much,,,x\n", "value 'much' and interval ''"),
        (HEADER + ",r,d,40,m,b,coverage,1,,,x\n", "a number needs a citation"),
    ],
)
def test_a_file_that_is_not_whole_is_refused(tmp_path, text, message):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(BenchError, match=message):
        read_published(tmp_path / "x.csv")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--published-from", "nowhere.csv"), "nowhere.csv: No such file or directory"),
        (("--published", "--format", "csv"), "a CSV file holds one"),
        (("--published", "--runs"), "--runs shows single runs"),
    ],
)
def test_mistakes_are_one_line(bench, arguments, message):
    save(Path("runs"), records("pl", [0.5]))
    outcome = bench("table", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
