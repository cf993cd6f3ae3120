"""How competitors look: one colour, line and marker for each method in all figures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from zlib import crc32

from gaussopt.plotting.colours import CURVES

STYLES = ("-", "--", "-.", ":")
MARKERS = "osD^vP*Xph<>d8HP"

METHODS = (
    "kkt", "osqp", "daqp", "newton", "lemke", "enumerate", "piqp", "clarabel", "proxqp", "quadprog", "highs", "scs",
    "pgs", "principal-pivoting", "sparse-kkt", "deap", "deap-cma", "cvxpy",
)  # fmt: skip
"""Names that have a place of their own; that of another follows from its letters."""

OTHERS = 14
"""Places behind those of METHODS; together no more than `look` tells apart."""


def look(place: int) -> dict[str, Any]:
    """Colour, line and marker of the `place`-th competitor; the first 32 differ from each other in at least two."""
    style = (place + place // 8) % 4
    return {"color": CURVES[place % 8], "linestyle": STYLES[style], "marker": MARKERS[place % 16]}


def places(names: Iterable[str]) -> dict[str, int]:
    """The place of each method, for `look`: the same in all figures.

    Where two would share one, the later in the alphabet takes the next free place.
    """
    known = {name: i for i, name in enumerate(METHODS)}
    found: dict[str, int] = {}
    for name in sorted(set(names), key=lambda name: (name not in known, name)):
        place = known.get(name, len(METHODS) + crc32(name.encode()) % OTHERS)
        while place in found.values():
            place += 1
        found[name] = place
    return found
