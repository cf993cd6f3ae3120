"""Convex quadratic programs, borders included."""

from __future__ import annotations

import numpy as np

from .families import (
    GAPS,
    Data,
    Maker,
    changed,
    definite,
    definite_dyadic,
    dyadic,
    rows_like,
    singular_dyadic,
    spans,
    unit,
)

INF = np.inf


def boxed(
    rng: np.random.Generator, A: np.ndarray, inside: np.ndarray, exact: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Bounds that a point satisfies: two-sided, one-sided, equal, and touching the point."""
    s = A @ inside
    room = np.abs(dyadic(rng, 2, len(A), top=2)) if exact else rng.random((2, len(A)))
    l, u = s - room[0], s + room[1]
    kind = rng.integers(0, 5, len(A))
    l, u = np.where(kind == 1, -INF, l), np.where(kind == 2, INF, u)
    return np.where(kind == 3, s, l), np.where(kind == 3, s, u)


def regular(rng: np.random.Generator) -> Data:
    n, m = int(rng.integers(1, 6)), int(rng.integers(0, 6))
    A = rng.standard_normal((m, n))
    l, u = boxed(rng, A, rng.standard_normal(n), exact=False)
    return {"P": definite(rng, n), "q": 2 * rng.standard_normal(n), "A": A, "l": l, "u": u}


def small_numbers(rng: np.random.Generator) -> Data:
    n, m = int(rng.integers(1, 5)), int(rng.integers(0, 6))
    A = dyadic(rng, m, n, top=2)
    l, u = boxed(rng, A, dyadic(rng, n, top=2))
    return {"P": definite_dyadic(rng, n), "q": dyadic(rng, n), "A": A, "l": l, "u": u}


def singular(rng: np.random.Generator) -> Data:
    """P exactly singular, zero too; many are unbounded below."""
    n, m = int(rng.integers(1, 5)), int(rng.integers(1, 6))
    A = dyadic(rng, m, n, top=2)
    l, u = boxed(rng, A, dyadic(rng, n, top=2))
    P = singular_dyadic(rng, n)
    q = dyadic(rng, n) if rng.random() < 0.5 else P @ dyadic(rng, n, top=2) + A.T @ dyadic(rng, m, top=1)
    return {"P": P, "q": q, "A": A, "l": l, "u": u}


def bounded_singular(rng: np.random.Generator) -> Data:
    """P singular, every unknown in a box: a minimiser exists."""
    data = singular(rng)
    n = len(data["q"])
    x = dyadic(rng, n, top=1)
    A = np.vstack((np.eye(n), data["A"][: int(rng.integers(0, 3))]))
    s = A @ x
    l, u = s - np.abs(dyadic(rng, len(A), top=2)), s + np.abs(dyadic(rng, len(A), top=2))
    return {**data, "A": A, "l": l, "u": u}


def equalities(rng: np.random.Generator) -> Data:
    n, m = int(rng.integers(1, 6)), int(rng.integers(0, 4))
    A = dyadic(rng, m, n, top=2)
    A = np.vstack((A, rows_like(rng, A, int(rng.integers(0, 2)))))
    b = A @ dyadic(rng, n)
    P = definite_dyadic(rng, n) if rng.random() < 0.6 else singular_dyadic(rng, n)
    return {"P": P, "q": dyadic(rng, n), "A": A, "l": b, "u": b.copy()}


def fixed_variables(rng: np.random.Generator) -> Data:
    data = small_numbers(rng) if rng.random() < 0.5 else singular(rng)
    n = len(data["q"])
    fixed = np.eye(n)[rng.random(n) < 0.5]
    x = dyadic(rng, n, top=2)
    s = fixed @ x
    return {**data, "A": np.vstack((data["A"], fixed)), "l": np.append(data["l"], s), "u": np.append(data["u"], s)}


def redundant(rng: np.random.Generator) -> Data:
    """Rows again, multiples of rows and zero rows, with bounds that agree."""
    data = small_numbers(rng) if rng.random() < 0.6 else bounded_singular(rng)
    A, l, u = data["A"], data["l"], data["u"]
    n = A.shape[1]
    if len(A):
        i, f = int(rng.integers(len(A))), float(rng.choice([1.0, 2.0, 0.25]))
        A, l, u = np.vstack((A, f * A[i])), np.append(l, f * l[i]), np.append(u, f * u[i])
    if rng.random() < 0.5:
        A, l, u = (
            np.vstack((A, np.zeros(n))),
            np.append(l, -float(rng.choice([0.0, 1e9, 1.0]))),
            np.append(u, float(rng.choice([0.0, 1e9]))),
        )
    return {**data, "A": A, "l": l, "u": u}


def contradictory(rng: np.random.Generator) -> Data:
    """Rows that contradict each other, by a lot or by a little; a zero row with bounds beside zero."""
    data = small_numbers(rng) if rng.random() < 0.6 else bounded_singular(rng)
    A, l, u = data["A"], data["l"], data["u"]
    n, gap = A.shape[1], float(rng.choice(GAPS))
    row = dyadic(rng, n, top=2)
    if rng.random() < 0.2:
        row = np.zeros(n)
    level = float(dyadic(rng, 1)[0]) or 1.0
    if rng.random() < 0.3 and len(A) > 1:
        row = A[0] + A[1]
        level = float(np.where(np.isfinite(u[:2]), u[:2], 1.0).sum()) or 1.0
        A, l, u = np.vstack((A, row)), np.append(l, level + gap * abs(level)), np.append(u, INF)
    else:
        A = np.vstack((A, row, 2.0 * row))
        l, u = np.append(l, [-INF, 2 * level + 2 * gap * abs(level)]), np.append(u, [level, INF])
    return {**data, "A": A, "l": l, "u": u}


def ties(rng: np.random.Generator) -> Data:
    """A minimiser chosen first: rows that it touches without force."""
    n, m = int(rng.integers(1, 5)), int(rng.integers(1, 6))
    A, x = dyadic(rng, m, n, top=2), dyadic(rng, n, top=2)
    P = definite_dyadic(rng, n) if rng.random() < 0.6 else singular_dyadic(rng, n)
    y = np.where(rng.random(m) < 0.5, 0.0, dyadic(rng, m, top=2))
    s = A @ x
    l, u = np.where(y >= 0, s, s - 1.0), np.where(y >= 0, np.where(rng.random(m) < 0.5, INF, s + 1.0), s)
    return {"P": P, "q": A.T @ y - P @ x, "A": A, "l": l, "u": u}


def linear(rng: np.random.Generator) -> Data:
    """No curvature at all, up to seven unknowns; most have a minimiser, which rows hold against the cost."""
    n = int(rng.integers(1, 8))
    m = int(rng.integers(max(n - 3, 1), n + 3))
    A, x = dyadic(rng, m, n, top=2), dyadic(rng, n, top=2)
    l, u = boxed(rng, A, x)
    q = dyadic(rng, n)
    if rng.random() < 0.8:
        y = np.where(np.isneginf(l), -1.0, np.where(np.isposinf(u), 1.0, rng.choice([-1.0, 1.0], m)))
        q = A.T @ (y * np.abs(dyadic(rng, m, top=2)))
    return {"P": np.zeros((n, n)), "q": q, "A": A, "l": l, "u": u}


def far_rows(rng: np.random.Generator) -> Data:
    """Directions without curvature that cost something, bounded by rows up to 2^50 away and by nothing else."""
    n = int(rng.integers(2, 7))
    r = int(rng.integers(0, n))
    L = dyadic(rng, n, r, top=2)
    near, ends = int(rng.integers(0, 3)), n - r + int(rng.integers(0, 2))
    A = dyadic(rng, near + ends, n, top=2)
    l, u = boxed(rng, A, dyadic(rng, n, top=2))
    far = 2.0 ** rng.integers(0, 51, ends)
    y = np.append(np.zeros(near), np.abs(dyadic(rng, ends, top=2)))
    l[near:], u[near:] = -far, np.where(rng.random(ends) < 0.5, INF, far)
    q = A.T @ y + L @ dyadic(rng, r, top=2)
    return {"P": L @ L.T, "q": q, "A": A, "l": l, "u": u}


@changed
def in_units(rng: np.random.Generator, data: Data) -> Data:
    """Unknowns, rows and objective in units up to 2^+-40."""
    span = spans(rng)
    d, r = (2.0 ** rng.integers(-span, span + 1, len(data[key])) for key in "ql")
    d = np.ones(len(d)) if rng.random() < 0.3 else d
    value, x = (unit(rng, span, 0.4) for _ in range(2))
    return {
        "P": value * data["P"] * np.outer(d, d), "q": value * data["q"] * d * x, "A": data["A"] * d * r[:, None],
        "l": data["l"] * r * x, "u": data["u"] * r * x,
    }  # fmt: skip


QPS: dict[str, tuple[float, Maker]] = {
    "regular": (2.0, regular),
    "small numbers": (2.0, small_numbers),
    "singular": (2.0, singular),
    "bounded singular": (1.5, bounded_singular),
    "equalities": (1.0, equalities),
    "fixed variables": (1.0, fixed_variables),
    "redundant rows": (1.0, redundant),
    "contradictory rows": (1.5, contradictory),
    "ties": (1.5, ties),
    "units of regular": (1.0, in_units(regular)),
    "units of small numbers": (1.0, in_units(small_numbers)),
    "units of bounded singular": (1.0, in_units(bounded_singular)),
    "units of contradictory": (0.7, in_units(contradictory)),
    "units of ties": (0.7, in_units(ties)),
    "linear": (1.5, linear),
    "far rows": (1.5, far_rows),
    "units of singular": (1.0, in_units(singular)),
    "units of linear": (1.5, in_units(linear)),
    "units of far rows": (1.0, in_units(far_rows)),
}
