"""Figures on made-up runs: shares, panels that are alike, critical differences, and a paper's width."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from made_up import around, record, records, save
from pypdf import PdfReader
from report_pages import put

from committed import digits_records
from pseudobench.output.report.sections import sections
from pseudobench.output.report.setting_curves import setting_points, share_points
from pseudobench.registry.builtin_columns import COLUMNS

FIVE = ("digits", "cifar10", "cifar100", "fashion-mnist", "digits-grid")


def marks(path, start):
    """The descriptions of marks that begin so."""
    found = (each.get("aria-label") or "" for each in ElementTree.parse(path).iter())
    return [text for text in found if text.startswith(start)]


def words(path):
    return " ".join(text.strip() for text in ElementTree.parse(path).getroot().itertext() if text.strip())


def shares():
    """Two scores at three shares each, and a method without a number that was changed."""
    for method in ("softmax+hard+fixed-share", "mc-dropout+hard+fixed-share"):
        for share in (0.1, 0.5, 0.9):
            for seed, accuracy in enumerate(around(0.8 - share / 10, 6)):
                made = record(method, seed, accuracy, settings={"fixed-share.share": share})
                chosen = {"positive_share": share, "positive_precision": 0.9 - share / 5 + seed / 100}
                yield {**made, "rounds": [{**made["rounds"][0], "selection": chosen}]}
    yield from records("pl", around(0.7, 6))


def test_shares_are_curves_of_what_the_runs_selected(bench, registry):
    made = [*shares()]
    (section,) = sections(made, registry, COLUMNS)
    found = share_points(section.rivals, "accuracy")
    assert set(found["series"]) == {"softmax+hard+fixed-share", "mc-dropout+hard+fixed-share"}
    one = found[(found["series"] == "softmax+hard+fixed-share") & (found["of"] == "accuracy")]
    assert one["selected"].tolist() == pytest.approx([10, 50, 90])
    assert one["mean"].tolist() == pytest.approx(
        [100 * np.mean(around(0.8 - share / 10, 6)) for share in (0.1, 0.5, 0.9)]
    )
    right = found[(found["series"] == "mc-dropout+hard+fixed-share") & (found["of"] == "precision")]
    assert right["mean"].tolist() == pytest.approx([100 * (0.9 - share / 5 + 0.025) for share in (0.1, 0.5, 0.9)])
    by_value = setting_points(section.rivals, "accuracy")
    assert set(by_value["setting"]) == {"fixed-share.share"}
    assert by_value["value"].tolist() == [0.1, 0.5, 0.9] * 2
    assert by_value["mean"].tolist() == pytest.approx(one["mean"].tolist() * 2)
    save(Path("runs"), made)
    bench("figures", "--figures", "shares,settings")
    assert "fixed-share.share" in words("figures/digits-40-settings.svg")
    assert len(marks("figures/digits-40-shares.svg", "pool selected, %: 50")) >= 4  # two curves in two panels
    assert "precision" in words("figures/digits-40-shares.svg")


def test_a_curve_is_of_one_number_with_everything_else_alike(registry):
    """Two batches at three numbers of steps each are two curves of steps, and none of anything else."""
    made = [
        record("pl", 0, 0.7 + steps / 1000, settings={"recipe.steps": steps, "recipe.batches": batches})
        for steps in (10, 20, 40)
        for batches in ("half", "mixed")
    ]
    (section,) = sections(made, registry, COLUMNS)
    found = setting_points(section.rivals, "accuracy")
    assert set(found["setting"]) == {"recipe.steps"}
    curves = {name: rows["mean"].tolist() for name, rows in found.groupby("series")}
    assert len(curves) == 2
    assert all(means == pytest.approx([71, 72, 74]) for means in curves.values())
    assert all("steps" not in name for name in curves)


def test_a_curve_is_of_one_network(registry):
    """Runs of two backbones are in one section, and their points in curves of their own."""
    made = [
        record("pl", 0, 0.7 + steps / 1000 + gain, backbone=backbone, settings={"recipe.steps": steps})
        for steps in (10, 20, 40)
        for backbone, gain in (("small", 0), ("resnet18", 0.1))
    ]
    (section,) = sections(made, registry, COLUMNS)
    curves = {
        name: rows["mean"].tolist() for name, rows in setting_points(section.rivals, "accuracy").groupby("series")
    }
    assert sorted(curves.values()) == [pytest.approx([71, 72, 74]), pytest.approx([81, 82, 84])]


def test_a_curve_is_named_by_what_its_points_share(registry):
    """A level is called α in the names of rows."""
    made = [record("ups-raps", 0, 0.7 + alpha, settings={"raps.alpha": alpha}) for alpha in (0.05, 0.1, 0.2)]
    (section,) = sections(made, registry, COLUMNS)
    found = setting_points(section.rivals, "accuracy")
    assert set(found["series"]) == {"ups-raps"}
    assert found["value"].tolist() == [0.05, 0.1, 0.2]


def test_panels_with_the_same_numbers_are_drawn_once(bench, tmp_path):
    """Methods that select nothing keep their first network, and its reliability is the same."""
    first, other = digits_records("supervised", "pl")[:2], digits_records("ups")
    twins = [{**each, "spec": {**each["spec"], "method": "pl"}, "run_id": each["run_id"] + "-pl"} for each in first]
    put(tmp_path / "runs", *first, *twins, *other)
    bench("figures", "--figures", "reliability")
    text = words("figures/digits-40-reliability.svg")
    assert "supervised = pl" in text
    assert text.count("supervised") == 1
    assert "ups" in text


def test_critical_differences_over_five_datasets(bench):
    """Two methods that take turns are joined by a bar, and the one that is always last stands apart."""
    groups = []
    for place, dataset in enumerate(FIVE):
        labels = 400 if dataset == "cifar100" else 100
        best, second = (0.9, 0.8) if place % 2 else (0.8, 0.9)
        for method, mean in (("pl", best), ("ups", second), ("supervised", 0.5)):
            made = records(method, around(mean, 6, place), dataset=dataset, labels=labels)
            groups.append([{**each, "rounds": [with_map(each["rounds"][0], dataset)]} for each in made])
    save(Path("runs"), *groups)
    bench("figures", "--figures", "ranks")
    drawn = "figures/all-ranks.svg"
    found = {text.partition("row: ")[2]: text for text in marks(drawn, "average rank, 1 the best: ")}
    ranks = {name: float(text.partition("best: ")[2].partition(";")[0]) for name, text in found.items()}
    assert ranks == pytest.approx({"pl": 1.6, "ups": 1.4, "supervised": 3.0})
    assert "not told apart" in words(drawn)
    bench("figures", "--figures", "ranks", "--methods", "pl,supervised")
    found = {text.partition("row: ")[2]: text for text in marks(drawn, "average rank, 1 the best: ")}
    ranks = {name: float(text.partition("best: ")[2].partition(";")[0]) for name, text in found.items()}
    assert ranks == pytest.approx({"pl": 1.0, "supervised": 2.0})


def test_differences_are_drawn_where_their_baseline_was_run(bench):
    """The place that comes first has no labels alone; what is drawn says where it is from, and its file's name too."""
    save(Path("runs"), *(records(name, around(mean), labels=40) for name, mean in (("pl", 0.7), ("ups", 0.8))))
    save(Path("runs"), *(records(name, around(mean), labels=140) for name, mean in (("supervised", 0.6), ("pl", 0.7))))
    bench("figures", "--figures", "differences")
    (mark,) = marks("figures/all-differences.svg", "difference in accuracy, points: 10")
    assert "series: pl" in mark
    assert "digits, 140 labels: accuracy minus that of supervised" in words("figures/all-differences.svg")
    bench("report")
    page = Path("report.html").read_text(encoding="utf-8")
    assert [re.findall(r"<option>(.*?)<", part) for part in page.split("<select")[1:]] == [
        ["digits 140", "digits 40"],
        ["supervised", "pl", "ups"],
    ]


