"""Real records to report on, and reading the pages that are made of them."""

from __future__ import annotations

import html
import json
import re
from html.parser import HTMLParser
from pathlib import Path

ROOT = Path(__file__).parents[2]
HOSTILE = "<script>alert(1)</script>"


def put(folder, *some):
    folder.mkdir(parents=True, exist_ok=True)
    for record in some:
        (folder / f"{len(list(folder.iterdir()))}.json").write_text(json.dumps(record))


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


TABLE = re.compile(r"<table class=.summary sortable. id=.*?</table>", re.DOTALL)


def summary(path):
    """The rows of the first section's table: texts by heading."""
    table = TABLE.search(path.read_text(encoding="utf-8"))[0]
    cells = [
        [html.unescape(re.sub(r"<.*?>", "", cell)) for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)]
        for row in re.split(r"<tr\b.*?>", table)[1:]
    ]
    return [dict(zip(cells[0], row, strict=True)) for row in cells[1:]]
