"""Colour, line style and marker ("look") of competitors: each method has the same look in all figures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from zlib import crc32

from gaussopt.plotting.colours import BLACK, CURVES

STYLES = ("-", "--", "-.", ":")
MARKERS = "osD^vP*Xph<>d8Hx"

METHODS = (
    "kkt", "osqp", "daqp", "newton", "lemke", "enumerate", "piqp", "clarabel", "proxqp", "quadprog", "highs", "scs",
    "pgs", "principal-pivoting", "sparse-kkt", "deap", "deap-cma", "cvxpy",
)  # fmt: skip
"""Names with a fixed look; any other name gets a look by the checksum of its letters."""

OTHERS = 14
"""Number of looks for names that are not in METHODS; `look` can distinguish these and those of METHODS."""


FORMS = {
    "quasi-velocit": 0, "tan row": 1, "printed row": 1, "regular row": 2,
    "eq. (16)": 1, "printed sign": 1, "program (29)": 1, "QP (29)": 1, "full coordinates": 3, "penalty": 3,
    "null-space": 4, "exact": 0, "Lagrange": 0, "LCP": 0, "contact laws": 0, "correct sign": 0,
}  # fmt: skip
"""Index in CURVES of the colour of each method of the papers, by words in labels; the first word found decides."""

STATISTICS = {"median": "-", "largest": "--", "least": ":"}
"""Line style of each statistic, by the last word of curve labels."""

REFERENCE = "reference"
"""The word that marks labels of reference curves, which are drawn in black."""


def forms(labels: Iterable[str]) -> list[dict[str, Any]]:
    """Return colour and line style of curves: a method has one colour in all figures; its curves differ in line style.

    A label that ends in a comma and a word of STATISTICS has the line style of this statistic.

    Curves of unknown methods get the remaining colours, in order.
    """
    told = list(labels)
    known = [_known(label) for label in told]
    left = [c for c in range(len(CURVES) - 1) if c not in known] or list(range(len(CURVES)))
    found: list[dict[str, Any]] = []
    others = 0
    for i, colour in enumerate(known):
        if colour is None:
            place, style = left[others % len(left)], i % 4
            others += 1
        else:
            place, style = colour, (colour + known[:i].count(colour)) % 4
        line = STATISTICS.get(told[i].rpartition(", ")[2], STYLES[style])
        found.append({"color": CURVES[place], "linestyle": line})
    return found


def _known(label: str) -> int | None:
    return next((colour for word, colour in FORMS.items() if word in label), None)


def points(labels: Iterable[str]) -> list[dict[str, Any]]:
    """Return colour and marker of points: those of methods have the method's colour, references and others are black.

    Points of the same colour differ in their markers.
    """
    found = []
    for i, label in enumerate(labels):
        place = None if REFERENCE in label else _known(label)
        found.append({"color": BLACK if place is None else CURVES[place], "marker": MARKERS[i]})
    return found


def look(place: int) -> dict[str, Any]:
    """Return colour, line style and marker of look number `place`.

    Any two of the first 32 looks differ in at least two of the three, so that even markers without lines differ.
    """
    style = (place + place // 8) % 4
    return {"color": CURVES[place % 8], "linestyle": STYLES[style], "marker": MARKERS[(place + 4 * (place // 16)) % 16]}


def places(names: Iterable[str]) -> dict[str, int]:
    """Return the number of the look of each method; the number is the same in all figures.

    If two names would have the same number, the name later in the alphabet gets the next free number.
    """
    known = {name: i for i, name in enumerate(METHODS)}
    found: dict[str, int] = {}
    for name in sorted(set(names), key=lambda name: (name not in known, name)):
        place = known.get(name, len(METHODS) + crc32(name.encode()) % OTHERS)
        while place in found.values():
            place += 1
        found[name] = place
    return found
