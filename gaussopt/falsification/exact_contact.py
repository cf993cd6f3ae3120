"""Contacts with friction in exact rational arithmetic: Coulomb's law in space, its relaxations, planar impact laws.

Answers over round cones are irrational in general. Rational directions of slip are guessed from the solver's
floating-point answer; the exact answer with these directions is then checked without use of the floating-point answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.falsification.example import Example, vector
from gaussopt.falsification.proved import Proved
from gaussopt.linalg.rational import Exact, exact, leading_minors, solve
from gaussopt.papers.evidence.active_sets import lcp_exactly

ROWS = 3
SMALL = 1e-7
"""Entries of the floating-point answer below this size, relative to the largest entry, count as zero."""

FINEST = 100
"""Largest denominator of tan(angle / 2) for a slip direction; a rational value makes sine and cosine rational."""


def _direction(x: float, y: float) -> Exact:
    """Return a rational unit vector near the direction of (x, y)."""
    turn = -1 if x < 0 else 1
    t = Fraction(math.tan(math.atan2(turn * y, turn * x) / 2)).limit_denominator(FINEST)
    return exact([turn * (1 - t * t) / (1 + t * t), turn * 2 * t / (1 + t * t)])


def _rational_point(example: Example, near: Vector, convex: bool) -> tuple[Exact, Exact] | None:
    """Return exact r and u with the contact modes of a floating-point answer; None if the modes do not determine r."""
    W, q, mu = (example.arrays[name] for name in ("W", "q", "mu"))
    u = floats_of(W) @ near + floats_of(q)
    force, speed = (SMALL * max(float(np.abs(x).max(initial=0.0)), 1e-300) for x in (near, floats_of(q)))
    rows, right = exact(np.zeros((len(q), len(q)), dtype=int)), 0 * q
    for i in range(len(mu)):
        own = range(ROWS * i, ROWS * i + ROWS)
        if near[own[0]] <= force:
            rows[own, own] = Fraction(1)
        elif np.abs(u[own]).max() <= speed:
            rows[own], right[own] = W[own], -q[own]
        else:
            d = _direction(*near[own[1:]]) if near[own[1:]].any() else exact([0, 0])
            for axis in (0, 1):
                rows[own[axis], own[axis + 1]], rows[own[axis], own[0]] = Fraction(1), -mu[i] * d[axis]
            along = exact([1, *(mu[i] * d if convex else (0, 0))])
            rows[own[2]], right[own[2]] = along @ W[own], -(along @ q[own])
    r = solve(rows, right)
    return None if r is None else (r, W @ r + q)


def floats_of(values: Exact) -> Any:
    """Convert an array of fractions to floats."""
    return values.astype(np.float64)


def _parts(r: Exact, u: Exact, mu: Exact) -> list[tuple[Any, ...]]:
    """Return mu, r_N, |r_T|^2, u_N, |u_T|^2 and r_T . u_T of each contact."""
    split = [(m, r[3 * i], r[3 * i + 1 : 3 * i + 3], u[3 * i], u[3 * i + 1 : 3 * i + 3]) for i, m in enumerate(mu)]
    return [(m, n, t @ t, w, s @ s, t @ s) for m, n, t, w, s in split]


def breaks_coulomb(example: Example, point: Sequence[Fraction]) -> str | None:
    """Return a clause on how impulses violate Coulomb's law; None if they obey it."""
    r = exact(point)
    u = example.arrays["W"] @ r + example.arrays["q"]
    for i, (mu, n, tt, w, ss, ts) in enumerate(_parts(r, u, example.arrays["mu"]), 1):
        if n < 0 or w < 0 or tt > (mu * n) ** 2:
            return f"contact {i} has r_N = {n}, u_N = {w} and |r_T|^2 = {tt} against (mu r_N)^2 = {(mu * n) ** 2}"
        if n * w:
            return f"contact {i} pushes with r_N = {n} although it opens with u_N = {w}"
        if ss and (ts > 0 or ts * ts != (mu * n) ** 2 * ss):
            return (
                f"contact {i} slides with |u_T|^2 = {ss}, but r_T . u_T = {ts} is not -mu r_N |u_T|, whose square is "
                f"{(mu * n) ** 2 * ss}"
            )
    return None


def coulomb(example: Example, near: Vector) -> Proved | None:
    """Prove in exact arithmetic that impulses obey Coulomb's law; this does not exclude other answers."""
    found = _rational_point(example, near, convex=False)
    if found is None or breaks_coulomb(example, found[0].tolist()) is not None:
        return None
    r, u = found
    return Proved(
        r.tolist(), f"r = {vector(r)} obeys Coulomb's law: u = W r + q = {vector(u)}; each contact that pushes has "
        "u_N = 0, and |r_T| = mu r_N against the slip where it slides, |r_T| <= mu r_N where it does not.",
        {"r": r, "u": u}, unique=False,
    )  # fmt: skip


def relaxed(example: Example, near: Vector) -> Proved | None:
    """Prove in exact arithmetic which r minimises 1/2 r^T W r + q^T r over the friction cones."""
    minors, found = leading_minors(example.arrays["W"]), _rational_point(example, near, convex=True)
    if found is None or min(minors) <= 0:
        return None
    r, u = found
    for mu, n, tt, w, ss, _ in _parts(r, u, example.arrays["mu"]):
        if n < 0 or w < 0 or tt > (mu * n) ** 2 or w * w < mu * mu * ss:
            return None
    if r @ u:
        return None
    return Proved(
        r.tolist(), f"r = {vector(r)} is the one minimiser of 1/2 r^T W r + q^T r over the cones |r_T| <= mu r_N: u = "
        f"W r + q = {vector(u)} has u_N >= mu |u_T| and r . u = 0, and the leading minors of W, "
        f"{', '.join(map(str, minors))}, are positive.", {"r": r, "u": u, "minors": minors},
    )  # fmt: skip


