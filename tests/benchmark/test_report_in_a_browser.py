"""The report in a real browser: Debian's Chromium, driven by playwright."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

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


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Real records of two datasets, and a method whose name would be markup if it could."""
    folder = tmp_path_factory.mktemp("report")
    for seed in (0, 1):
        for path in [
            *RESULTS.glob(f"digits/*-s{seed}-*.json"),
            *RESULTS.glob(f"cifar10-head/cifar10-1000-*-s{seed}-*.json"),
        ]:
            shutil.copy(path, folder)
        path = next(RESULTS.glob(f"digits/*-ups-raps-s{seed}-*.json"))
        record = json.loads(path.read_text())
        record["spec"]["method"] = HOSTILE
        record["run_id"] += "-hostile"
        (folder / f"hostile-{seed}.json").write_text(json.dumps(record))
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
    for summary in page.locator("summary").all():  # and with all that can be opened open
        summary.click()
    widths = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert widths[0] <= widths[1]
    assert [url for url in visit.requests if not url.startswith("data:")] == [report.as_uri()]
    assert visit.complaints == []


def test_every_plot_is_drawn_in_the_colours_of_the_page(visit):
    pictures = visit.page.locator("figure img")
    assert pictures.count() == 2 * (len(FIGURES) - 1)  # of accuracy or of mAP
    drawn = pictures.evaluate_all(
        """images => Promise.all(images.map(async image => {
            await image.decode();
            const canvas = Object.assign(document.createElement("canvas"), {width: 1, height: 1});
            canvas.getContext("2d").drawImage(image, 0, 0);
            const corner = canvas.getContext("2d").getImageData(0, 0, 1, 1).data;
            const card = getComputedStyle(image.closest("figure")).backgroundColor.match(/\\d+/g).map(Number);
            return [image.naturalWidth, image.getBoundingClientRect().width, [...corner].slice(0, 3), card.slice(0, 3)];
        }))"""
    )
    for natural, shown, corner, card in drawn:
        assert natural > 250
        assert shown > 250
        assert corner == card


def test_columns_sort_both_ways_and_what_has_no_value_stays_last(visit):
    table = visit.page.locator("#digits-40-table")
    heads = table.locator("thead th").all_inner_texts()
    place = heads.index("accuracy")
    table.get_by_role("button", name="accuracy", exact=True).click()
    assert column(table, place) == sorted(column(table, place), key=float, reverse=True)
    assert table.locator("th[aria-sort=descending]").inner_text().strip() == "accuracy"
    table.get_by_role("button", name="accuracy", exact=True).click()
    assert column(table, place) == sorted(column(table, place), key=float)
    place = heads.index("coverage")
    for _ in range(2):
        table.get_by_role("button", name="coverage", exact=True).click()
        values = column(table, place)
        known = [value for value in values if value]
        assert 1 < len(known) < len(values)
        assert values == [*known, *[""] * (len(values) - len(known))]
    table.get_by_role("button", name="method", exact=True).click()
    assert column(table, 0)[:2] == [HOSTILE, "curriculum"]


def test_further_columns_are_shown_on_request_and_the_usual_ones_fit(visit):
    page = visit.page
    wide = page.locator(".wide:has(#digits-40-table)")
    shown = "table => [table.scrollWidth, table.clientWidth]"
    needed, there = wide.evaluate(shown)
    assert needed == there or page.viewport_size["width"] < 1280
    further = page.locator("#digits-40-table .further")
    assert further.count() > 0
    assert not further.first.is_visible()
    page.get_by_label("more columns").nth(1).check()
    assert all(cell.is_visible() for cell in further.all())
    assert wide.evaluate(shown)[0] > there
    page.locator("#digits-40-table").get_by_role("button", name="seconds", exact=True).click()
    values = column(page.locator("#digits-40-table"), page.locator("#digits-40-table thead th").count() - 1)
    assert values == sorted(values, key=float, reverse=True)
    wide.evaluate("table => { table.scrollLeft = table.scrollWidth; }")
    edge, last = wide.bounding_box(), further.last.bounding_box()
    assert last["x"] + last["width"] <= edge["x"] + edge["width"] + 1
    assert visit.complaints == []


def column(table, place):
    return table.locator("tbody tr").evaluate_all(f"rows => rows.map(row => row.children[{place}].dataset.value)")


def test_rows_are_filtered_by_text(visit):
    field = visit.page.get_by_label("Filter rows").nth(1)
    rows = visit.page.locator("#digits-40-table tbody tr")
    everything = rows.count()
    field.fill("RAPS comp")
    assert visit.page.locator("#digits-40-table tbody tr:visible th").all_inner_texts() == ["ups-raps-complement"]
    assert f"1 of {everything} rows" in visit.page.locator("output").nth(1).inner_text()
    field.fill("<script>")
    assert visit.page.locator("#digits-40-table tbody tr:visible").count() == 1
    field.fill("")
    assert visit.page.locator("#digits-40-table tbody tr:visible").count() == everything
    assert visit.complaints == []


def test_it_can_be_read_without_scripts(browser, report):
    visit = Visit(browser, report, java_script_enabled=False)
    assert visit.page.get_by_label("Filter rows").first.is_hidden()
    assert visit.page.locator("#digits-40-table tbody tr").count() == 10
    assert visit.page.locator("figure img").first.is_visible()
    visit.page.context.close()
