"""`bench report` and `bench figures`: what is written and said, and that nothing in a record is taken for markup."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path
from xml.etree import ElementTree

import altair
import pytest
from PIL import Image
from pypdf import PdfReader

from pseudobench.output.report.figures import FIGURES

ROOT = Path(__file__).parents[2]
DRAWN = len(FIGURES) - 1  # of accuracy or of mAP
HOSTILE = "<script>alert(1)</script>"
QUOTED = """it's "a" & <b>b</b>"""


def records(*methods, seeds=2):
    """Real records of the embedded dataset."""
    return [
        json.loads(path.read_text())
        for method in methods
        for seed in range(seeds)
        for path in (ROOT / "results" / "digits").glob(f"digits-40-{method}-s{seed}-*.json")
    ]


def put(folder, *some):
    folder.mkdir(parents=True, exist_ok=True)
    for record in some:
        (folder / f"{len(list(folder.iterdir()))}.json").write_text(json.dumps(record))


@pytest.fixture
def runs(tmp_path):
    put(tmp_path / "runs", *records("supervised", "pl", "ups-raps"))
    return tmp_path / "runs"


class Page(HTMLParser):
    """What a browser would make of a page: its elements with their attributes, and its text."""

    def __init__(self, path):
        super().__init__()
        self.elements, self.text = [], ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data

    def all(self, tag):
        return [attributes for each, attributes in self.elements if each == tag]


def test_the_report_says_where_it_is_and_is_the_same_again(bench, runs):
    first = bench("report", "-o", "new/folder/first.html")
    assert (first.code, first.out, first.err) == (0, "report: new/folder/first.html\n", "")
    bench("report", str(runs), "-o", "second.html")
    assert Path("new/folder/first.html").read_bytes() == Path("second.html").read_bytes()
    page = Page(Path("second.html"))
    assert "6 runs: 6 done" in page.text
    assert "3702ed92f3439a7c96d582325ce2b4e1a4a837ce" in page.text
    assert "bench run --methods supervised,pl,ups-raps --seeds 2 --dataset digits --labels 40" in page.text


def test_the_summary_is_what_the_records_say(bench, runs):
    bench("report")
    rows = summary(Path("report.html"))
    assert [row["method"] for row in rows] == ["supervised", "pl", "ups-raps"]
    assert {row["runs"] for row in rows} == {"2"}
    last = [record["rounds"][-1] for record in records("ups-raps")]
    accuracy = [100 * each["test"]["accuracy"] for each in last]
    half = 12.7062 * abs(accuracy[0] - accuracy[1]) / 2  # half of a t interval of two values
    assert rows[2]["accuracy"] == f"{sum(accuracy) / 2:.2f}± {half:.2f}"
    assert rows[2]["coverage"].startswith(f"{50 * sum(each['selection']['coverage'] for each in last):.1f}±")
    assert rows[1]["coverage"] == "–"


TABLE = re.compile(r"<table class=.summary sortable. id=.*?</table>", re.DOTALL)


def summary(path):
    """The rows of the first section's table: texts by heading."""
    table = TABLE.search(path.read_text(encoding="utf-8"))[0]
    cells = [
        [html.unescape(re.sub(r"<.*?>", "", cell)) for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)]
        for row in re.split(r"<tr\b.*?>", table)[1:]
    ]
    return [dict(zip(cells[0], row, strict=True)) for row in cells[1:]]


def test_marks_and_comparisons_are_those_of_the_other_commands(bench, tmp_path):
    put(tmp_path / "runs", *records("supervised", "fully-supervised", "pl", "ups", "ups-raps", seeds=10))
    bench("report")
    text = Path("report.html").read_text(encoding="utf-8")
    table = TABLE.search(text)[0]
    caption, _, header, _, *lines = bench("table", "--format", "markdown").out.splitlines()
    names = [name.strip() for name in header.strip("|").split("|")]
    shown = [*re.findall(r">([\w-]+)</button>", table)]
    found = set()
    for line, row in zip(lines, re.split(r"<tr\b.*?>", table)[2:], strict=True):
        cells = dict(zip(names, line.strip("|").split(" | "), strict=True))
        for name, cell in zip(shown, re.findall(r"<t[hd] ?.*?</t[hd]>", row, re.DOTALL), strict=True):
            if name in cells:
                best = "<strong>" in cell
                assert best == ("**" in cells[name]), (name, cell)
                found.add(best)
    assert found == {False, True}
    page = Page(Path("report.html"))
    assert caption.partition("Bold: ")[2] in page.text.replace("\u00a0", " ")
    compared = bench("compare", "supervised").out.splitlines()[-3:]
    assert all(line.startswith("The accuracy of ") and line in page.text.replace("\u00a0", " ") for line in compared)


