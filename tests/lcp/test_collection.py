"""The set of complementarity problems: the truth about each, proved in exact arithmetic."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import gaussopt as go
from gaussopt.lcp.certificate import certify_lcp
from gaussopt.lcp.collection import KnownLCP, known_lcps

SMALL = 6
"""Largest n whose complementary bases are all tried in rational numbers."""

KNOWN = list(known_lcps().values())

Numbers = list[Fraction]


def exact(known: KnownLCP) -> tuple[list[Numbers], Numbers]:
    return [[Fraction(x) for x in row] for row in known.lcp.M.tolist()], [Fraction(x) for x in known.lcp.q.tolist()]


def reduced(rows: Sequence[Numbers]) -> list[Numbers] | None:
    """A square system with right-hand sides, eliminated by Gauss and Jordan; None if it is singular."""
    A = [list(row) for row in rows]
    for c in range(len(A)):
        pivot = next((i for i in range(c, len(A)) if A[i][c]), None)
        if pivot is None:
            return None
        A[c], A[pivot] = A[pivot], A[c]
        A[c] = [x / A[c][c] for x in A[c]]
        for i in range(len(A)):
            if i != c and A[i][c]:
                A[i] = [x - A[i][c] * y for x, y in zip(A[i], A[c], strict=True)]
    return A


def bases(known: KnownLCP) -> Iterator[tuple[tuple[int, ...], Numbers | None]]:
    """Every complementary basis and its z; None where it is singular."""
    M, q = exact(known)
    for size in range(len(q) + 1):
        for s in itertools.combinations(range(len(q)), size):
            solved = reduced([[*(M[i][j] for j in s), -q[i]] for i in s])
            z = [Fraction(0)] * len(q)
            for j, row in zip(s, solved or (), strict=False):
                z[j] = row[-1]
            yield s, None if solved is None else z


def determinant(M: list[Numbers], s: tuple[int, ...]) -> Fraction:
    A, det = [[M[i][j] for j in s] for i in s], Fraction(1)
    for c in range(len(A)):
        pivot = next((i for i in range(c, len(A)) if A[i][c]), None)
        if pivot is None:
            return Fraction(0)
        if pivot != c:
            A[c], A[pivot], det = A[pivot], A[c], -det
        det *= A[c][c]
        for i in range(c + 1, len(A)):
            factor = A[i][c] / A[c][c]
            A[i] = [x - factor * y for x, y in zip(A[i], A[c], strict=True)]
    return det


def surely_definite(A: np.ndarray) -> bool:
    """Whether Cholesky's factors exist for a matrix of unit diagonal less a shift that covers all rounding in them."""
    n = len(A)
    d = 2.0 ** -np.round(np.log2(A.diagonal()) / 2)
    S = d[:, None] * (0.5 * (A + A.T)) * d
    try:
        np.linalg.cholesky(S - 4 * (n + 1) * np.finfo(float).eps * np.trace(S) * np.eye(n))
    except np.linalg.LinAlgError:
        return False
    return True


@pytest.mark.parametrize("known", KNOWN, ids=lambda k: k.name)
def test_the_solution_is_one_without_rounding(known: KnownLCP) -> None:
    if known.z is None:
        assert known.answers == "none"
        return
    M, q = exact(known)
    z = [Fraction(x) for x in known.z.tolist()]
    w = [sum((a * x for a, x in zip(row, z, strict=True) if x), start=c) for row, c in zip(M, q, strict=True)]
    assert min(z) >= 0
    assert min(w) >= 0
    assert not any(a and b for a, b in zip(z, w, strict=True))


@pytest.mark.parametrize("known", [k for k in KNOWN if k.lcp.n <= SMALL], ids=lambda k: k.name)
def test_small_ones_have_as_many_solutions_as_said(known: KnownLCP) -> None:
    M, q = exact(known)
    z_of: set[tuple[Fraction, ...]] = set()
    w_of: set[tuple[Fraction, ...]] = set()
    singular = False
    for _, z in bases(known):
        if z is None:
            singular = True
            continue
        w = [sum((a * x for a, x in zip(row, z, strict=True)), start=c) for row, c in zip(M, q, strict=True)]
        if min(z) >= 0 and min(w) >= 0:
            z_of.add(tuple(z))
            w_of.add(tuple(w))
    if known.answers in ("one", "none") and known.name != "pulled-apart-2":
        assert not singular  # so that all solutions are among those of the bases
    assert len(w_of) >= 2 if known.answers == "several" else len(w_of) == (known.answers != "none")
    if known.answers == "one":
        assert z_of == {tuple(Fraction(x) for x in known.z.tolist())}  # type: ignore[union-attr]


@pytest.mark.parametrize("known", [k for k in KNOWN if k.answers == "forces-open"], ids=lambda k: k.name)
def test_where_forces_are_open_columns_depend_on_each_other(known: KnownLCP) -> None:
    """What pushes may change along them without any change of w."""
    assert known.z is not None
    pushing = np.flatnonzero(known.z)
    rank = np.linalg.matrix_rank(known.lcp.M[:, pushing])
    assert rank < len(pushing)
    if known.lcp.n <= SMALL:
        assert determinant(exact(known)[0], tuple(pushing.tolist())) == 0


