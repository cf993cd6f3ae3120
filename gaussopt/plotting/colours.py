"""The common palette of all pictures: curves, maps and drawings of mechanisms.

Colour-blind readers can distinguish these colours of Okabe and Ito. `html/templates/report.css` has the pages' colours.
"""

from __future__ import annotations

BLUE, RED, GREEN, PINK, SKY, YELLOW = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00"
BLACK, GREY, LIGHT, WHITE = "#000000", "#7f7f7f", "#f0f0f0", "#fff"

CURVES = (BLUE, RED, GREEN, PINK, SKY, YELLOW, BLACK, GREY)
"""Colours of curves, bars and boxes, in this order."""

CLASSES = (LIGHT, BLUE, RED, BLACK, PINK, YELLOW, SKY, GREEN)
"""Colours of the classes of a map; the first class, that of regular points, is light."""

CLASS_NAMES = ("light grey", "blue", "red-orange", "black", "pink", "yellow-orange", "sky blue", "green")
"""The colours of CLASSES in words, for texts about a map."""

COLOUR_MAP = "cividis"
"""Name of matplotlib's colour map for numbers."""

CONTOUR = RED
RIM = "#595959"
"""Colour of the edges of legend patches."""

INK, PALE, BODY, EDGE = "#1d2733", "#8a949e", "#dfe9f2", "#33475b"
"""Colours in drawings of mechanisms: symbols and lines, auxiliary lines, bodies and their edges."""

NORMAL, FRICTION, PATH = "#c44a00", BLUE, "#00795a"
"""Colours of normal forces, friction and paths, dark enough for thin lines."""

OTHER, OTHER_BODY = "#8f3f73", "#f6e6ef"
"""Colours of a second motion in the same picture."""

RULE, FIELD = "#d5dbe0", "#f2f6f9"
"""Colours of frames and buttons on pages with an animation."""

LOAD, AXIS = "#9c2f00", "#56616c"
"""Colours of applied forces and torques, and of axis labels."""


def mixed(colour: str, share: float, ground: str = "#ffffff") -> str:
    """Return a colour laid over another, all as #rrggbb; `share` is its opacity, from 0 to 1."""
    pairs = [(int(colour[i : i + 2], 16), int(ground[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(g + share * (c - g)):02x}" for c, g in pairs)
