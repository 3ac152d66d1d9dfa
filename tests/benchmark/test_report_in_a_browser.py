"""The report in a real browser: Debian's Chromium, driven by playwright."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright
from pypdf import PdfReader

from committed import committed, digits_records
from pseudobench.cli.main import main
from pseudobench.output.report.figures import FIGURES

RESULTS = Path(__file__).parents[2] / "results"
HOSTILE = "<img src=x onerror=alert(1)><script>alert(1)</script>"


@pytest.fixture(scope="module")
def browser():
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("Chromium is not installed (as root: apt-get install chromium)")
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        with playwright.chromium.launch(executable_path=program, args=arguments) as chromium:
            yield chromium


#: Those of the report, and one more whose name is markup.
METHODS = (
    *("supervised", "fully-supervised", "pl", "ups", "ups-raps", "ups-raps-size", "ups-raps-complement"),
    *("raps-singleton", "curriculum"),
)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Real records of two datasets, and a method whose name would be markup if it could."""
    folder = tmp_path_factory.mktemp("report")
    some = digits_records(*METHODS)
    for record in committed("heads-cifar10", runs="cifar10-1000-*-s[01]-*"):
        if record["spec"]["method"] in METHODS:
            record["spec"]["settings"].pop("loop", None)  # rounds, which would be part of the rows' names
            some.append(record)
    for record in digits_records("ups-raps"):
        record["spec"]["method"] = HOSTILE
        some.append({**record, "run_id": f"{record['run_id']}-hostile"})
    for record in some:
        (folder / f"{record['run_id']}.json").write_text(json.dumps(record))
    with pytest.raises(SystemExit) as stop:
        main(["report", str(folder), "-o", str(folder / "report.html")])
    assert not stop.value.code
    return folder / "report.html"


class Visit:
    """An open page, with everything that it asked for and complained of."""

    def __init__(self, browser, path, **options):
        self.requests, self.complaints = [], []
        self.page = browser.new_context(**options).new_page()
        self.page.set_default_timeout(10_000)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append("a dialog"), dialog.dismiss()))
        self.page.goto(path.as_uri())


@pytest.fixture(params=["light", "dark", "phone"])
def visit(request, browser, report):
    size = {"width": 360, "height": 740} if request.param == "phone" else {"width": 1280, "height": 900}
    found = Visit(browser, report, viewport=size, color_scheme="dark" if request.param == "dark" else "light")
    yield found
    found.page.context.close()


def test_it_is_whole_quiet_and_as_wide_as_the_window(visit, report):
    page = visit.page
    widths = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert widths[0] <= widths[1]
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    drawn(page.locator("#digits-40 figure").last)
    widths = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert widths[0] <= widths[1]
    assert [url for url in visit.requests if not url.startswith("data:")] == [report.as_uri()]
    assert visit.complaints == []


def drawn(figure):
    """A figure once it is looked at and its chart is there."""
    figure.scroll_into_view_if_needed()
    figure.locator(".chart svg").wait_for()
    return figure


def open_section(page, name):
    """By its key: a chart that is drawn meanwhile would move the page between the press of a mouse and its release."""
    page.locator(f"#{name} > summary").press("Enter")


def test_the_first_screen_answers_the_question(visit):
    page = visit.page
    said = page.locator(".findings").inner_text()
    assert "2 seeds can't separate these methods" in said
    cells = page.locator(".matrix tbody tr").first.locator("td")
    assert [float(cell.inner_text().split()[0]) for cell in cells.all()]
    assert page.locator("#summary figure").first.bounding_box()["y"] < 1500
    drawn(page.locator("#summary figure").first)
    assert page.locator("figure:visible").count() == page.locator("#summary figure").count()  # diagnostics are folded
    assert page.locator("details.section figure svg").count() == 0  # and not drawn
    assert visit.complaints == []


def test_plots_are_drawn_when_they_are_looked_at_in_the_colours_of_the_page(visit):
    page = visit.page
    open_section(page, "digits-40")
    page.locator("#digits-40 .diagnostics > summary").press("Enter")
    figures = page.locator("#digits-40 figure")
    assert figures.count() == len(FIGURES) - 3  # of accuracy or of mAP; no number is changed in these runs
    for figure in figures.all():
        drawn(figure)
        assert figure.locator(".chart svg").bounding_box()["width"] > 200
    colours = figures.first.locator(".chart").evaluate(
        """chart => {
            const ink = getComputedStyle(chart.closest("figure")).color;
            return [getComputedStyle(chart.querySelector(".role-axis-label text")).fill, ink];
        }"""
    )
    assert colours[0] == colours[1]
    assert visit.complaints == []