def test_methods_that_cannot_be_compared_say_why(bench, tmp_path):
    """One of them with another rate, which nobody asked for."""
    other = records("supervised", "pl")
    for record in other[:2]:
        record["spec"]["settings"]["recipe"]["lr"] = 0.01
    put(tmp_path / "runs", *other)
    assert bench("report").code == 0
    assert "supervised and pl were trained differently" in Page(Path("report.html")).text


def test_images_of_several_classes_are_judged_by_mean_average_precision(bench, tmp_path):
    few = ("--preset", "smoke", "--seeds", "2", "--quiet")
    assert bench("run", "--dataset", "digits-grid", "--methods", "supervised,ups-raps", *few).code == 0
    last = [json.loads(path.read_text())["rounds"][-1] for path in sorted(Path("runs").glob("*-ups-raps-*.json"))]
    mean = 50 * sum(each["test"]["map"] for each in last)
    bench("report")
    page = Page(Path("report.html"))
    assert summary(Path("report.html"))[1]["mAP"].startswith(f"{mean:.2f}±")
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


def test_every_figure_has_words_and_numbers_and_can_be_drawn(bench, runs):
    """Each specification is one that Vega-Lite takes, with colours of the light page that the dark one knows."""
    bench("report", "-o", "report.html")
    text = Path("report.html").read_text(encoding="utf-8")
    page = Page(Path("report.html"))
    charts = [each for each in page.all("div") if each.get("role") == "img"]
    held = [json.loads(each) for each in re.findall(r'<script type="application/json">(.*?)</script>', text)]
    assert len(charts) == len(held) == DRAWN + 1  # and the differences of the summary
    assert all(len(chart["aria-label"]) > 60 for chart in charts)
    for each in held:
        altair.Chart.from_dict(each["spec"])  # checks it against the schema
        assert len(each["rows"][0]) == len(each["columns"])
    assert held[0]["columns"][:3] == ["where", "baseline", "series"]


def test_what_is_not_done_is_visible(bench, runs):
    failed, running, *_ = records("ups", "raps-singleton", seeds=1)
    failed |= {"status": "failed", "error": {"message": f"the loss became NaN {HOSTILE}", "where": "fit"}}
    running |= {"status": "running", "rounds": running["rounds"][:1]}
    put(runs, failed, running)
    bench("report")
    page = Page(Path("report.html"))
    assert "8 runs: 6 done, 1 failed, 1 interrupted" in page.text
    assert f"{failed['run_id']}: failed: the loss became NaN {HOSTILE}" in page.text
    assert f"{running['run_id']}: interrupted" in page.text
    assert "ups: no record of seed 1, which other rows have" in page.text
    assert "1 not done" in page.text


def test_records_without_a_finished_run_are_reported_on_too(bench, tmp_path):
    (record,) = records("ups", seeds=1)
    put(tmp_path / "runs", record | {"status": "failed", "rounds": [], "error": {"message": "no", "where": "fit"}})
    assert bench("report").code == 0
    page = Page(Path("report.html"))
    assert "1 run: 1 failed" in page.text
    assert not [each for each in page.all("div") if each.get("role") == "img"]
    outcome = bench("figures", "--format", "png")
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert "no numbers for accuracy" in outcome.err


def test_records_of_a_stranger_are_safe(bench, tmp_path):
    """Names and everything else that a record says come out as text."""
    odd = records("ups-raps")
    for record in odd:
        spec = record["spec"]
        spec |= {"method": HOSTILE, "dataset": f"../{QUOTED}", "backbone": QUOTED, "overrides": {"raps.alpha": HOSTILE}}
        spec["settings"]["raps"] |= {"lam": QUOTED}
        record["run_id"] += HOSTILE.replace("/", "")  # a run id names a file
        record["environment"] |= {
            "device_name": HOSTILE,
            "source": {"revision": f"</script>{HOSTILE}", "changed": True},
        }
    odd[1] |= {"status": "failed", "error": {"message": f"{QUOTED}{HOSTILE}", "where": ""}}
    put(tmp_path / "runs", *odd, *records("pl"))
    assert bench("report").code == 0
    page = Page(Path("report.html"))
    assert sum(each.get("type") != "application/json" for each in page.all("script")) == 2  # the library, and ours
    assert page.all("b") == []
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    policy = page.all("meta")[1]["content"]
    assert policy.startswith("default-src 'none'; img-src data:;")
    assert HOSTILE in page.text
    assert f"../{QUOTED}, 40 labels" in page.text
    outcome = bench("figures", "-o", "figures")
    written = [Path(line) for line in outcome.out.splitlines()]
    assert {path.parent for path in written} == {Path("figures")}
    for path in written:
        names = {element.tag.rpartition("}")[2] for element in ElementTree.parse(path).iter()}
        assert not names & {"script", "b", "a", "image", "foreignObject"}
    assert any(HOSTILE in "".join(ElementTree.parse(path).getroot().itertext()) for path in written)


