"""The same table in every format: nothing lost, nothing that a reader of the format would take for markup."""

from __future__ import annotations

import csv
import html
import json
import re
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_up import records, save
from markdown_it import MarkdownIt

from pseudobench.base.text import visible
from pseudobench.output.formats import escape_latex, escape_markdown, to_csv, to_html, to_latex, to_markdown
from pseudobench.output.text_tables import Grid, Shown

WILD = "a|b <i>&amp; 50 % of x_1 $~^\\{}# ± –"
MARKED = r"a\|b &lt;i&gt;&amp;amp; 50 % of x_1 $&#126;^\\{}# ± –"  # Markdown shows WILD
GRID = Grid(
    WILD,
    ("method", "accuracy", "ece", "accuracy", "ece"),
    ((Shown(WILD), Shown("1.00", "best", "± 0.10"), Shown("–"), Shown("2.00", remarks=("n=2",)), Shown("3.00")),),
    keys=1,
    groups=("", "digits 40", "digits 40", "x_1", "x_1"),
)


def test_markdown():
    assert to_markdown(GRID).splitlines() == [
        MARKED,
        "",
        "| method | digits 40 accuracy | digits 40 ece | x_1 accuracy | x_1 ece |",
        "| --- | ---: | ---: | ---: | ---: |",
        f"| {MARKED} | **1.00 ± 0.10** | – | 2.00 (n=2) | 3.00 |",
    ]


@given(st.text(min_size=1))
def test_markdown_shows_text_as_it_is(text):
    """A parser of Markdown finds one cell with nothing but the text in it."""
    grid = Grid("", ("method",), ((Shown(f"x{text}x"),),), keys=1)
    page = MarkdownIt("commonmark").enable("table").render(to_markdown(grid))
    cells = re.findall(r"<td>(.*?)</td>", page, re.DOTALL)
    assert [html.unescape(cell) for cell in cells] == [visible(f"x{text}x")]
    assert not re.search("<", cells[0])


@pytest.mark.parametrize(
    "text", ["__x__", "*x*", "~~x~~", "`x`", "![x](y)", "[x](y)", "<b>x</b>", "_a_ b", "&amp;", "a\nb", "| x |"]
)
def test_markdown_has_no_markup_of_strangers(text):
    page = MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(escape_markdown(text))
    assert html.unescape(page.strip().removeprefix("<p>").removesuffix("</p>")) == visible(text)


@pytest.mark.parametrize("place", range(80, 101))
def test_a_markdown_caption_is_one_paragraph_in_short_lines(place):
    """Wherever a word stands that would begin a list or a heading as the first of its line."""
    text = f"{'word ' * (place // 5 - 1)}{'w' * (place % 5)} 17), (family 26) # 3. + and so on, {'word ' * 30}".strip()
    caption = to_markdown(Grid(text, ("method",), ((Shown("ups"),),), keys=1)).partition("\n\n")[0]
    assert max(map(len, caption.splitlines())) <= 100
    page = MarkdownIt("commonmark").render(caption)
    assert html.unescape(page).replace("\n", " ").strip() == f"<p>{text}</p>"


def test_spreadsheets_find_no_formula_and_numbers_stay_numbers():
    cells = ["=1+1", "+cmd", "-x", "@sum", "\t=1", "\r=1", "-1.5", "+2", "x=1", "ups-raps", "\x1b[31m"]
    frame = pd.DataFrame({"method": cells, "=value": [-float(place) for place in range(len(cells))]})
    header, *rows = csv.reader(StringIO(to_csv(frame)))
    assert header == ["method", "'=value"]
    shown = ["'=1+1", "'+cmd", "'-x", "'@sum", "'\\t=1", "'\\r=1", "-1.5", "+2", "x=1", "ups-raps", "\\x1b[31m"]
    assert [row[0] for row in rows] == shown
    assert [float(row[1]) for row in rows] == list(frame["=value"])