def test_the_baseline_can_be_chosen(visit):
    figure = drawn(visit.page.locator("#summary figure").first)
    figure.locator("select[name=baseline]").select_option("pl")
    figure.locator("select[name=where]").select_option("digits 40")
    names = figure.locator(".chart .role-axis-label text")
    names.filter(has_text="supervised").first.wait_for()
    shown = names.all_text_contents()
    assert "pl" not in shown
    assert "ups" in shown


def test_only_baselines_of_the_chosen_place_can_be_chosen(visit):
    """CIFAR-10 has no method whose name is markup; what was chosen before is left for one that it has."""
    figure = drawn(visit.page.locator("#summary figure").first)
    where, baseline = (figure.locator(f"select[name={name}]") for name in ("where", "baseline"))
    where.select_option("digits 40")
    baseline.select_option(HOSTILE)
    where.select_option("cifar10 1000")
    title = figure.locator(".chart .role-title-text")
    title.filter(has_text="cifar10, 1000 labels:accuracy minus that of supervised").wait_for()
    assert baseline.input_value() == "supervised"
    assert baseline.locator("option:disabled").all_text_contents() == [HOSTILE]
    assert visit.complaints == []


def test_the_legend_filters_charts_and_the_matrix(visit):
    page = visit.page
    drawn(page.locator("#summary figure").first)
    page.locator(".legend").get_by_label("ups", exact=True).press("Space")
    page.wait_for_function("document.querySelector('#summary figure .chart').textContent.match(/\\bups(?!-)/) === null")
    assert page.locator(".matrix tbody tr[data-name=ups]").is_hidden()
    page.locator(".legend").get_by_label("ups", exact=True).press("Space")
    assert page.locator(".matrix tbody tr[data-name=ups]").is_visible()
    assert visit.complaints == []


def test_the_legend_tells_methods_apart_as_the_charts_do(visit):
    """There are more methods than colours: what has the colour of another has another marker."""
    drawn(visit.page.locator("#summary figure").first)
    marks = visit.page.locator(".legend path")
    seen = marks.evaluate_all("all => all.map(each => each.getAttribute('d') + getComputedStyle(each).fill)")
    assert len(set(seen)) == len(seen) == visit.page.locator(".legend input").count()


def test_labels_of_an_axis_stand_at_their_ticks(visit):
    """Vega would move the first and the last one inwards."""
    figure = drawn(visit.page.locator("#summary figure").first)
    places = figure.locator(".chart .role-axis").evaluate_all(
        """axes => axes.map(axis => [".role-axis-tick line", ".role-axis-label text"].map(kind =>
            [...axis.querySelectorAll(kind)].map(each => {
                const box = each.getBoundingClientRect();
                return [box.x + box.width / 2, box.y + box.height / 2];
            })))"""
    )
    ticks, labels = next((ticks, labels) for ticks, labels in places if len({y for _, y in labels}) == 1 < len(ticks))
    assert all(min(abs(x - at) for at, _ in ticks) < 4 for x, _ in labels)


def test_the_matrix_is_as_wide_as_its_numbers(visit):
    frame, table = (visit.page.locator(each).bounding_box()["width"] for each in (".matrix-frame", ".matrix"))
    assert table <= frame <= table + 3
    gap = "row => row.children[1].getBoundingClientRect().width"
    assert visit.page.locator(".matrix tbody tr").first.evaluate(gap) < 200


def test_marks_say_their_numbers(visit):
    figure = drawn(visit.page.locator("#summary figure").first)
    figure.locator(".mark-symbol path").first.hover(force=True)
    tip = visit.page.locator("#vg-tooltip-element")
    tip.filter(has_text="difference").wait_for()
    assert "baseline" in tip.inner_text()
    assert visit.complaints == []


def test_the_numbers_of_a_figure_are_whole(visit):
    """Each pair of methods in both directions, texts as words and not as places in a list."""
    figure = drawn(visit.page.locator("#summary figure").first)
    figure.locator("summary").press("Enter")
    head, *rows = (line.split("\t") for line in figure.locator("table").inner_text().splitlines())
    assert head[:4] == ["where", "baseline", "series", "difference"]
    pairs = {tuple(row[:3]) for row in rows}
    assert len(pairs) == len(rows) > 50
    assert pairs == {(where, series, baseline) for where, baseline, series in pairs}
    assert any("cifar10" in where and {"ups", "pl"} == {one, other} for where, one, other in pairs)
    assert visit.complaints == []


