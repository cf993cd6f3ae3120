"""Texts of a report as HTML and Markdown: formulas become MathML, everything else is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby
from typing import Literal
from xml.etree import ElementTree

from markupsafe import Markup, escape

from gaussopt.reporting.document import Formula, Link, Tex, typeset
from gaussopt.reporting.references import REFERENCE, References

_INLINE = re.compile(r"(?<!\\)\$(?=\S)((?:[^$\\]|\\.)+?)(?<=\S)\$")

_ELEMENTS = re.compile(
    r"math|mrow|mi|mn|mo|mtext|mspace|msup|msub|msubsup|mfrac|msqrt|mroot|mover|munder|munderover|mtable|mtr|mtd|"
    r"mstyle|mpadded|mphantom"
)
_ATTRIBUTES = re.compile(
    r"accent(under)?|column(align|spacing)|depth|displaystyle|fence|form|height|largeop|linethickness|[lr]space|"
    r"mathvariant|(max|min)size|movablelimits|rowspacing|scriptlevel|separator|stretchy|symmetric|voffset|width"
)
"""Attributes allowed in MathML: no links, no styles, no scripts."""

_RELATIONS = frozenset("=<>≤≥≈≠≡∈→⇒⇔≪≫∼∝⟂:,;")
"""Relations after which a long formula within text may be broken; browsers do not break MathML themselves."""

_SMALL_OR_LARGE = re.compile(r"((?:(?<![\w.)\]-])-)?(?<![\w.])\d+(?:\.\d+)?)e([-+]?\d+)(?!\w)")
"""Pattern of a number with an exponent; its groups are the mantissa and the exponent."""

_LIMITS = ("min", "max", "inf", "sup", "lim")
"""Operators whose bounds are below them in a displayed formula."""

_THIN, _THICK = "0.167em", "0.278em"

_ROWS = ("math", "mrow", "mstyle", "msqrt", "mtd")
"""Elements whose children form a row."""

_RELATION_NAMES = ("⟂", "∥", "∣")
"""Relations that latex2mathml returns as identifiers instead of operators."""

_LONG = 18
"""Length in characters below which formulas are not broken."""

_MARKDOWN = re.compile(r"([\\`*_\[\]<>|$~&#])")


def html(text: object, references: References | None = None) -> Markup:
    """Write a text or link as HTML; only a `Tex` can have formulas, and an invalid formula is shown as typed.

    Without `references` links lead to anchors of the same page, and references in a text stay unchanged.
    """
    if isinstance(text, Link):
        address = references.address(text.anchor) if references else f"#{text.anchor}"
        return Markup('<a href="{}">{}</a>').format(address, typeset(text.text))
    if not isinstance(text, Tex):
        return escape(typeset(str(text)))
    return Markup("").join(_part(kind, part, references) for kind, part in _parts(text, references))


def _part(kind: Kind, part: str, references: References | None) -> Markup:
    if kind == "formula":
        pieces = _pieces(part, displayed=False)
        return Markup('<code class="tex">{}</code>').format(part) if pieces is None else Markup("".join(pieces))
    if kind == "text" or references is None:
        return escape(typeset(part))
    if not references.has(part):
        return escape(references.words(part))
    return Markup('<a href="{}">{}</a>').format(references.address(part), references.words(part))


def has_formulas(text: object) -> bool:
    """Return whether a part of the text becomes MathML."""
    return isinstance(text, Tex) and _INLINE.search(text) is not None


def display(formula: Formula) -> Markup:
    """Write a displayed formula, in pieces for narrow screens; if it is malformed, write its plain text."""
    pieces = _pieces(formula.latex, displayed=True)
    return escape(formula.text) if pieces is None else Markup("\n").join(map(Markup, pieces))


def malformed(latex: str) -> bool:
    """Return whether a formula cannot be shown as MathML."""
    return _pieces(latex, displayed=False) is None


Kind = Literal["text", "formula", "reference"]


def _parts(text: str, references: References | None) -> Iterator[tuple[Kind, str]]:
    """Yield the kind of each part of a text with its content: plain text, LaTeX, or the anchor that it refers to."""
    end = 0
    for match in _INLINE.finditer(text):
        yield from _plain_parts(text[end : match.start()], references)
        yield "formula", match[1]
        end = match.end()
    yield from _plain_parts(text[end:], references)


def _plain_parts(text: str, references: References | None) -> Iterator[tuple[Kind, str]]:
    """Yield the parts of a text without formulas; after the split, words and anchors of references alternate."""
    for j, part in enumerate(REFERENCE.split(text) if references else [text]):
        if j % 2:
            yield "reference", part
            continue
        # A number with an exponent becomes a power of ten, as in sentences.
        words, *found = _SMALL_OR_LARGE.split(part.replace("\\$", "$"))
        yield "text", words
        for mantissa, exponent, behind in zip(found[::3], found[1::3], found[2::3], strict=True):
            factor = "" if mantissa == "1" else rf"{mantissa}\cdot "
            yield "formula", f"{factor}10^{{{int(exponent)}}}"
            yield "text", behind


@lru_cache(maxsize=4096)
def _pieces(latex: str, *, displayed: bool) -> tuple[str, ...] | None:
    """Return the MathML of a formula, cut where lines may break; None if it is malformed."""
    root = _tree(latex, displayed)
    if root is None:
        return None
    row = root[0] if len(root) == 1 and root[0].tag == "mrow" else root
    cut = _between if displayed else _behind_relations
    style = ' displaystyle="true"' if displayed else ""
    return tuple(
        f"<math{style}>{''.join(ElementTree.tostring(e, encoding='unicode') for e in piece)}</math>"
        for piece in cut(list(row))
        if piece
    )


def _between(children: list[ElementTree.Element]) -> list[list[ElementTree.Element]]:
    """Split the elements of a formula at wide spaces, and drop the spaces."""

    def wide(element: ElementTree.Element) -> bool:
        width = element.get("width", "")
        return element.tag == "mspace" and width.endswith("em") and float(width.removesuffix("em")) >= 1

    return [list(piece) for dropped, piece in groupby(children, wide) if not dropped]


def _behind_relations(children: list[ElementTree.Element]) -> list[list[ElementTree.Element]]:
    if sum(len("".join(c.itertext())) for c in children) <= _LONG:
        return [children]
    pieces: list[list[ElementTree.Element]] = [[]]
    depth = 0
    for child in children:
        text = child.text if child.tag == "mo" else None
        depth += (text in ("(", "[", "{")) - (text in (")", "]", "}"))
        pieces[-1].append(child)
        if text in _RELATIONS and depth == 0:
            pieces.append([])
    return pieces


def _tree(latex: str, displayed: bool) -> ElementTree.Element | None:
    """Convert LaTeX by latex2mathml; return None if the result is not pure MathML."""
    from latex2mathml.converter import convert

    if not _balanced(latex):
        return None
    try:
        # The converter raises errors of many types, such as IndexError, and does not escape text.
        text = convert(latex, display="block" if displayed else "inline")
        root = ElementTree.fromstring(text.replace(' xmlns="http://www.w3.org/1998/Math/MathML"', "", 1))
    except Exception:
        return None
    root.attrib.clear()
    for element in root.iter():
        unread = (element.text or "").startswith("\\")  # an unknown LaTeX command
        _script(element)
        known = _ELEMENTS.fullmatch(element.tag) and all(map(_ATTRIBUTES.fullmatch, element.attrib))
        if unread or not known:
            return None
        if element.tag == "mo" and len(element.text or "") > 1 and (element.text or "").isalpha():
            element.tag = "mi"
    for element in list(root.iter()):
        if displayed and element.tag == "msub" and element[0].text in _LIMITS:
            element.tag = "munder"
        if element.tag in _ROWS:
            _space(element)
    return root


def _script(element: ElementTree.Element) -> None:
    """Replace a script letter by the Unicode character for it, since Chromium ignores the attribute mathvariant."""
    letter = element.text or "-"  # the converter itself replaces the other capital letters
    if element.attrib.get("mathvariant") == "script" and letter in "ACDGJKNOPQSTUVWXYZ":
        element.text = chr(0x1D49C + ord(letter) - ord("A"))
        del element.attrib["mathvariant"]


def _space(parent: ElementTree.Element) -> None:
    """Set the space around operators and function names as TeX does; MathML alone would treat both alike."""
    children = list(parent)
    for before, child in zip((None, *children), children, strict=False):
        if child.tag == "mi" and child.text in _RELATION_NAMES:
            child.tag = "mo"
            child.attrib.update(lspace=_THICK, rspace=_THICK)
        elif child.tag == "mo" and child.text == "/":
            child.attrib.update(lspace="0", rspace="0")
        elif child.tag == "mo" and child.text in ("−", "+") and _opens(before):
            child.attrib.update(form="prefix", lspace="0", rspace="0")
    for j in reversed(range(len(children))):
        if not _is_function(children[j]):
            continue
        if j + 1 < len(children) and not _bounds(children[j + 1]):
            parent.insert(j + 1, ElementTree.Element("mspace", width=_THIN))
        if j > 0 and not _bounds(children[j - 1]):
            parent.insert(j, ElementTree.Element("mspace", width=_THIN))


def _bounds(element: ElementTree.Element) -> bool:
    """Return whether an element needs no space next to it: it is an operator, a parenthesis, or a space."""
    return element.tag in ("mo", "mspace") or (element.tag == "mrow" and len(element) > 0 and element[0].tag == "mo")


def _opens(before: ElementTree.Element | None) -> bool:
    """Return whether a sign that follows the element `before` is a prefix (as in -x) and not a binary operator."""
    return before is None or before.tag == "mspace" or (before.tag == "mo" and before.text not in (")", "]", "}", "!"))


def _is_function(element: ElementTree.Element) -> bool:
    """Return whether an element is an upright name, such as sin or min, with or without indices."""
    if element.tag in ("msub", "msup", "msubsup", "munder"):
        return _is_function(element[0])
    return element.tag == "mi" and len(element.text or "") > 1 and (element.text or "").isalpha()


def _balanced(latex: str) -> bool:
    depth = 0
    for brace in re.findall(r"\\.|[{}]", latex):
        depth += {"{": 1, "}": -1}.get(brace, 0)
        if depth < 0:
            return False
    return depth == 0


def markdown(text: object, references: References | None = None) -> str:
    """Write a text or link as one line of Markdown; formulas stay between dollar signs, made safe for tables."""
    if isinstance(text, Link):
        return f"[{_plain(text.text)}]({references.address(text.anchor) if references else f'#{text.anchor}'})"
    if not isinstance(text, Tex):
        return _plain(str(text))
    return "".join(_markdown_part(kind, part, references) for kind, part in _parts(text, references))


def _markdown_part(kind: Kind, part: str, references: References | None) -> str:
    if kind == "formula":
        return f"`{part}`" if malformed(part) else f"${portable(part)}$"
    if kind == "text" or references is None:
        return _plain(part)
    words = _plain(references.words(part))
    return f"[{words}]({references.address(part)})" if references.has(part) else words


def portable(latex: str) -> str:
    """Return LaTeX without the characters that Markdown and HTML interpret first."""
    latex = re.sub(r"\\\|", r"\\Vert ", latex)
    for character, command in (("|", r"\vert "), ("<", r"\lt "), (">", r"\gt ")):
        latex = latex.replace(character, command)
    return " ".join(latex.split())


def _plain(text: str) -> str:
    line = _MARKDOWN.sub(r"\\\1", typeset(" ".join(text.split()) if "\n" in text else text))
    # Escape a start of the line that Markdown would take for a list item.
    return re.sub(r"^(\s*)([-+])(?=\s)|^(\s*\d+)([.)])(?=\s)", lambda m: f"{m[1] or m[3] or ''}\\{m[2] or m[4]}", line)
