"""A collection of linear complementarity problems that distinguish solvers, each with its exact answer.

All entries of data and solutions are integers, or integers times powers of two, so that M z + q has no rounding errors
in floating point and complementarity can be checked exactly. Problems from the literature are

- `murty`: Murty's least-index pivoting takes 2^n - 1 pivots; `murty-lemke`: Lemke's algorithm takes 2^n (K. G. Murty,
  "Computational complexity of complementary pivot methods", Math. Prog. Study 7, 1978);
- `fathi`: as `murty`, with M symmetric positive definite (Y. Fathi, "Computational complexity of LCPs associated with
  positive definite symmetric matrices", Math. Prog. 17, 1979);
- `kostreva`: Lemke's algorithm cycles if ties of the ratio test go to the lowest index (M. M. Kostreva, "Cycling in
  linear complementarity problems", Math. Prog. 16, 1979; entries are multiplied by three);
- `bimatrix`: equilibria of a bimatrix game (C. E. Lemke, J. T. Howson, 1964); M is copositive.

The other problems are drawn at random with fixed seeds: the solution is drawn, and q is computed from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.programs import LCP

SIZES = (1, 2, 3, 6, 10, 30, 100, 300)
"""Numbers n of pairs for which random problems are drawn."""


@dataclass(frozen=True, slots=True)
class KnownLCP:
    """A problem and its known answer.

    Attributes
    ----------
    name : a name that ends with the number of pairs
    lcp : the problem
    answers : "one": unique solution; "forces-open": unique w, several z; "several": several w; "none": no solution
    z : an exact solution, (n,); None if there is none
    """

    name: str
    lcp: LCP
    answers: str
    z: Vector | None


@cache
def known_lcps() -> dict[str, KnownLCP]:
    """Return the problems of the collection, keyed by name."""
    return {known.name: known for part in (_literature(), _drawn(), _special()) for known in part}


def _known(name: str, M: Matrix, q: Vector, z: Vector | None, answers: str = "one") -> KnownLCP:
    return KnownLCP(f"{name}-{len(q)}", LCP(np.asarray(M, dtype=float), np.asarray(q, dtype=float)), answers, z)


def _literature() -> Iterator[KnownLCP]:
    for n in (1, 2, 8, 30, 300):
        upper = np.eye(n) + 2 * np.triu(np.ones((n, n)), 1)
        yield _known("murty", upper, -np.ones(n), np.eye(n)[-1])
        if n in (2, 8, 30):
            yield _known("fathi", upper @ upper.T, -np.ones(n), np.eye(n)[-1])
            yield _known("murty-lemke", upper.T, np.exp2(np.arange(n, 0, -1)) - 2.0 ** (n + 1), 2.0**n * np.eye(n)[0])
    yield _known("kostreva", np.array([[1, 2, 0], [0, 1, 2], [2, 0, 1]]), np.full(3, -3.0), np.ones(3))
    for n in (2, 4):
        half = np.diag(np.arange(1.0, n + 1)) + 1.0
        M = np.block([[np.zeros((n, n)), half], [half.T, np.zeros((n, n))]])
        apart = np.concatenate((np.eye(n)[0], np.eye(n)[1]))  # an equilibrium of two different strategies
        yield _known("bimatrix", M, -np.ones(2 * n), apart, "several")


def _drawn() -> Iterator[KnownLCP]:
    for n in SIZES:
        rng = np.random.default_rng(n)
        B = rng.integers(-3, 4, size=(n, n)).astype(float)
        skew = np.triu(B, 1) - np.triu(B, 1).T
        gram = B @ B.T + np.eye(n)
        few = B[:, : max(1, n // 4)]
        # `rows` is diagonally dominant and therefore a P-matrix; the large entries of column 0 make it indefinite.
        rows = B.copy()
        rows[1:, 0] = -60 * np.sign(rows[1:, 0] + 0.5)
        np.fill_diagonal(rows, np.abs(rows).sum(axis=1) - np.abs(rows.diagonal()) + 1)
        yield _posed("definite", gram, rng)
        yield _posed("skew", gram + 5 * skew, rng)
        yield _posed("dominant", rows, rng)
        yield _posed("degenerate", gram + skew, rng, idle=0.5)
        if 1 < n < 300:
            yield replace(_posed("redundant", few @ few.T, rng, push=0.9), answers="forces-open")
            D = np.exp2(rng.integers(-20, 21, size=n))
            yield _scaled(_posed("units", gram + skew, rng), D, D)
        if 1 < n <= 10:
            yield _scaled(_posed("rows-and-columns", rows, rng), *np.exp2(rng.integers(-15, 16, size=(2, n))))
        for i in range(12 if n in (3, 6) else 0):
            other = rng.integers(-3, 4, size=(n, n)).astype(float)
            yield _posed(f"small{i}", other @ other.T + np.eye(n), rng)


def _posed(name: str, M: Matrix, rng: np.random.Generator, idle: float = 0.0, push: float = 0.5) -> KnownLCP:
    """Return a problem with a random solution: w_i = 0 with probability `push`, w_i = z_i = 0 with `idle`."""
    n = len(M)
    size, pushing = rng.integers(1, 10, size=n) * (rng.random(n) >= idle), rng.random(n) < push
    pushing[rng.integers(n)] = True
    z = np.where(pushing, size, 0).astype(float)
    return _known(name, M, np.where(pushing, 0, size) - M @ z, z)


def _scaled(known: KnownLCP, R: Vector, C: Vector) -> KnownLCP:
    """Return the problem with rows scaled by R and columns by C, which are powers of two."""
    assert known.z is not None
    return replace(known, lcp=LCP(R[:, None] * known.lcp.M * C, R * known.lcp.q), z=known.z / C)


def _special() -> Iterator[KnownLCP]:
    """Yield problems with no, several or a continuum of solutions, and problems with copositive or tridiagonal M."""
    for n in (1, 2, 6):
        yield _known("both-ways", -np.eye(n), np.ones(n), np.zeros(n), "several")
        yield _known("no-way", -np.eye(n), -np.ones(n), None, "none")
    yield _known("continuum", np.array([[0, 1], [-1, 0]]), np.array([0, 1]), np.zeros(2), "several")
    yield _known("feasible-without-solution", np.array([[-2, 1], [-1, 2]]), -np.ones(2), None, "none")
    for n in (2, 10, 100):
        chain = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
        ends = np.diag(np.eye(n)[0] + np.eye(n)[-1])
        # Each column of chain - ends has the sum zero. Thus sum(w) = sum(q) < 0 for every z: there is no solution.
        yield _known("pulled-apart", chain - ends, -np.ones(n), None, "none")
        yield _posed("obstacle", chain, np.random.default_rng(n))
        copositive, start = 2 - np.eye(n), np.eye(n)[0]
        yield _known("copositive", copositive, 1 - 2 * start, start)
        if n <= 10:
            yield _known("copositive-unit", copositive, -np.ones(n), start, "several")