def test_on_paper_no_column_is_lost(browser, report, tmp_path):
    visit = Visit(browser, report, viewport={"width": 1280, "height": 900})
    visit.page.locator("#summary figure svg").first.wait_for()
    heads = visit.page.locator("#digits-40-table thead th:not(.further)").all_text_contents()
    visit.page.pdf(path=tmp_path / "page.pdf", prefer_css_page_size=True)
    visit.page.context.close()
    pages = PdfReader(tmp_path / "page.pdf").pages
    assert sorted(float(side) for side in pages[0].mediabox[2:]) == pytest.approx([595, 842], abs=1)  # A4
    text = re.sub(r"\s", "", "".join(page.extract_text() for page in pages))
    for head in heads:
        assert re.sub(r"\s", "", head) in text
    assert len(heads) > 8


def test_columns_sort_both_ways_and_what_has_no_value_stays_last(visit):
    open_section(visit.page, "digits-40")
    table = visit.page.locator("#digits-40-table")
    heads = table.locator("thead th").all_inner_texts()
    place = heads.index("accuracy")
    table.get_by_role("button", name="accuracy", exact=True).press("Enter")
    assert column(table, place) == sorted(column(table, place), key=float, reverse=True)
    assert table.locator("th[aria-sort=descending]").inner_text().strip() == "accuracy"
    table.get_by_role("button", name="accuracy", exact=True).press("Enter")
    assert column(table, place) == sorted(column(table, place), key=float)
    place = heads.index("coverage")
    for _ in range(2):
        table.get_by_role("button", name="coverage", exact=True).press("Enter")
        values = column(table, place)
        known = [value for value in values if value]
        assert 1 < len(known) < len(values)
        assert values == [*known, *[""] * (len(values) - len(known))]
    table.get_by_role("button", name="method", exact=True).press("Enter")
    assert column(table, 0)[:2] == [HOSTILE, "curriculum"]


def test_further_columns_are_shown_on_request_and_the_usual_ones_fit(visit):
    page = visit.page
    open_section(page, "digits-40")
    wide = page.locator(".wide:has(#digits-40-table)")
    shown = "table => [table.scrollWidth, table.clientWidth]"
    needed, there = wide.evaluate(shown)
    assert needed == there or page.viewport_size["width"] < 1280
    further = page.locator("#digits-40-table .further")
    assert further.count() > 0
    assert not further.first.is_visible()
    page.locator("#digits-40").get_by_label("more columns").press("Space")
    assert all(cell.is_visible() for cell in further.all())
    assert wide.evaluate(shown)[0] > there
    page.locator("#digits-40-table").get_by_role("button", name="seconds", exact=True).press("Enter")
    values = column(page.locator("#digits-40-table"), page.locator("#digits-40-table thead th").count() - 1)
    assert values == sorted(values, key=float, reverse=True)
    wide.evaluate("table => { table.scrollLeft = table.scrollWidth; }")
    edge, last = wide.bounding_box(), further.last.bounding_box()
    assert last["x"] + last["width"] <= edge["x"] + edge["width"] + 1
    assert visit.complaints == []


def column(table, place):
    return table.locator("tbody tr").evaluate_all(f"rows => rows.map(row => row.children[{place}].dataset.value)")


def test_rows_are_filtered_by_text(visit):
    open_section(visit.page, "digits-40")
    field = visit.page.locator("#digits-40").get_by_label("Filter rows")
    rows = visit.page.locator("#digits-40-table tbody tr")
    everything = rows.count()
    field.fill("RAPS comp")
    assert visit.page.locator("#digits-40-table tbody tr:visible th").all_inner_texts() == ["ups-raps-complement"]
    assert f"1 of {everything} rows" in visit.page.locator("#digits-40 output").inner_text()
    field.fill("<script>")
    assert visit.page.locator("#digits-40-table tbody tr:visible").count() == 1
    field.fill("")
    assert visit.page.locator("#digits-40-table tbody tr:visible").count() == everything
    assert visit.complaints == []


def test_it_can_be_read_without_scripts(browser, report):
    visit = Visit(browser, report, java_script_enabled=False)
    assert visit.page.get_by_label("Filter rows").first.is_hidden()
    assert visit.page.locator("#digits-40-table tbody tr").count() == 10
    assert visit.page.locator(".matrix tbody tr").first.is_visible()
    assert visit.page.locator(".findings li").first.is_visible()
    visit.page.context.close()
