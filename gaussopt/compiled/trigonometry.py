"""Sine and cosine without branches or calls, so that a loop over many motions becomes SIMD code.

x = n pi/2 + r with |r| <= pi/4, pi/2 in three parts of which the first two have 33 bits, so that n times each is exact
below `LARGEST`; then Taylor's polynomials, whose remainders are below half a unit in the last place.
"""

from __future__ import annotations

from math import factorial

import mpmath

LARGEST = 2.0**20
"""Arguments beyond which the reduction loses digits, rad."""

BITS = 33


def _parts() -> tuple[float, float, float]:
    """pi/2 as a sum of three floats."""
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


def _horner(powers: range, z: str) -> str:
    """Sum of (-1)^k z^k x^(p - p_0) / p! over the powers p, as nested source."""
    terms = [(-1.0) ** (p // 2) / factorial(p) for p in powers]
    text = repr(terms[-1])
    for c in reversed(terms[:-1]):
        text = f"{c!r} + {z}*({text})"
    return text


def sine_cosine(x: str, sine: str, cosine: str) -> list[str]:
    """Lines that assign sin(x) and cos(x); `x` is a name or a literal."""
    first, second, third = _parts()
    n, r, z, s, c = (f"{sine}_{letter}" for letter in "nrzsc")
    odd, half, quarter = f"{n} - 2.0*floor({n}*0.5)", f"{n} - 4.0*floor({n}*0.25)", f"{n} + 1.0"
    return [
        f"{n} = floor({x}*{2 / float(mpmath.pi)!r} + 0.5)",
        f"{r} = (({x} - {n}*{first!r}) - {n}*{second!r}) - {n}*{third!r}",
        f"{z} = {r}*{r}",
        f"{s} = {r} + {r}*{z}*({_horner(range(3, 17, 2), z)})",
        f"{c} = 1.0 - 0.5*{z} + {z}*{z}*({_horner(range(4, 18, 2), z)})",
        f"{sine} = {c} if {odd} != 0.0 else {s}",
        f"{cosine} = {s} if {odd} != 0.0 else {c}",
        f"{sine} = -{sine} if {half} >= 2.0 else {sine}",
        f"{cosine} = -{cosine} if {quarter} - 4.0*floor(({quarter})*0.25) >= 2.0 else {cosine}",
    ]
