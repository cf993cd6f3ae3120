"""Velocity-level contact problems of few contacts in the plane, whose modes are all tried; for the kernels of steps.

In the unit of the mass norm, rows of contacts have the length 1, and w = B z + b. If every mode has positive pivots,
the determinants of all modes have one sign, so that the solution exists and is unique for every b.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaussopt.jit.kernel import inlined

if TYPE_CHECKING:
    from gaussopt.compiled.march.given import CODES, K
    from gaussopt.core.arrays import Vector

CLEAR = 1e-6
"""Smallest pivot, in the mass norm, that certainly exceeds rounding errors."""

LAWFUL = 1e-11
"""Relative residual of the laws that counts as a rounding error."""


@inlined
def natural(B: Vector, b: Vector, mu: Vector, active: Vector, z: Vector) -> float:
    """Return the largest entry of the natural map of the laws, relative to the largest entry of b."""
    worst, size = 0.0, 0.0
    for c in range(K):
        if active[c] > 0.0:
            normal, tangent = b[2 * c], b[2 * c + 1]
            size = max(size, max(abs(normal), abs(tangent)))
            for j in range(2 * K):
                normal += B[2 * c * 2 * K + j] * z[j]
                tangent += B[(2 * c + 1) * 2 * K + j] * z[j]
            bound = mu[c] * max(z[2 * c], 0.0)
            pushed = z[2 * c + 1] - min(max(z[2 * c + 1] - tangent, -bound), bound)
            # The sum of both keeps a NaN, which a maximum would lose.
            worst = max(worst, abs(min(z[2 * c], normal))) + 0.0 * normal
            worst = max(worst, abs(pushed)) + 0.0 * pushed
    return worst / size if size > 0.0 else worst


@inlined
def solve_mode(code: int, B: Vector, b: Vector, mu: Vector, T: Vector, z: Vector) -> float:
    """Write the forces z for given modes of all contacts; return the smallest pivot.

    Digit c of `code`, to base 4, is the mode of contact c: open, stick, slip along the tangent, slip against it.
    """
    width, rest = 2 * K + 1, code
    for c in range(K):
        mode = rest % 4
        rest = rest // 4
        for e in range(2):
            r = 2 * c + e
            moved = mode > 0 if e == 0 else mode == 1
            for j in range(2 * K):
                T[r * width + j] = B[r * 2 * K + j] if moved else 0.0
            T[r * width + 2 * K] = -b[r] if moved else 0.0
            if not moved:
                T[r * width + r] = 1.0
        if mode > 1:
            T[(2 * c + 1) * width + 2 * c] = mu[c] if mode == 2 else -mu[c]
    least = 1.0
    for i in range(2 * K):
        pivot = T[i * width + i]
        least = min(least, pivot)
        for a in range(i + 1, 2 * K):
            factor = T[a * width + i] / pivot
            for j in range(i + 1, width):
                T[a * width + j] -= factor * T[i * width + j]
    for e in range(2 * K):
        i = 2 * K - 1 - e
        value = T[i * width + 2 * K]
        for j in range(i + 1, 2 * K):
            value -= T[i * width + j] * z[j]
        z[i] = value / T[i * width + i]
    return least


@inlined
def possible(code: int, mu: Vector, active: Vector) -> bool:
    """Tell whether a contact that is not active is open in this mode, and one without friction has the mode 0 or 2."""
    rest, fits = code, True
    for c in range(K):
        mode = rest % 4
        rest = rest // 4
        if mode > 0 and active[c] == 0.0:
            fits = False
        if (mode == 1 or mode == 3) and not mu[c] > 0.0:
            fits = False
    return fits


@inlined
def best_mode(B: Vector, b: Vector, mu: Vector, active: Vector, T: Vector, z: Vector) -> int:
    """Return the code of the modes that best satisfy the laws; -1 if none does, or if some modes have a small pivot."""
    best, found = LAWFUL, -1
    for code in range(CODES):
        if possible(code, mu, active):
            if not solve_mode(code, B, b, mu, T, z) > CLEAR:
                return -1
            residual = natural(B, b, mu, active, z)
            if residual <= best and (found < 0 or residual < best):
                best, found = residual, code
    return found
