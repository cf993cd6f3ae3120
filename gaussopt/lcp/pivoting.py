"""Linear complementarity by pivoting, as compiled kernels: z >= 0, w = M z + q >= 0, z . w = 0.

A set of active pairs (w_i = 0) defines a linear system, the principal system of that set. Along a motion the set is the
same at most steps, so that one elimination and a check of the signs suffice. Where signs are wrong, the offending pairs
become active or inactive: all at once while their number falls, otherwise only the last of them (Murty's rule). If this
does not end, Lemke's lexicographic method is run from its standard start.

Dependent rows in the active set, which redundant contacts often cause, are recognised by elimination with complete
pivoting, and their z_i are set to zero. A point counts as solved only if z >= 0 holds exactly and every row of the
problem holds to `SOLVES` relative to the terms of that row.
References: K. G. Murty, "Note on a Bard-type scheme for solving the complementarity problem", Opsearch 11, 1974;
J. J. Judice, F. M. Pires, "A block principal pivoting algorithm for large-scale strictly monotone linear
complementarity problems", Computers & OR 21, 1994; R. W. Cottle, J.-S. Pang, R. E. Stone, "The Linear Complementarity
Problem", SIAM 2009, sections 4.2, 4.4, 4.9.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Index, Matrix, Vector
from gaussopt.jit.kernel import inlined, kernel

Indices = NDArray[np.int64]
"""Array of integers."""
Active = NDArray[np.int64]
"""Mask of the active set: 1 for pairs with w_i = 0, 0 for all others."""

SOLVED, UNSOLVED, RAY, LIMIT, SINGULAR = 0, 1, 2, 3, 4
"""Return codes of a kernel: a point satisfies all rows; no such point was found; Lemke's method ended on a ray, at its
limit, or at a singular basis."""

SIGN = 1e-12
"""A negative entry of z or w counts as zero up to this size, relative to the terms of its row."""

SOLVES = 1e-11
"""Largest natural residual of a row, relative to its terms, at a point that counts as solved."""

STABLE = 1e-3
"""Smallest pivot, relative to the largest entry, for elimination in the given order; below it, rows and columns are
exchanged."""

DEPENDENT = 1e-11
"""In elimination with complete pivoting, entries up to this size, relative to the largest, count as zero."""

PIVOT = 1e-11
"""Entries of Lemke's entering column up to this size, relative to the largest, cannot be pivots."""

TIE = 1e-13
"""Two ratios count as equal if their relative difference is at most this."""

PATIENCE = 3
"""After this number of exchanges of all wrong pairs without a decrease of their number, pairs change one by one."""


def power_of_two(x: float) -> float:
    """Return 1 / x rounded to a power of two, so that scaling by it is exact; 1 if x is zero."""
    if not x > 0.0:
        return 1.0
    _, exponent = math.frexp(x)
    return math.ldexp(1.0, 1 - exponent)


def scales(M: Matrix, row: Vector, column: Vector) -> None:
    """Write factors such that the largest entry in every row and column of diag(row) M diag(column) is about 1."""
    n = len(M)
    for j in range(n):
        column[j] = 0.0
    for i in range(n):
        largest = 0.0
        for j in range(n):
            largest = max(largest, abs(M[i, j]))
        row[i] = power_of_two(largest)
        for j in range(n):
            column[j] = max(column[j], row[i] * abs(M[i, j]))
    for j in range(n):
        column[j] = power_of_two(column[j])


@kernel
def eliminate(A: Matrix, right: Index, left: Index, size: int) -> int:
    """Factorise A[:size, :size], whose entries are about 1, in place as P A Q = L U with unit L; return the rank.

    Elimination keeps the given order while every pivot is above `STABLE`, as for well-conditioned definite matrices;
    the rest is eliminated with complete pivoting. The column and row at each place are written to `right` and `left`.
    """
    largest = 0.0
    for i in range(size):
        right[i] = left[i] = i
        for j in range(size):
            largest = max(largest, abs(A[i, j]))
    ordered = True
    for s in range(size):
        if ordered and not A[s, s] > STABLE * largest:
            ordered = False
        if not ordered:
            best, at_row, at_column = 0.0, s, s
            for i in range(s, size):
                for j in range(s, size):
                    if abs(A[i, j]) > best:
                        best, at_row, at_column = abs(A[i, j]), i, j
            if best <= DEPENDENT * largest:
                return s
            if at_row != s:
                left[s], left[at_row] = left[at_row], left[s]
                for j in range(size):
                    A[s, j], A[at_row, j] = A[at_row, j], A[s, j]
            if at_column != s:
                right[s], right[at_column] = right[at_column], right[s]
                for i in range(size):
                    A[i, s], A[i, at_column] = A[i, at_column], A[i, s]
        inverse = 1.0 / A[s, s]
        for i in range(s + 1, size):
            factor = A[i, s] * inverse
            A[i, s] = factor
            if factor != 0.0:
                for j in range(s + 1, size):
                    A[i, j] -= factor * A[s, j]
    return size


