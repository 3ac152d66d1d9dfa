"""Numbers in the text of the results are numbers that a command printed from the records."""

from __future__ import annotations

import csv
import re
from decimal import Decimal
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "results").glob("*.md"))]

MADE = re.compile(r"<!-- bench .*?<!-- end -->", re.DOTALL)
#: Code, and the targets of links: neither states a result.
UNSAID = re.compile(r"^```.*?^```$|`[^`]*`|\]\([^)]*\)", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([\w./-]+\.md)(?:#[\w-]+)?\)")
#: With decimals: a whole number may be a count of anything.
NUMBER = re.compile(r"(?<![\w.])\d+\.\d+")


def printed(page: Path) -> set[Decimal]:
    """The numbers in what commands made on a page."""
    return {Decimal(found) for block in MADE.findall(page.read_text("utf-8")) for found in NUMBER.findall(block)}


def published() -> set[Decimal]:
    with (ROOT / "baselines" / "published.csv").open(encoding="utf-8", newline="") as file:
        return {Decimal(field) for row in csv.reader(file) for field in row if NUMBER.fullmatch(field)}


def says(number: Decimal, source: Decimal) -> bool:
    """Whether a number is another one, or rounds it once; of shares, also what the other lacks of 100."""
    unit = Decimal(1).scaleb(int(number.as_tuple().exponent))
    off = min(abs(number - value) for value in (source, 100 - source))
    return off == 0 or (off * 2 <= unit and source.as_tuple().exponent < number.as_tuple().exponent)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_numbers_in_the_text_were_printed_by_a_command(page):
    """On the page itself or on one that it links to."""
    text = MADE.sub("", page.read_text("utf-8"))
    near = {page, *((page.parent / link).resolve() for link in LINK.findall(text))}
    known = set().union(published(), *(printed(each) for each in near))
    found = [Decimal(number) for number in NUMBER.findall(UNSAID.sub("", text))]
    assert [number for number in found if not any(says(number, of) for of in known)] == []
