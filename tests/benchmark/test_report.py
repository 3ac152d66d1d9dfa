"""`bench report`: what the page says, and that it says what the records and the other commands say."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import altair
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import around, records
from report_pages import HOSTILE, ROOT, TABLE, Page, put, summary

from committed import digits_records
from pseudobench.output.report.figures import FIGURES
from pseudobench.output.report.packing import packed_records
from pseudobench.output.report.sections import sections
from pseudobench.output.report.summary import summarize_sections
from pseudobench.registry.builtin_columns import COLUMNS

DRAWN = len(FIGURES) - 3  # of accuracy or of mAP; no number is changed in these runs


def test_the_report_says_where_it_is_and_is_the_same_again(bench, runs):
    first = bench("report", "-o", "new/folder/first.html")
    assert (first.code, first.out, first.err) == (0, "report: new/folder/first.html\n", "")
    bench("report", str(runs), "-o", "second.html")
    assert Path("new/folder/first.html").read_bytes() == Path("second.html").read_bytes()
    page = Page(Path("second.html"))
    assert "6 runs: 6 done" in page.text
    assert {record["environment"]["source"]["revision"] in page.text for record in digits_records("pl")} == {True}
    assert "bench run --methods supervised,pl,ups-raps --seeds 2 --dataset digits --labels 40" in page.text


def test_the_summary_is_what_the_records_say(bench, runs):
    bench("report")
    rows = summary(Path("report.html"))
    assert [row["method"] for row in rows] == ["supervised", "pl", "ups-raps"]
    assert {row["runs"] for row in rows} == {"2"}
    last = [record["rounds"][-1] for record in digits_records("ups-raps")]
    accuracy = [100 * each["test"]["accuracy"] for each in last]
    half = 12.7062 * abs(accuracy[0] - accuracy[1]) / 2  # half of a t interval of two values
    assert rows[2]["accuracy"] == f"{sum(accuracy) / 2:.2f} ± {half:.2f}"
    assert rows[2]["coverage"].startswith(f"{50 * sum(each['selection']['coverage'] for each in last):.1f} ±")
    assert rows[1]["coverage"] == "–"


def test_the_matrix_has_the_order_of_the_tables(registry):
    """Numbers by their value: as texts, 125 would come before 25."""
    made = [each for steps in (125, 25, 50) for each in records("pl", around(0.6, 6), settings={"recipe.steps": steps})]
    (section,) = sections(made, registry, COLUMNS)
    names = [row.name for row in section.table.rows]
    assert names == ["pl steps=25", "pl steps=50", "pl steps=125"]
    assert list(summarize_sections([section], registry).names) == names


def test_a_mean_over_too_few_seeds_is_untested_in_the_matrix_too(registry):
    """Among methods that were tested, one with three seeds is neither the best nor shown to be worse."""
    groups = [records("supervised", around(0.6, 6)), records("pl", around(0.8, 6)), records("ups", around(0.7, 3))]
    found = summarize_sections(sections([each for group in groups for each in group], registry, COLUMNS), registry)
    assert {name: cell.best for (name, _), cell in found.cells.items()} == {
        "supervised": False,
        "pl": True,
        "ups": None,
    }


def test_marks_and_comparisons_are_those_of_the_other_commands(bench, tmp_path):
    put(tmp_path / "runs", *digits_records("supervised", "fully-supervised", "pl", "ups", "ups-raps", seeds=10))
    bench("report")
    text = Path("report.html").read_text(encoding="utf-8")
    table = TABLE.search(text)[0]
    caption, _, rows = bench("table", "--format", "markdown").out.partition("\n\n")
    header, _, *lines = rows.splitlines()
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
    words = " ".join(caption.split()).partition("Bold: ")[2].partition(" and is not compared")[0]
    assert words in page.text.replace("\u00a0", " ")
    compared = bench("compare", "supervised").out.splitlines()[-3:]
    assert all(line.startswith("The accuracy of ") and line in page.text.replace("\u00a0", " ") for line in compared)


def test_methods_that_cannot_be_compared_say_why(bench, tmp_path):
    """One of them with another rate, which nobody asked for."""
    other = digits_records("supervised", "pl")
    for record in other[:2]:
        record["spec"]["settings"]["recipe"]["lr"] = 0.01
    put(tmp_path / "runs", *other)
    assert bench("report").code == 0
    assert "supervised and pl were trained differently" in Page(Path("report.html")).text


def test_every_figure_has_words_and_numbers_and_can_be_drawn(bench, runs):
    """Each specification is one that Vega-Lite takes."""
    bench("report", "-o", "report.html")
    text = Path("report.html").read_text(encoding="utf-8")
    page = Page(Path("report.html"))
    charts = [each for each in page.all("div") if each.get("role") == "img"]
    held = [json.loads(each) for each in re.findall(r'<script type="application/json">(.*?)</script>', text)]
    assert len(charts) == len(held) == DRAWN + 1  # and the differences of the summary
    assert all(len(chart["aria-label"]) > 60 for chart in charts)
    for each in held:
        each["spec"]["datasets"] = {name: unpacked(table) for name, table in each["spec"]["datasets"].items()}
        altair.Chart.from_dict(each["spec"])  # checks it against the schema
        assert unpacked(each["numbers"])
    assert [name for name, _ in held[0]["numbers"]][:3] == ["where", "baseline", "series"]


def unpacked(columns):
    """As the page's script does it, whose own is tried in a browser."""
    values = [held if isinstance(held, list) else [held["of"][place] for place in held["at"]] for _, held in columns]
    return [dict(zip((name for name, _ in columns), row, strict=True)) for row in zip(*values, strict=True)]


CELLS = st.none() | st.integers() | st.text(max_size=3)


@given(st.lists(st.fixed_dictionaries({"series": st.text(max_size=3), "1": CELLS, "mean": CELLS})))
def test_tables_are_unpacked_as_they_were_packed(rows):
    assert unpacked(json.loads(json.dumps(packed_records(rows)))) == rows


def test_each_text_stands_once_in_a_packed_table():
    assert json.dumps(packed_records([{"series": "ups", "x": place} for place in range(50)])).count("ups") == 1


def test_what_is_not_done_is_visible(bench, runs):
    failed, running, *_ = digits_records("ups", "raps-singleton", seeds=1)
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
    (record,) = digits_records("ups", seeds=1)
    put(tmp_path / "runs", record | {"status": "failed", "rounds": [], "error": {"message": "no", "where": "fit"}})
    assert bench("report").code == 0
    page = Page(Path("report.html"))
    assert "1 run: 1 failed" in page.text
    assert not [each for each in page.all("div") if each.get("role") == "img"]
    outcome = bench("figures", "--format", "png")
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert "no numbers for accuracy" in outcome.err


def test_datasets_and_label_counts_are_sections(bench, tmp_path):
    more = digits_records("pl", "ups-raps")
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