def back_substitute(A: Matrix, right: Index, left: Index, rank: int, b: Vector, x: Vector, size: int) -> None:
    """Write the solution x of A x = b, zero at dependent columns, from the factors of `eliminate`; b is overwritten."""
    for s in range(size):
        x[s] = b[left[s]]
    for s in range(rank):
        for j in range(s):
            x[s] -= A[s, j] * x[j]
    for s in range(rank - 1, -1, -1):
        for j in range(s + 1, rank):
            x[s] -= A[s, j] * x[j]
        x[s] /= A[s, s]
    # Restore the order of the unknowns, with b as working memory.
    for s in range(size):
        b[right[s]] = x[s] if s < rank else 0.0
    for s in range(size):
        x[s] = b[s]


def principal(M: Matrix, q: Vector, row: Vector, column: Vector, active: Active, z: Vector, error: Vector) -> int:
    """Solve the principal system of the active pairs with one refinement; return the number of dependent pairs.

    Dependent pairs become inactive. `error`, (n,), is the correction that a further refinement would make.
    """
    n = len(q)
    members = np.empty(n, np.int64)
    size = 0
    for i in range(n):
        z[i] = error[i] = 0.0
        if active[i]:
            members[size] = i
            size += 1
    A = np.empty((size, size))
    right, left = np.empty(size, np.int64), np.empty(size, np.int64)
    b, x = np.empty(size), np.empty(size)
    for a in range(size):
        i = members[a]
        b[a] = -row[i] * q[i]
        for c in range(size):
            j = members[c]
            A[a, c] = row[i] * M[i, j] * column[j]
    rank = eliminate(A, right, left, size)
    for _ in range(3):
        back_substitute(A, right, left, rank, b, x, size)
        for a in range(size):
            i = members[a]
            z[i] += error[i]
            error[i] = column[i] * x[a]
        # Residuals after the correction; the correction of the last pass is not added to z but returned as the error.
        for a in range(size):
            i = members[a]
            rest = q[i]
            for c in range(size):
                j = members[c]
                rest += M[i, j] * (z[j] + error[j])
            b[a] = -row[i] * rest
    for s in range(rank, size):
        active[members[right[s]]] = 0
    return size - rank


@inlined
def row_of(M: Matrix, q: Vector, z: Vector, i: int) -> tuple[float, float]:
    """Return entry i of M z + q, and the sum of the absolute values of its terms."""
    value, size = q[i], abs(q[i])
    for j in range(len(q)):
        term = M[i, j] * z[j]
        value += term
        size += abs(term)
    return value, size


def look(M: Matrix, q: Vector, row: Vector, column: Vector, active: Active, z: Vector, w: Vector, wrong: Active) -> int:
    """Write w = M z + q, mark the pairs with a wrong sign, and return their number."""
    n = len(q)
    count = 0
    for i in range(n):
        value, size = row_of(M, q, z, i)
        w[i] = value
        tiny = SIGN * row[i] * size
        scaled = z[i] / column[i]
        wrong[i] = 0
        if active[i]:
            # The negated comparison also marks a NaN.
            if not (scaled >= -tiny and abs(row[i] * value) <= 10.0 * tiny):
                wrong[i] = 1
        elif not row[i] * value >= -tiny:
            wrong[i] = 1
        count += wrong[i]
    return count


def accept(M: Matrix, q: Vector, row: Vector, column: Vector, z: Vector, w: Vector) -> bool:
    """Set negative z_i to zero, write w, and return whether every row holds relative to its own terms."""
    n = len(q)
    for i in range(n):
        z[i] = max(z[i], 0.0)
    for i in range(n):
        value, size = row_of(M, q, z, i)
        w[i] = value
        force = z[i] / column[i]
        # The residual is compared with its terms, not with z_i, which may be arbitrarily large if M_ii is zero.
        if not abs(min(force, row[i] * value)) <= SOLVES * row[i] * size:
            return False
    return True


def exchange_pairs(
    M: Matrix, q: Vector, row: Vector, column: Vector, active: Active, z: Vector, w: Vector, error: Vector, most: int
) -> int:
    """Solve principal systems, beginning with the active pairs of `active`, until all signs are right.

    Return the number of sets that were tried, as a negative number if none of them solves the problem.
    """
    n = len(q)
    wrong = np.empty(n, np.int64)
    fewest, patience = n + 1, PATIENCE
    for tried in range(1, most + 1):
        principal(M, q, row, column, active, z, error)
        count = look(M, q, row, column, active, z, w, wrong)
        if count == 0:
            return tried if accept(M, q, row, column, z, w) else -tried
        together = True
        if count < fewest:
            fewest, patience = count, PATIENCE
        elif patience > 0:
            patience -= 1
        else:
            together = False
        for i in range(n - 1, -1, -1):
            if wrong[i]:
                active[i] = 1 - active[i]
                if not together:
                    break
    return -most


