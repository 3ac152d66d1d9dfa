"""Colours, markers and dashes of figures, for light and dark pages. Series never differ by colour alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

#: The named fonts have equal widths. The padding below leaves room for a wider one where none is installed.
FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"
#: Vega's markers, as outlines in a square of ten for the page's own legend.
SHAPES = {
    "circle": "M0 5a5 5 0 1 0 10 0a5 5 0 1 0-10 0z",
    "square": "M.5.5h9v9h-9z",
    "triangle-up": "M5 .5L10 9.5H0z",
    "diamond": "M5 0L9 5L5 10L1 5z",
    "triangle-down": "M5 9.5L10 .5H0z",
    "cross": "M3.3 0h3.4v3.3H10v3.4H6.7V10H3.3V6.7H0V3.3h3.3z",
    "triangle-right": "M9.5 5L.5 10V0z",
}
DASHES = ((1, 0), (6, 2), (2, 2), (8, 2, 2, 2), (4, 4))


@dataclass(frozen=True)
class Theme:
    """Colours of a page's figures. ``palette`` is Okabe and Ito's, safe for colour-blind readers, with grey for yellow
    and three of Tol's.

    The palette of the dark page is lighter throughout, with white in place of black.
    """

    background: str
    ink: str
    faint: str
    palette: tuple[str, ...]

    def config(self) -> dict[str, Any]:
        """The theme as a configuration of Vega-Lite."""
        text = {"labelColor": self.ink, "titleColor": self.ink, "labelFontSize": 11, "titleFontSize": 12}
        return {
            "background": self.background,
            "font": FONT,
            "lineBreak": "\n",
            "padding": {"left": 26, "top": 6, "right": 10, "bottom": 6},
            "view": {"stroke": None},
            "axis": {
                **text,
                "titleFontWeight": "normal",
                "labelLimit": 190,
                "labelFlush": False,  # every label stands at its tick, the first and the last too
                "gridColor": self.faint,
                "domainColor": self.ink,
                "tickColor": self.ink,
            },
            "legend": {
                **text,
                "labelLimit": 190,
                "title": None,
                "orient": "bottom",
                "columns": 2,
                "columnPadding": 34,
                "symbolSize": 60,
                "symbolOpacity": 1,
                "symbolStrokeWidth": 0,
            },
            "header": {**text, "labelFontWeight": "bold", "labelLimit": 170},
            "text": {"color": self.ink},
            "mark": {"tooltip": {"content": "data"}},
        }

    def colours(self, styles: Iterable[int]) -> list[str]:
        """Colours of series with these styles."""
        return [self.palette[style % len(self.palette)] for style in styles]


LIGHT = Theme(
    "#ffffff",
    "#1b1f24",
    "#e3e6ea",
    (
        *("#6e7781", "#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7"),
        *("#e69f00", "#56b4e9", "#882255", "#8c8c00", "#5b3fb5"),
    ),
)
DARK = Theme(
    "#15191e",
    "#e6e9ed",
    "#343b44",
    (
        *("#98a2ad", "#ffffff", "#3d9fdc", "#e8742c", "#1fb389", "#d68fb6"),
        *("#f0b429", "#93d2f5", "#d15b8f", "#c9c94a", "#a48cf2"),
    ),
)


def shapes(styles: Iterable[int]) -> list[str]:
    """Markers of series with these styles. Eleven colours and seven markers: 77 styles that no other has."""
    names = list(SHAPES)
    return [names[style % len(names)] for style in styles]


def dashes(styles: Iterable[int]) -> list[list[int]]:
    """Dash patterns of series with these styles."""
    return [list(DASHES[style % len(DASHES)]) for style in styles]
