"""Sliding contacts in exact rational arithmetic: contact laws, programs of paper 001, and iteration on the friction.

The unknowns are the normal forces z, with w = A z + b and A = A_0 + C, where A_0 is the response to normal forces and
C the response to friction; see `gaussopt.contact.operator` and the formulations themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gaussopt.falsification.example import Example, vector
from gaussopt.falsification.proved import Proved
from gaussopt.linalg.rational import Exact, exact, kernel, leading_minors, principal_minors, solve
from gaussopt.papers.evidence.active_sets import lcp_exactly, solve_exactly

ROUNDS = 12
"""Number of iterations with frozen friction, held at its last value, within which a cycle is searched for."""


@dataclass(frozen=True)
class Sliding:
    """The contact operator of a step or of an LCP, as arrays of exact fractions.

    Attributes
    ----------
    A : (k, k), b : (k,)
    friction : (k, k), C = A - A_0; None for an LCP
    pull : (k,), ell = sigma mu J_T (a_J - a_0) of eq. (24); None for an LCP
    """

    A: Exact
    b: Exact
    friction: Exact | None = None
    pull: Exact | None = None

    @classmethod
    def of(cls, example: Example) -> Sliding | None:
        """Eliminate the joints; return None if their equations are singular or M is not positive definite."""
        given = example.arrays
        if example.kind == "lcp":
            return cls(given["M"], given["q"])
        M, Q, normal = given["M"], given["Q"], given["J_N"]
        n, k = example.size("n"), example.size("k")
        J, gamma = (given["J"], given["gamma"]) if "J" in given else (exact(np.zeros((0, n), int)), exact([]))
        zeta = given.get("zeta_N", exact([0] * k))
        signs = [-1 if v > 0 else 1 for v in given["v_T"]]
        rows = exact([s * mu for s, mu in zip(signs, given["mu"], strict=True)])[:, None] * given["J_T"]
        nothing = exact(np.zeros((len(J), len(J)), int))
        K = np.concatenate((np.concatenate((M, -J.T), axis=1), np.concatenate((J, nothing), axis=1)))
        forces = np.column_stack((Q, normal.T, rows.T))
        right = np.concatenate((forces, np.column_stack((gamma, exact(np.zeros((len(J), 2 * k), int))))))
        moved, free = solve(K, right), solve(M, Q)
        if moved is None or free is None or min(leading_minors(M)) <= 0:
            return None
        a, by_normal, by_friction = moved[:n, 0], moved[:n, 1 : k + 1], moved[:n, k + 1 :]
        C = normal @ by_friction
        return cls(normal @ by_normal + C, normal @ a + zeta, C, rows @ (a - free))

    @cached_property
    def minors(self) -> list[str] | None:
        """Principal minors of A as text; None if A is not a P-matrix."""
        found = principal_minors(self.A)
        return list(map(str, found)) if min(found) > 0 else None


def contact_laws(of: Sliding) -> Proved | None:
    """Solve the LCP of a P-matrix, which has exactly one solution."""
    if of.minors is None:
        return None
    (z,) = lcp_exactly(of.A.tolist(), of.b.tolist())
    w = of.A @ exact(z) + of.b
    return Proved(
        z, f"z = {vector(z)} is the one solution of the LCP: w = A z + b = {vector(w)}, z >= 0, w >= 0, z . w = 0, and "
        f"all principal minors of A, {', '.join(of.minors)}, are positive.", {"z": z, "w": w, "minors": of.minors},
    )  # fmt: skip


def _program(P: Exact, p: Exact, rows: Exact, b: Exact, name: str) -> Proved | None:
    """Minimise 1/2 z^T P z - p^T z subject to `rows` z + b >= 0; None if P is not positive definite."""
    minors = leading_minors(P)
    if min(minors) <= 0:
        return None
    found = solve_exactly(P.tolist(), p.tolist(), rows.T.tolist(), rows.tolist(), b.tolist())
    if not found:
        return None
    z, eta, w = found[0]
    return Proved(
        z, f"z = {vector(z)} is the one minimiser of {name}: its rows are {vector(w)} >= 0, its gradient is the "
        f"combination of the rows with the multipliers {vector(eta)} >= 0, which vanish where a row is positive, and "
        f"the leading minors of its Hessian, {', '.join(map(str, minors))}, are positive.",
        {"z": z, "multipliers": eta, "rows": w, "hessian": P, "minors": minors},
    )  # fmt: skip


def _symmetric(A: Exact) -> Exact:
    return np.asarray((A + A.T) / 2)


def printed(of: Sliding) -> Proved | None:
    """Solve eq. (29): minimise 1/2 z^T A z subject to A z + b >= 0."""
    return _program(_symmetric(of.A), 0 * of.b, of.A, of.b, "1/2 z^T A z subject to A z + b >= 0")


def over_all_forces(of: Sliding) -> Proved | None:
    """Solve eq. (24) with the joints eliminated."""
    pull = 0 * of.b if of.pull is None else of.pull
    name = f"1/2 z^T A z - 1/2 ell^T z with ell = {vector(pull)} subject to A z + b >= 0"
    return _program(_symmetric(of.A), pull / 2, of.A, of.b, name)


def complementarity_gap(of: Sliding) -> Proved | None:
    """Minimise z^T (A z + b) subject to z >= 0, A z + b >= 0."""
    k = len(of.b)
    rows = np.concatenate((exact(np.eye(k, dtype=int)), of.A))
    name = "z^T (A z + b) subject to z >= 0, A z + b >= 0"
    return _program(2 * _symmetric(of.A), -of.b, rows, np.concatenate((0 * of.b, of.b)), name)


def weighted(of: Sliding) -> Proved | None:
    """Solve the printed program with symmetrising weights, or prove that there are none."""
    A, k = of.A, len(of.b)
    pairs = [(i, j) for i in range(k) for j in range(i)]
    rows = exact(np.zeros((len(pairs), k), dtype=int))
    for number, (i, j) in enumerate(pairs):
        rows[number, i], rows[number, j] = A[i, j], -A[j, i]
    # Each equation couples two linked contacts, so each kernel vector belongs to one group of linked contacts.
    columns = [c if c[np.flatnonzero(c)[0]] > 0 else -c for c in kernel(rows).T]
    d = sum(columns, exact([0] * k))
    if len(d) and min(d) > 0:
        P = d[:, None] * A
        return _program(P, 0 * of.b, A, of.b, f"1/2 z^T D A z with D = diag{vector(d)} subject to A z + b >= 0")
    for i, j in pairs:
        if A[i, j] * A[j, i] < 0 or (A[i, j] == 0) != (A[j, i] == 0):
            return Proved(
                None, f"No positive d makes diag(d) A symmetric: d_{j + 1} A_{j + 1}{i + 1} = d_{i + 1} "
                f"A_{i + 1}{j + 1} reads {A[j, i]} d_{j + 1} = {A[i, j]} d_{i + 1}, which no two positive "
                "numbers satisfy.",
            )  # fmt: skip
    return Proved(None, "No positive d makes diag(d) A symmetric: the products of A around a cycle differ.")


def frozen(of: Sliding) -> Proved | None:
    """Iterate from z = 0 with friction held at its last value; None if the iterates neither converge nor cycle."""
    if of.friction is None:
        return None
    smooth = of.A - of.friction
    if min(leading_minors(smooth)) <= 0:
        return None
    seen = [(of.b * 0).tolist()]
    for _ in range(ROUNDS):
        (z,) = lcp_exactly(smooth.tolist(), (of.b + of.friction @ exact(seen[-1])).tolist())
        if z == seen[-1]:
            return Proved(
                z, f"The iteration of frozen friction settles at z = {vector(z)}.", {"z": z, "iterates": [*seen, z]}
            )
        seen.append(z)
        if z in seen[:-1]:
            path = ", ".join(map(vector, seen))
            return Proved(
                None, f"The iteration 0 <= z' complementary to A_0 z' + (b + C z) >= 0 from z = 0 runs in a circle for "
                f"ever: z = {path}.", {"iterates": seen},
            )  # fmt: skip
    return None


ANSWERS: dict[str, Callable[[Sliding], Proved | None]] = {
    "lcp": contact_laws, "stick-slip": contact_laws, "lcp-qp": complementarity_gap, "normal-force-qp": printed,
    "joint-force-qp": over_all_forces, "weighted-normal-force-qp": weighted, "frozen-friction": frozen,
}  # fmt: skip
