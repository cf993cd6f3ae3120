"""Pictures made small, and put into a page."""

from __future__ import annotations

import html
import re
import urllib.parse
from xml.etree import ElementTree

import pytest
from report_pages import MOVING, figure

from gaussopt.plotting import svg

LONG = """<?xml version="1.0"?>
<svg xmlns="http://www.w3.org/2000/svg" width="72pt" height="36pt" viewBox="0 0 72 36">
 <metadata>
  <who>me</who>
 </metadata>
 <!-- a curve -->
 <g id="line_1">
  <path id="p" d="M 1.23456 -0.001
L 2.5 1000.009
"/>
 </g>
</svg>
"""


def test_compact_keeps_the_picture() -> None:
    small = svg.compact(LONG)
    assert 'd="M 1.23 0 L 2.5 1000.01"' in small
    assert "metadata" not in small
    assert "line_1" not in small
    assert 'id="p"' in small
    assert small.startswith("<?xml")
    assert svg.compact(small) == small
    ElementTree.fromstring(small)


def test_a_picture_of_matplotlib_is_drawn_to_a_hundredth_of_a_point() -> None:
    text = figure("f").svg
    ElementTree.fromstring(text)
    assert re.findall(r' d="[^"]*\.\d{3}', text) == []


def test_an_address_holds_the_picture() -> None:
    address = html.unescape(svg.data_uri(LONG.replace("M 1", "M 1&#32;")))
    text = urllib.parse.unquote(address.removeprefix("data:image/svg+xml,"))
    assert ElementTree.fromstring(text).get("viewBox") == "0 0 72 36"
    assert not set('"#\n') & set(address)


def test_size_is_in_pixels() -> None:
    assert svg.size(LONG) == (96, 48)
    assert svg.size('<svg viewBox="0 0 200 80.4"/>') == (200, 80)
    assert svg.size("<svg/>") is None


@pytest.mark.parametrize("part", ['<g id="a"/>', "<script>x</script>", '<g onclick="x"/>', '<a href="x"/>'])
def test_only_drawings_become_parts_of_the_page(part: str) -> None:
    assert svg.inline(MOVING, "m") == MOVING
    with pytest.raises(ValueError, match="animation m"):
        svg.inline(MOVING.replace("</svg>", f"{part}</svg>"), "m")