def test_files_of_one_place_are_named_by_it(bench):
    means = (("supervised", 0.6), ("pl", 0.7))
    save(
        Path("heads-digits"),
        *(records(name, around(mean), labels=labels) for name, mean in means for labels in (40, 140)),
    )
    whole = ["figures/heads-digits-differences.svg"]
    assert bench("figures", "heads-digits", "--figures", "differences").out.splitlines() == whole
    for labels in (40, 140):
        outcome = bench("figures", "heads-digits", "--labels", str(labels), "--figures", "differences,accuracy")
        names = [f"figures/heads-digits-{labels}-{name}.svg" for name in ("differences", "accuracy")]
        assert outcome.out.splitlines() == names
        assert f"digits, {labels} labels: accuracy minus that of supervised" in words(names[0])


def with_map(round_, dataset):
    if dataset != "digits-grid":
        return round_
    return {**round_, "test": {**round_["test"], "map": round_["test"]["accuracy"]}}


@pytest.mark.parametrize(("width", "millimetres"), [("column", 85), ("text", 170)])
def test_a_pdf_is_as_wide_as_a_paper_asks_for(bench, width, millimetres):
    """Also a figure of panels, of which there may be fewer than columns for them."""
    means = (("supervised", 0.7), ("pl", 0.8), ("ups", 0.75))
    save(Path("runs"), *(records(name, around(mean), labels=labels) for name, mean in means for labels in (40, 100)))
    some = "accuracy,differences,labels,wins"
    assert bench("figures", "--format", "pdf", "--width", width, "--figures", some).code == 0
    paths = list(Path("figures").glob("*.pdf"))
    assert len(paths) == 5
    for path in paths:
        (page,) = PdfReader(path).pages
        assert float(page.mediabox.width) / 72 * 25.4 == pytest.approx(millimetres, rel=0.01), path.name