def test_datasets_and_label_counts_are_sections(bench, tmp_path):
    more = records("pl", "ups-raps")
    for record in more[::2]:
        record["spec"]["labels"] = 100
        record["run_id"] += "more"
    put(tmp_path / "runs", *more)
    bench("report")
    titles = ["digits-40", "digits-100"]
    found = {each.get("id") for each in Page(Path("report.html")).all("details")} - {None}
    assert found == {*titles, "environment"}
    bench("report", "--methods", "pl", "-o", "pl.html")
    assert "ups-raps" not in Page(Path("pl.html")).text
    named = bench("figures", "--figures", "accuracy").out.splitlines()
    assert sorted(named) == sorted(f"figures/{title}-accuracy.svg" for title in titles)


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
    other = records("ups-raps", "ups-raps-size")
    for record in other[:2]:
        record["spec"]["settings"]["raps"]["alpha"] = 0.25
    for record in other[2:]:
        del record["spec"]["settings"]["raps"]["alpha"]
    put(tmp_path / "both", *other, *records("raps-singleton"))
    put(tmp_path / "unknown", *other[2:])
    for folder, levels in (("both", "75 %, 90 %"), ("unknown", "not known")):
        assert bench("report", folder).code == 0
        assert f"nominal {levels}." in Path("report.html").read_text(encoding="utf-8")
        assert bench("figures", folder, "--figures", "coverage").code == 0


def test_endless_names_are_cut_and_kept_apart(bench, tmp_path):
    long = records("pl", seeds=2)
    for place, record in enumerate(long):
        record["spec"]["method"] = "x" * 10_000 + str(place)
        record["run_id"] += str(place)
    put(tmp_path / "runs", *long)
    bench("figures", "--figures", "accuracy")
    marks = [each.get("aria-label") or "" for each in ElementTree.parse("figures/digits-40-accuracy.svg").iter()]
    names = {mark.partition("series: ")[2] for mark in marks if mark.startswith("accuracy, %")}
    assert len(names) == 2
    assert max(map(len, names)) < 200


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("report", "-o", "runs"), "-o runs is a folder; name the file, such as runs/report.html"),
        (("report", "-o", "file/report.html"), "can't write file/report.html: "),
        (("report", "empty"), "there are no run records to report on; `bench run` makes some"),
        (("report", "nowhere"), "there is no results folder nowhere; `bench run` makes one"),
        (("report", "--where", "sede=1"), "no run record says anything of 'sede'; did you mean 'seed'?"),
        (("report", "--methods", "upps"), "no run record has the method 'upps'; there are: "),
        (("figures", "-o", "file"), "-o file is a file; name a folder"),
        (("figures", "--format", "gif"), "there is no format 'gif'; known: pdf, png, svg"),
        (("figures", "--figures", "accurracy"), "there is no figure 'accurracy'; did you mean 'accuracy'?"),
        (("figures", "empty"), "there are no run records to report on; `bench run` makes some"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_written(bench, runs, tmp_path, arguments, message):
    (tmp_path / "file").write_text("not a folder")
    (tmp_path / "empty").mkdir()
    before = sorted(tmp_path.rglob("*"))
    outcome = bench(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"error: {message}")
    assert outcome.err.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_the_files_of_the_page_are_packaged():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    folder = ROOT / "benchmark" / "pseudobench" / "output" / "report"
    assert sorted(declared["pseudobench.output.report"]) == sorted(path.name for path in folder.glob("*.*[!yc]"))


@pytest.mark.parametrize("name", ["report", "figures"])
def test_help_has_examples_and_is_quick(name):
    code = (
        "import sys\nfrom pseudobench.cli.main import main\n"
        f"try:\n    main([{name!r}, '--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'torch', 'pandas', 'altair', 'vl_convert', 'jinja2'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "Examples:" in done.stdout
