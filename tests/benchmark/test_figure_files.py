"""`bench figures`: which files are written, and what is drawn in them."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from xml.etree import ElementTree

from PIL import Image
from pypdf import PdfReader
from report_pages import Page, put, summary

from committed import digits_records


def test_images_of_several_classes_are_judged_by_mean_average_precision(bench, tmp_path):
    few = ("--preset", "smoke", "--seeds", "2", "--quiet")
    assert bench("run", "--dataset", "digits-grid", "--methods", "supervised,ups-raps", *few).code == 0
    last = [json.loads(path.read_text())["rounds"][-1] for path in sorted(Path("runs").glob("*-ups-raps-*.json"))]
    mean = 50 * sum(each["test"]["map"] for each in last)
    bench("report")
    page = Page(Path("report.html"))
    assert summary(Path("report.html"))[1]["mAP"].startswith(f"{mean:.2f} ±")
    assert "The mAP of ups-raps is " in page.text
    charts = [each["aria-label"] for each in page.all("div") if each.get("role") == "img"]
    titles = [text.partition(".")[0] for text in charts]
    assert "Mean average precision" in titles
    assert "Accuracy" not in titles
    assert f"{mean:.3g} % (ups-raps)" in charts[titles.index("Mean average precision")]
    assert "Every class of every test image" in page.text
    outcome = bench("figures")
    assert outcome.code == 0
    texts = {path.stem: "".join(ElementTree.parse(path).getroot().itertext()) for path in Path("figures").iterdir()}
    assert "digits-grid-100-accuracy" not in texts
    assert "mAP, %" in texts["digits-grid-100-map"]
    assert "mAP, %" in texts["digits-grid-100-rounds"]
    assert "sets that hold all true classes, %" in texts["digits-grid-100-coverage"]
    assert "classes right, %" in texts["digits-grid-100-reliability"]


def test_figures_in_every_format(bench, runs):
    outcome = bench("figures", "-o", "new/figures", "--format", "svg,pdf,png", "--figures", "coverage,accuracy,table")
    assert outcome.code == 0
    names = [
        f"new/figures/digits-40-{name}.{kind}" for name in ("accuracy", "coverage") for kind in ("svg", "pdf", "png")
    ]
    assert outcome.out.splitlines() == [*names, "new/figures/digits-40-table.svg"]
    (page,) = PdfReader("new/figures/digits-40-coverage.pdf").pages
    assert "sets that hold the true class, %" in page.extract_text()  # text, not outlines
    picture = Image.open(BytesIO(Path("new/figures/digits-40-coverage.png").read_bytes()))
    assert picture.width > 1000
    table = Path("new/figures/digits-40-table.svg").read_text()
    assert "url(" not in table.replace("url(#", "")  # no font is fetched
    assert "ups-raps" in "".join(ElementTree.fromstring(table).itertext())


def test_nominal_levels_may_differ_or_not_be_known(bench, tmp_path):
    """Rows of another alpha, and of a set predictor that has none, are drawn beside each other and alone."""
    other = digits_records("ups-raps", "ups-raps-size")
    for record in other[:2]:
        record["spec"]["settings"]["raps"]["alpha"] = 0.25
    for record in other[2:]:
        del record["spec"]["settings"]["raps"]["alpha"]
    put(tmp_path / "both", *other, *digits_records("raps-singleton"))
    put(tmp_path / "unknown", *other[2:])
    for folder, levels in (("both", "75 %, 90 %"), ("unknown", "not known")):
        assert bench("report", folder).code == 0
        assert f"nominal {levels}." in Path("report.html").read_text(encoding="utf-8")
        assert bench("figures", folder, "--figures", "coverage").code == 0


def test_endless_names_are_cut_and_kept_apart(bench, tmp_path):
    long = digits_records("pl", seeds=2)
    for place, record in enumerate(long):
        record["spec"]["method"] = "x" * 10_000 + str(place)
        record["run_id"] += str(place)
    put(tmp_path / "runs", *long)
    bench("figures", "--figures", "accuracy")
    marks = [each.get("aria-label") or "" for each in ElementTree.parse("figures/digits-40-accuracy.svg").iter()]
    names = {mark.partition("series: ")[2] for mark in marks if mark.startswith("accuracy, %")}
    assert len(names) == 2
    assert max(map(len, names)) < 200