@pytest.mark.parametrize("known", [k for k in KNOWN if k.lcp.n > SMALL], ids=lambda k: k.name)
def test_large_ones_have_as_many_solutions_as_said(known: KnownLCP) -> None:
    M, q, n = known.lcp.M, known.lcp.q, known.lcp.n
    kind = known.name.split("-")[0]
    if kind in ("murty", "dominant"):  # triangular with a positive diagonal, or dominant by rows: P-matrices
        triangular = not np.tril(M, -1).any() or not np.triu(M, 1).any()
        diagonal = M.diagonal()
        assert (diagonal > 0).all()
        assert triangular or (2 * diagonal > np.abs(M).sum(axis=1)).all()
    elif known.name.startswith("rows-and-columns"):
        minors = [determinant(exact(known)[0], s) for r in range(1, n + 1) for s in itertools.combinations(range(n), r)]
        assert min(minors) > 0
    elif kind == "fathi":
        U = np.eye(n) + 2 * np.triu(np.ones((n, n)), 1)  # regular, being triangular
        np.testing.assert_array_equal(M, U @ U.T)
    elif kind == "redundant":  # M is symmetric and semidefinite: w is the gradient at the minimisers
        assert np.array_equal(M, M.T)
        assert np.linalg.eigvalsh(M)[0] > -1e-9 * np.abs(M).max()
    elif kind == "pulled":
        np.testing.assert_array_equal(np.ones(n) @ M, np.zeros(n))
        assert q.sum() < 0
    elif kind in ("copositive", "bimatrix"):
        assert (M >= 0).all()
        if known.answers == "one":  # w_j > 0, so that z_j = 0, for all but one pair
            assert (q > 0).sum() == n - 1
            assert M[q.argmin(), q.argmin()] > 0
        else:  # another solution: the one that is known with its pairs in another order
            order = (
                np.roll(np.arange(n), 1) if kind == "copositive" else np.concatenate((np.arange(1, 4), [0, 5, 6, 7, 4]))
            )
            z = known.z[order] if kind == "copositive" else np.eye(n)[1] + np.eye(n)[n // 2]  # type: ignore[index]
            w = M @ z + q
            assert min(z.min(), w.min(), -abs(z @ w)) == 0
            assert not np.array_equal(w, M @ known.z + q)
    else:
        assert surely_definite(M), known.name


@pytest.mark.parametrize("known", KNOWN, ids=lambda k: k.name)
def test_the_certificate_agrees(known: KnownLCP) -> None:
    """Of no problem of the set anything else is said than what is proved of it here."""
    certificate = certify_lcp(known.lcp, known.z)
    said = {
        "one": (go.Status.SOLVED, None), "forces-open": (go.Status.SOLVED,), "none": (go.Status.NO_SOLUTION,),
        "several": (go.Status.MULTIPLE_SOLUTIONS, go.Status.ACCELERATION_NOT_UNIQUE),
    }[known.answers]  # fmt: skip
    assert certificate.verdict in said
    assert known.answers not in ("one", "forces-open") or certificate.passed()


def lemke(known: KnownLCP, most: int = 2000) -> tuple[str, int]:
    """Lemke's algorithm in rational numbers, ties to the lowest index: how it ended, and its pivots."""
    M, q = exact(known)
    n = len(q)
    T = [[*(Fraction(i == j) for j in range(n)), *(-x for x in M[i]), Fraction(-1), q[i]] for i in range(n)]
    basis, seen = list(range(n)), set[Any]()
    row, enter = min(range(n), key=lambda i: (q[i], i)), 2 * n
    for pivots in range(1, most):
        T[row] = [x / T[row][enter] for x in T[row]]
        for i in range(n):
            if i != row and T[i][enter]:
                T[i] = [x - T[i][enter] * y for x, y in zip(T[i], T[row], strict=True)]
        basis[row], left = enter, basis[row]
        if left == 2 * n:
            return "solved", pivots
        enter = left + n if left < n else left - n
        if (state := (*basis, enter)) in seen:
            return "cycles", pivots
        seen.add(state)
        ratios = [(T[i][-1] / T[i][enter], i) for i in range(n) if T[i][enter] > 0]
        if not ratios:
            return "ray", pivots
        row = min(ratios)[1]
    return "limit", most


def least_index(known: KnownLCP) -> int:
    """Pivots of Murty's method in rational numbers."""
    M, q = exact(known)
    n = len(q)
    z_of = {s: z for s, z in bases(known) if z is not None}
    s: tuple[int, ...] = ()
    for pivots in range(2 ** (n + 1)):
        z = z_of[s]
        w = [sum((a * x for a, x in zip(row, z, strict=True)), start=c) for row, c in zip(M, q, strict=True)]
        wrong = [i for i in range(n) if (z[i] if i in s else w[i]) < 0]
        if not wrong:
            return pivots
        s = tuple(sorted({*s} ^ {wrong[0]}))
    raise AssertionError


def test_those_of_the_literature_do_what_they_are_known_for() -> None:
    known = known_lcps()
    assert least_index(known["murty-8"]) == least_index(known["fathi-8"]) == 2**8 - 1
    assert lemke(known["murty-lemke-8"]) == ("solved", 2**8)
    assert lemke(known["kostreva-3"])[0] == "cycles"
    assert lemke(known["definite-6"])[0] == "solved"


def test_the_set_holds_what_it_promises() -> None:
    assert {k.lcp.n for k in KNOWN} >= {1, 300}
    assert {k.answers for k in KNOWN} == {"one", "forces-open", "several", "none"}
    scales = [np.abs(k.lcp.M[k.lcp.M != 0]) for k in KNOWN if k.name.startswith("units")]
    assert max(s.max() / s.min() for s in scales) > 1e15
    idle = [k for k in KNOWN if k.z is not None and k.answers == "one" and ((k.z == 0) & (k.lcp.w(k.z) == 0)).any()]
    assert len(idle) >= 5
    # The same on any machine: the draws are part of the set.
    assert np.abs(known_lcps()["skew-300"].lcp.M).sum() == 5343773.0
