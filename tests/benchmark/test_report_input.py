"""Records of strangers and mistakes on the command line of `bench report` and `bench figures`."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from report_pages import HOSTILE, Page, put

from committed import digits_records
from pseudobench.output.report.figures import FIGURES
from pseudobench.output.report.files import TABLE
from pseudobench.output.report.summary_figures import NAMES

KNOWN = ", ".join(sorted((*NAMES, *FIGURES, TABLE)))
QUOTED = """it's "a" & <b>b</b>"""


def test_records_of_a_stranger_are_safe(bench, tmp_path):
    """Names and everything else that a record says come out as text."""
    odd = digits_records("ups-raps")
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
    put(tmp_path / "runs", *odd, *digits_records("pl"))
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


def test_a_tab_in_a_cell_is_shown_as_one(bench, tmp_path):
    """Where places for line breaks are woven into a text, its invisible characters were left as they are."""
    first, *others = digits_records("pl", "supervised", "ups")
    first["environment"]["device"] = "cpu\tb"
    put(tmp_path / "runs", first, *others)
    assert bench("report").code == 0
    body = re.sub(r"<(script|style).*?</\1>", "", Path("report.html").read_text(encoding="utf-8"), flags=re.DOTALL)
    assert "cpu\\tb" in body
    assert "\t" not in body


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("report", "-o", "runs"), "-o runs is a folder; name the file, such as runs/report.html"),
        (("report", "--site", "site"), "can't write site/index.html: it is a folder"),
        (("report", "-o", "file/report.html"), "can't write file/report.html: "),
        (("report", "empty"), "there are no run records to report on; `bench run` makes some"),
        (("report", "nowhere"), "there is no results folder nowhere; `bench run` makes one"),
        (("report", "--where", "sede=1"), "no run record says anything of 'sede'; did you mean 'seed'?"),
        (("report", "--methods", "upps"), "no run record has the method 'upps'; there are: "),
        (("figures", "-o", "file"), "-o file is a file; name a folder"),
        (("figures", "--format", "gif"), "there is no format 'gif'; known: pdf, png, svg"),
        (("figures", "--figures", "all"), f"there is no figure 'all'; known: {KNOWN}\n"),
        (("figures", "--figures", "accurracy"), "there is no figure 'accurracy'; did you mean 'accuracy'?"),
        (("figures", "empty"), "there are no run records to report on; `bench run` makes some"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_written(bench, runs, tmp_path, arguments, message):
    (tmp_path / "file").write_text("not a folder")
    (tmp_path / "empty").mkdir()
    (tmp_path / "site" / "index.html").mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    outcome = bench(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"error: {message}")
    assert outcome.err.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before
