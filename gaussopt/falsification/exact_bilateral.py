"""Steps without contacts, M a = F + J^T lam, J a = gamma, solved by the formulations in exact rational arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from gaussopt.falsification.example import Example, vector
from gaussopt.falsification.proved import Proved
from gaussopt.linalg.rational import Exact, determinant, exact, independent, kernel, leading_minors, solve


class Bilateral(NamedTuple):
    """A step: M (n, n), F (n,), independent rows J (m, n) and gamma (m,), as arrays of exact fractions."""

    M: Exact
    F: Exact
    J: Exact
    gamma: Exact

    @classmethod
    def of(cls, example: Example) -> Bilateral | None:
        """Return the step; None if its rows are dependent."""
        given, n = example.arrays, example.size("n")
        J = given.get("J", exact(np.zeros((0, n), dtype=int)))
        found = cls(given["M"], given["Q"], J, given.get("gamma", exact([])))
        return found if len(independent(J.T)) == len(J) else None

    @property
    def particular(self) -> Exact:
        """J^+ gamma with J^+ = J^T (J J^T)^-1."""
        return np.asarray(self.J.T @ _solved(self.J @ self.J.T, self.gamma))


def _solved(A: Exact, b: Exact) -> Exact:
    found = solve(A, b)
    assert found is not None
    return found


def _minimiser(of: Bilateral, F: Exact, name: str) -> Proved | None:
    """Minimise 1/2 a^T M a - a^T F subject to J a = gamma, by a basis Z of ker J."""
    Z = kernel(of.J)
    reduced = Z.T @ of.M @ Z
    minors = leading_minors(reduced)
    if min(minors, default=Fraction(1)) <= 0:
        return None
    a = of.particular
    a = a + Z @ _solved(reduced, Z.T @ (F - of.M @ a))
    basis = " and ".join(vector(column) for column in Z.T) or "(only zero)"
    return Proved(
        a.tolist(), f"a = {vector(a)} is the one minimiser of {name} subject to J a = gamma: J a = {vector(of.J @ a)}, "
        f"M a - F = {vector(of.M @ a - F)} is orthogonal to ker J, spanned by {basis}, and the leading minors of "
        f"Z^T M Z, {', '.join(map(str, minors))}, are positive.", {"a": a, "kernel": Z, "minors": minors},
    )  # fmt: skip


def gauss(of: Bilateral) -> Proved | None:
    """Minimise Gauss's function."""
    return _minimiser(of, of.F, "1/2 a^T M a - a^T F")


def pseudo_inverse(of: Bilateral) -> Proved | None:
    """Minimise Gauss's function with M^+ in place of M^-1, as in the paper."""
    chosen = independent(of.M)
    if not chosen:
        return None
    B = of.M[:, chosen]
    kept = B @ _solved(B.T @ B, B.T @ of.F)
    found = _minimiser(of, kept, f"1/2 a^T M a - a^T F with M M^+ F = {vector(kept)} in the place of F")
    return found and replace(found, numbers={**found.numbers, "kept": kept})


def lagrange(of: Bilateral) -> Proved | None:
    """Solve Lagrange's equations."""
    n, m = len(of.F), len(of.J)
    K = np.concatenate((
        np.concatenate((of.M, -of.J.T), axis=1),
        np.concatenate((of.J, exact(np.zeros((m, m), dtype=int))), axis=1),
    ))  # fmt: skip
    x = solve(K, np.concatenate((of.F, of.gamma)))
    if x is None:
        return None
    a, lam = x[:n], x[n:]
    return Proved(
        a.tolist(), f"a = {vector(a)} with lam = {vector(lam)} is the one solution of M a - J^T lam = F, J a = gamma, "
        f"whose matrix has the determinant {determinant(K)}.", {"a": a, "lam": lam},
    )  # fmt: skip


def _free(of: Bilateral) -> Exact | None:
    return solve(of.M, of.F) if min(leading_minors(of.M)) > 0 else None


def least_squares(of: Bilateral) -> Proved | None:
    """Solve eq. (14): a = J^+ gamma + N z, z by least squares in the mass metric."""
    if _free(of) is None:
        return None
    found = _minimiser(of, of.F, "the mass norm of a - M^-1 F")
    return None if found is None else Proved(
        found.point, f"With J^+ gamma = {vector(of.particular)}, {found.line}", found.numbers
    )  # fmt: skip


def as_printed(of: Bilateral) -> Proved | None:
    """Compute eq. (16): a = J^+ gamma + N a_0."""
    free = _free(of)
    if free is None:
        return None
    a = of.particular + free - of.J.T @ _solved(of.J @ of.J.T, of.J @ free)
    return Proved(
        a.tolist(), f"a = J^+ gamma + (I - J^+ J) M^-1 F = {vector(a)} with J^+ = J^T (J J^T)^-1, J^+ gamma = "
        f"{vector(of.particular)} and M^-1 F = {vector(free)}.", {"a": a, "a0": free},
    )  # fmt: skip


def by_forces(of: Bilateral) -> Proved | None:
    """Compute a = a_0 + M^-1 J^T (J M^-1 J^T)^-1 (gamma - J a_0)."""
    free = _free(of)
    if free is None:
        return None
    X = _solved(of.M, of.J.T)
    lam = _solved(of.J @ X, of.gamma - of.J @ free)
    a = free + X @ lam
    return Proved(
        a.tolist(), f"a = a_0 + M^-1 J^T lam = {vector(a)} with a_0 = M^-1 F = {vector(free)} and lam = (J M^-1 J^T)"
        f"^-1 (gamma - J a_0) = {vector(lam)}.", {"a": a, "lam": lam, "a0": free},
    )  # fmt: skip


ANSWERS: dict[str, Callable[[Bilateral], Proved | None]] = {
    "gauss": gauss, "null-space": gauss, "lagrange": lagrange, "least-squares": least_squares,
    "least-squares-as-printed": as_printed, "udwadia-kalaba": by_forces, "dual": by_forces, "routh": by_forces,
    "pinv-mass-as-printed": pseudo_inverse,
}  # fmt: skip