def test_latex_has_booktabs_groups_and_marks():
    lines = to_latex(GRID).splitlines()
    assert r"\begin{tabular}{lrrrr}" in lines
    top = lines.index(r"\toprule")
    assert lines[top + 1 : top + 5] == [
        r"\multicolumn{1}{c}{} & \multicolumn{2}{c}{digits 40} & \multicolumn{2}{c}{x\_1} \\",
        r"\cmidrule(lr){2-3}\cmidrule(lr){4-5}",
        r"method & accuracy & ece & accuracy & ece \\",
        r"\midrule",
    ]
    assert lines[top + 5].endswith(r"& {\boldmath\textbf{1.00 $\pm$ 0.10}} & -- & 2.00 (n=2) & 3.00 \\")


def test_latex_has_minus_signs():
    """Not hyphens, which are shorter; those inside names stay. The sign of names such as "ups −balance" is one."""
    assert escape_latex("ups \N{MINUS SIGN}balance") == "ups $-$balance"
    row = (Shown("a-1"), Shown("-0.50", "best"), Shown("-1.20 to -0.30"))
    lines = to_latex(Grid("", ("method", "difference", "interval"), (row,), keys=1)).splitlines()
    assert r"a-1 & {\boldmath\textbf{$-$0.50}} & $-$1.20 to $-$0.30 \\" in lines


@given(st.text(alphabet=st.characters(max_codepoint=127, exclude_categories=["Cc"])))
def test_latex_prints_text_as_it_is(text):
    """Undone command by command, the text is there again, and no sign with a meaning is left outside a command."""
    commands = {
        r"\textbackslash{}": "\\",
        r"\textasciitilde{}": "~",
        r"\textasciicircum{}": "^",
        r"\textless{}": "<",
        r"\textgreater{}": ">",
        **{f"{{{sign}}}": sign for sign in "[]*"},
        **{f"\\{sign}": sign for sign in "&%$#_{}"},
    }
    parts = re.split("(" + "|".join(re.escape(command) for command in commands) + ")", escape_latex(text))
    assert not set("".join(parts[::2])) & set("\\~^<>&%$#_{}")
    assert "".join(commands.get(part, part) for part in parts) == text


def test_html_is_a_page_that_a_parser_reads_back():
    page = ElementTree.fromstring(to_html([GRID, GRID]).removeprefix("<!DOCTYPE html>"))
    first, second = page.iter("table")
    assert ElementTree.tostring(first) == ElementTree.tostring(second)
    assert first.findtext("caption") == WILD
    groups, names = (list(row) for row in first.iter("tr") if row.find("th") is not None)
    assert [(cell.text, cell.get("colspan")) for cell in groups] == [(None, "1"), ("digits 40", "2"), ("x_1", "2")]
    assert [cell.text for cell in names] == ["method", "accuracy", "ece", "accuracy", "ece"]
    (row,) = first.iterfind("tbody/tr")
    assert ["".join(cell.itertext()) for cell in row] == [WILD, "1.00 ± 0.10", "–", "2.00 (n=2)", "3.00"]
    assert row[1].findtext("b") == "1.00 ± 0.10"


@pytest.mark.parametrize("layout", [(), ("--pivot",), ("--runs",)])
def test_every_format_shows_every_method_in_every_layout(bench, layout):
    save(Path("runs"), *(records(method, [0.5, 0.75], labels=count) for method in ("pl", "ups") for count in (40, 100)))
    for format_ in ("terminal", "markdown", "latex", "html", "csv", "json"):
        outcome = bench("table", *layout, "--format", format_)
        assert (outcome.code, outcome.err) == (0, "")
        assert "ups" in outcome.out
        assert "62.5" in outcome.out or "0.625" in outcome.out or layout == ("--runs",)


def test_numbers_are_for_machines(bench):
    save(Path("runs"), records("pl", [0.5, 0.75]), records("ups", [0.25, 0.5]), records("pl", [0.125], labels=100))
    rows = json.loads(bench("table", "--format", "json").out)
    assert [
        (row["labels"], row["method"], row["accuracy"], row["accuracy_n"], row["accuracy_best"]) for row in rows
    ] == [
        (40, "pl", 62.5, 2, None),
        (40, "ups", 37.5, 2, None),
        (100, "pl", 12.5, 1, None),
    ]
    wide = list(csv.DictReader(StringIO(bench("table", "--pivot", "--format", "csv").out)))
    assert [(row["method"], row["digits_40_accuracy"], row["digits_100_accuracy"]) for row in wide] == [
        ("pl", "62.5", "12.5"),
        ("ups", "37.5", ""),
    ]
