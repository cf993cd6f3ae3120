"""SVG pictures for a page: made compact, and as elements or data URIs."""

from __future__ import annotations

import re
import urllib.parse

from markupsafe import Markup

_COORDINATES = re.compile(r' (d|x|y|points)="([^"]*)"')
_ALONE = re.compile(r"<g>\n(<(?:path|use|image)\b[^>]*/>)\n</g>")
_LONG = re.compile(r"-?\d+\.\d{3,}")
_UNSAFE = re.compile(r"[^\w !$&'()*+,\-./:;<=>?@\[\]~]+", re.ASCII)


def compact(svg: str) -> str:
    """Return a picture in fewer bytes: coordinates rounded to 0.01; no metadata, group ids or one-element groups."""

    def short(found: re.Match[str]) -> str:
        return number(float(found[0]), 2)

    svg = re.sub(r"\s*<metadata>.*?</metadata>|\s*<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r'<g id="[^"]*"', "<g", svg)
    svg = _COORDINATES.sub(lambda m: f' {m[1]}="{_LONG.sub(short, " ".join(m[2].split()))}"', svg)
    svg = re.sub(r"\n\s+", "\n", svg)
    found = 1
    while found:
        svg, found = _ALONE.subn(r"\1", svg)
    return svg


def number(value: float, digits: int = 1) -> str:
    """Format a number with at most `digits` decimals, without trailing zeros."""
    text = f"{value:.{digits}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def element(svg: str) -> str:
    """Return the <svg> element alone, without XML declaration and document type."""
    return svg[svg.find("<svg") :].strip()


def inline(svg: str, name: str) -> str:
    """Return a picture for use within a page; raises ValueError if it has ids, which may clash, or active content."""
    found = element(svg)
    forbidden = re.search(r"\s(id|on\w+|href|xlink:href)\s*=|<(script|style|image|foreignObject|a)\b", found)
    if forbidden:
        raise ValueError(f"The animation {name} contains {forbidden[0].strip()!r}; draw it with plain shapes only.")
    return found


def encoded(text: str) -> str:
    """Encode a part of a picture for a data URI; ampersands are left for `data_uri` to escape."""
    return _UNSAFE.sub(lambda found: urllib.parse.quote(found[0]), text.replace('"', "'"))


def data_uri(svg: str) -> Markup:
    """Return a picture as a data URI for a double-quoted attribute, where its ids cannot clash with others."""
    address = "data:image/svg+xml," + encoded(element(svg).replace(">\n<", "><").replace("\n", " "))
    # Of the remaining characters only the ampersand has a meaning in HTML; escaping quotes would add a tenth of bytes.
    return Markup(address.replace("&", "&amp;"))


def size(svg: str) -> tuple[int, int] | None:
    """Return the width and height of a drawing in CSS pixels, rounded; None if the drawing does not state them."""
    box = re.search(r'viewBox="\s*[-\d.]+[\s,]+[-\d.]+[\s,]+([\d.]+)[\s,]+([\d.]+)\s*"', svg)
    if box is None:
        return None
    unit = 4 / 3 if re.search(r'<svg[^>]*\swidth="[\d.]+pt"', svg) else 1.0
    return round(unit * float(box[1])), round(unit * float(box[2]))