def pyramid(example: Example, near: Vector) -> Proved | None:
    """Solve the LCP of one contact whose friction cone is replaced by a pyramid of four facets."""
    W, q, mu = (example.arrays[name] for name in ("W", "q", "mu"))
    if len(mu) > 1:
        return None
    D = exact([[1, 0, 0, 0, 0], [0, 1, 0, -1, 0], [0, 0, 1, 0, -1]])
    M = exact(np.zeros((6, 6), dtype=int))
    M[:5, :5], M[1:5, 5], M[5, 0], M[5, 1:5] = D.T @ W @ D, Fraction(1), mu[0], Fraction(-1)
    solutions = lcp_exactly(M.tolist(), [*(D.T @ q), Fraction(0)])
    if not solutions:
        return None
    r = D @ exact(solutions[0][:5])
    return Proved(
        r.tolist(), f"r = {vector(r)} solves the LCP of the pyramid |r_T1| + |r_T2| <= mu r_N: u = W r + q = "
        f"{vector(W @ r + q)}, with the bound of the slip {solutions[0][5]} of its last pair.",
        {"r": r, "facets": solutions[0]}, unique=False,
    )  # fmt: skip


def _impulses(W: Exact, q: Exact, mu: Exact, least: Exact) -> Exact | None:
    """Return the unique r with 0 <= r_N - least complementary to u_N >= 0 and planar Coulomb's law, u = W r + q.

    All combinations of modes are tried. Return None if one of them is singular, or if no or several r obey the laws.
    """
    k, found = len(mu), list[Exact]()
    slips = ("stick", 1, -1)
    modes = [
        [(closed, slip) for closed in (False, True) for slip in (slips if m and (closed or low) else (None,))]
        for m, low in zip(mu, least, strict=True)
    ]
    for chosen in product(*modes):
        rows, right = exact(np.zeros((2 * k, 2 * k), dtype=int)), 0 * q
        for i, (closed, slip) in enumerate(chosen):
            n, t = 2 * i, 2 * i + 1
            if closed:
                rows[n], right[n] = W[n], -q[n]
            else:
                rows[n, n], right[n] = Fraction(1), least[i]
            if slip == "stick":
                rows[t], right[t] = W[t], -q[t]
            else:
                rows[t, t] = Fraction(1)
                rows[t, n] = Fraction(0) if slip is None else slip * mu[i]
        r = solve(rows, right)
        if r is None:
            return None
        u = W @ r + q
        holds = all(
            r[2 * i] >= least[i] and u[2 * i] >= 0 and abs(r[2 * i + 1]) <= mu[i] * r[2 * i]
            and (slip in ("stick", None) or slip * u[2 * i + 1] >= 0)
            for i, (_, slip) in enumerate(chosen)
        )  # fmt: skip
        if holds and not any((r == known).all() for known in found):
            found.append(r)
    return found[0] if len(found) == 1 else None


def _impact(example: Example) -> tuple[Exact, Exact, Exact, Exact] | None:
    """Return W, the relative velocities before the impact, mu and restitution e of planar contacts."""
    given, k = example.arrays, example.size("k")
    G = np.concatenate([rows for i in range(k) for rows in (given["J_N"][i : i + 1], given["J_T"][i : i + 1])])
    X = solve(given["M"], G.T)
    if X is None or min(leading_minors(given["M"])) <= 0:
        return None
    return G @ X, G @ given["v"], given["mu"], given["e_N"]


def newton(example: Example) -> Proved | None:
    """Apply Newton's impact law."""
    data = _impact(example)
    if data is None:
        return None
    W, before, mu, e = data
    q = before.copy()
    q[::2] = (1 + e) * before[::2]
    r = _impulses(W, q, mu, 0 * e)
    if r is None:
        return None
    return Proved(
        r.tolist(), f"By Newton's law the impulses (r_N, r_T) are {vector(r)} and the velocities after them "
        f"{vector(W @ r + before)}: u_N >= -e times that before it, equal where r_N > 0, with "
        "Coulomb's law for r_T; every "
        "combination of modes is regular, and no other one holds.", {"r": r, "u": W @ r + before, "W": W},
    )  # fmt: skip


def poisson(example: Example) -> Proved | None:
    """Apply Poisson's impact law: compression, then restitution."""
    data = _impact(example)
    if data is None:
        return None
    W, before, mu, e = data
    first = _impulses(W, before, mu, 0 * e)
    second = None if first is None else _impulses(W, before + W @ first, mu, e * first[::2])
    if first is None or second is None:
        return None
    r = first + second
    return Proved(
        r.tolist(), f"By Poisson's law they are {vector(r)}: {vector(first)} of the compression, after which u = "
        f"{vector(W @ first + before)}, and {vector(second)} of the restitution, r_N >= e times "
        "that of the compression; "
        "every combination of modes is regular in both phases, and no other one holds.",
        {"r": r, "compression": first, "restitution": second},
    )  # fmt: skip


CONES: dict[str, Callable[[Example, Vector], Proved | None]] = {
    "coulomb-soccp": coulomb, "coulomb-ccp": relaxed, "coulomb-pyramid:4": pyramid,
}  # fmt: skip
IMPACTS: dict[str, Callable[[Example], Proved | None]] = {"newton": newton, "poisson": poisson}
