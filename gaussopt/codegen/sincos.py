"""Sine and cosine without branches or calls, so that the compiler can vectorise a loop over many motions.

x = k pi/2 + r with |r| <= pi/4, where pi/2 is the sum of three parts, the first two of 33 bits, so that k times each is
exact below `LARGEST`. Sine and cosine of r are polynomials, fitted to errors below a tenth of a unit in the last place.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import mpmath

LARGEST = 2.0**20
"""Argument, rad, above which the range reduction loses digits."""

BITS = 33

TERMS = 6
"""Number of coefficients of each polynomial after the leading terms r and 1 - r^2/2."""


def _parts() -> tuple[float, float, float]:
    """Return three floats whose sum is pi/2; the first two have 33 bits."""
    with mpmath.workprec(200):
        rest = mpmath.pi / 2
        found = []
        for _ in range(2):
            exponent = int(mpmath.floor(mpmath.log(rest, 2)))
            scale = mpmath.mpf(2) ** (BITS - 1 - exponent)
            part = mpmath.floor(rest * scale) / scale
            found.append(float(part))
            rest -= part
        return found[0], found[1], float(rest)


def _sine(z: Any) -> Any:
    """Return (sin r / r - 1) / z at z = r^2."""
    r = mpmath.sqrt(z)
    return (mpmath.sin(r) / r - 1) / z


def _cosine(z: Any) -> Any:
    """Return (cos r - 1 + z / 2) / z^2 at z = r^2."""
    return (mpmath.cos(mpmath.sqrt(z)) - 1 + z / 2) / z**2


@cache
def _polynomial(function: Callable[[Any], Any]) -> str:
    """Return the source, in Horner's form, of a polynomial in z that approximates `function` on [0, (pi/4)^2]."""
    with mpmath.workprec(200):
        # The interval is slightly longer because rounding may leave r above pi/4; no node lies at 0, where 0/0 arises.
        terms = [float(c) for c in mpmath.chebyfit(function, [0, (mpmath.pi / 4) ** 2 * 1.001], TERMS)]
    text = repr(terms[0])
    for c in terms[1:]:
        text = f"{c!r} + z*({text})"
    return text


def sine_cosine() -> str:
    """Return the source of the function `sine_cosine(x)`, which returns sine and cosine."""
    first, second, third = _parts()
    return f'''def sine_cosine(x: float) -> tuple:
    """Sine and cosine of an angle below {LARGEST:g} rad."""
    n = floor(x*{2 / float(mpmath.pi)!r} + 0.5)
    r = ((x - n*{first!r}) - n*{second!r}) - n*{third!r}
    z = r*r
    s = r + r*z*({_polynomial(_sine)})
    c = 1.0 - 0.5*z + z*z*({_polynomial(_cosine)})
    k = int32(n)
    sine = c if (k & 1) != 0 else s
    cosine = s if (k & 1) != 0 else c
    return -sine if (k & 2) != 0 else sine, -cosine if ((k + 1) & 2) != 0 else cosine'''