@kernel
def solve_lcp(
    M: Matrix, q: Vector, active: Active, z: Vector, w: Vector, error: Vector, most: int, path: bool
) -> tuple[int, int]:
    """Solve a problem, starting from a guess of the active pairs.

    Parameters
    ----------
    M, q : (n, n), (n,)
    active : (n,), the guess; overwritten by the active pairs of the solution
    z, w, error : (n,), overwritten by the solution, and by the correction that a further refinement would add to z
    most : maximum number of pivots of Lemke's method
    path : whether Lemke's method follows if the exchanges fail

    Returns
    -------
    code, pivots : `SOLVED` or another code; number of sets of pairs tried plus number of pivots of Lemke's method
    """
    n = len(q)
    row, column = np.empty(n), np.empty(n)
    scales(M, row, column)
    tried = exchange_pairs(M, q, row, column, active, z, w, error, 4 * n + 10)
    if tried > 0:
        return SOLVED, tried
    if not path:
        return UNSOLVED, -tried
    code, pivots = lemke_path(M, q, row, column, active, most)
    # In a degenerate problem the artificial variable may stay in the basis, as a rounding error, at a solution.
    if exchange_pairs(M, q, row, column, active, z, w, error, 1) > 0:
        code = SOLVED
    elif code == SOLVED:
        code = UNSOLVED
    return code, pivots - tried


def lemke_path(M: Matrix, q: Vector, row: Vector, column: Vector, active: Active, most: int) -> tuple[int, int]:
    """Run Lemke's method with a covering vector of ones in scaled rows; write the active pairs of its last basis."""
    n = len(q)
    # Columns of the tableau w - M z - 1 z0 = q: 0..n-1 w (the inverse of the basis), n..2n-1 z, 2n z0, 2n+1 q.
    T = np.zeros((n, 2 * n + 2))
    basis = np.empty(n, np.int64)
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(row[i] * q[i]))
    for i in range(n):
        basis[i] = i
        T[i, i] = 1.0
        for j in range(n):
            T[i, n + j] = -row[i] * M[i, j] * column[j]
        T[i, 2 * n] = -1.0
        T[i, 2 * n + 1] = row[i] * q[i] / largest if largest > 0.0 else 0.0
    ratio = np.empty(n)
    tied = np.empty(n, np.int64)
    entering, pivots, code = 2 * n, 0, LIMIT
    while pivots < most:
        place = leaving_row(T, basis, entering, pivots == 0, ratio, tied)
        if place < 0:
            code = RAY
            break
        if not exchange(T, place, entering):
            code = SINGULAR
            break
        leaving = basis[place]
        basis[place] = entering
        pivots += 1
        if leaving == 2 * n:
            code = SOLVED
            break
        entering = leaving + n if leaving < n else leaving - n
    for i in range(n):
        active[i] = 0
    for i in range(n):
        if n <= basis[i] < 2 * n:
            active[basis[i] - n] = 1
    return code, pivots


def leaving_row(T: Matrix, basis: Index, entering: int, first: bool, ratio: Vector, tied: Active) -> int:
    """Return the row that leaves for column `entering` by the lexicographic ratio test, preferably z0; -1 on a ray.

    At the first pivot z0 enters, whose column is negative in every row; then the most violated row leaves.
    """
    n = len(basis)
    steepest = 0.0
    for i in range(n):
        steepest = max(steepest, abs(T[i, entering]))
    for i in range(n):
        tied[i] = 1 if first or T[i, entering] > PIVOT * steepest else 0
    place = -1
    for j in range(-1, n):
        source = 2 * n + 1 if j < 0 else j
        low, least = math.inf, math.inf
        for i in range(n):
            if tied[i]:
                ratio[i] = T[i, source] / (1.0 if first else T[i, entering])
                low, least = min(low, ratio[i]), min(least, abs(ratio[i]))
        bound = low + TIE * max(abs(low), least)
        count = 0
        for i in range(n):
            if tied[i] and ratio[i] <= bound:
                if basis[i] == 2 * n:
                    return i
                place = i
                count += 1
            else:
                tied[i] = 0
        if count <= 1:
            break
    return place


def exchange(T: Matrix, place: int, entering: int) -> bool:
    """Pivot on T[place, entering]; return False if this entry is zero or not finite."""
    pivot = T[place, entering]
    if not (abs(pivot) > 0.0 and abs(pivot) < math.inf):
        return False
    n, width = T.shape
    for j in range(width):
        T[place, j] /= pivot
    for i in range(n):
        factor = T[i, entering]
        if i != place and factor != 0.0:
            for j in range(width):
                T[i, j] -= factor * T[place, j]
            T[i, entering] = 0.0
    return True
