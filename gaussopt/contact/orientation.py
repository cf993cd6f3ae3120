"""Uniqueness for contacts that may stick, by the determinants of all contact modes.

The contact laws in the plane say that the map (w, s) - A (N, T) has the value A_0, the accelerations without contact
forces. A contact has the unknowns (w, s) if it is open, (N, T) if it sticks, and (N, s) if it slips, with T = mu N or
T = -mu N; so the map is linear for each mode of all contacts. The determinant of a mode is that of a submatrix of A:
its rows belong to N and T of sticking contacts and to N of slipping contacts, its columns are A_N and A_T of sticking
contacts, and A_N + mu A_T or A_N - mu A_T of slipping contacts. If the determinants of all modes are positive, there is
exactly one solution for every A_0, and its forces are unique:

- A determinant is affine in mu of every slipping contact, and positive for slip to both sides, so that it stays
  positive if mu is replaced by tau mu, 0 <= tau <= 1. The maps for 0 < tau <= 1 are proper and have the same degree.
- At tau = 0 the determinants of modes without stick are the principal minors of a matrix, which is thus a P-matrix, so
  that one solution exists. If none of its slips is zero, it remains the only solution for small tau: the degree is 1.
- All modes have the same orientation, so that all solutions count with the same sign, and almost every A_0 has one
  solution. The map is open, so that no A_0 has two.

(S. Scholtes, Introduction to Piecewise Differentiable Equations, 2012, treats such maps.) The condition is sufficient,
but not necessary for a given A_0: if a determinant is not clearly positive, modes are enumerated.
"""

from __future__ import annotations

from gaussopt.core.arrays import Index, Matrix, Vector
from gaussopt.jit.kernel import kernel

MODES = 64
"""Largest number of combinations of contact modes that are tried."""

UNCERTAIN = 1e-7
"""Determinants must stay positive if every entry of the operator changes by this, relative to its terms."""


def positive_pivots(W: Matrix, D: Matrix, size: int) -> bool:
    """Return whether all matrices from W - D to W + D have positive pivots without exchanges; W, D are overwritten."""
    for p in range(size):
        pivot = W[p, p]
        least = pivot - D[p, p]
        if not least > 0.0:
            return False
        for i in range(p + 1, size):
            factor, height = W[i, p] / pivot, (abs(W[i, p]) + D[i, p]) / least
            for j in range(p + 1, size):
                product = factor * W[p, j]
                W[i, j] -= product
                D[i, j] += height * (abs(W[p, j]) + D[p, j]) - abs(product)
    return True


@kernel
def oriented(
    B: Matrix, c: int, mu: Vector, norm: Vector, partner: Index, W: Matrix, D: Matrix, row: Index, side: Index
) -> bool:
    """Return whether the determinants of all modes are positive; False also if there are too many modes.

    Parameters
    ----------
    B : at least (p, p)
        Accelerations along c normals and then along the tangents of contacts without slip, caused by lam_N and
        lam_R = lam_T + mu lam_N, in the unit of the mass norm.
    mu, norm : (p,) at least; friction of the c contacts; mass norm of the acceleration by a unit force along a row
    partner : (p,) at least, row of the tangent if a contact has no slip, else 0
    W, D, row, side : (p, p) twice and (p,) twice at least; working memory
    """
    modes = 1
    for i in range(c):
        modes *= 4 if partner[i] else 2
        if modes > MODES:  # tested in the loop, because the product over many contacts would exceed 64 bits
            return False
    for mode in range(modes):
        size, rest = 0, mode
        for i in range(c):
            kinds = 4 if partner[i] else 2
            kind = rest % kinds
            rest = rest // kinds
            if kind:  # closed contacts: kinds 1 and 2 slip to either side, kind 3 sticks
                row[size], side[size] = i, 1 if kind == 2 else 0
                size += 1
            if kind == 3:
                row[size], side[size] = partner[i], 0
                size += 1
        for q in range(size):
            j = row[q]
            s = partner[j] if j < c else 0
            friction = 2.0 * mu[j] * norm[s] / norm[j] if s else 0.0
            for p in range(size):
                value = B[row[p], j]
                if side[q]:
                    value += friction * B[row[p], s]
                W[p, q], D[p, q] = value, UNCERTAIN * (1.0 + friction + abs(value))
        if not positive_pivots(W, D, size):
            return False
    return True
