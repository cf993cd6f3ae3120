"""Uniqueness for contacts that may stick, by the determinants of all contact modes.

Solutions of the contact laws of the plane are the preimages of a piecewise linear map: contact i has the coordinates
(w, s) where it is open, (N, T) where it sticks, (N, s) where it slips to either side, with T = -mu N or mu N; the map
is (w, s) - A (N, T), and has the value A_0, the accelerations without contact forces. Let the determinants of its
pieces, one for each mode of all contacts, be positive: det of the rows of N and T of the contacts that stick and the
rows of N of those that slip, in the columns A_T, A_N and A_N +- mu A_T. Then there is exactly one solution for every
A_0, and its forces are unique:

- A determinant is affine in the coefficient of friction of every contact that slips, so that it is positive for all
  coefficients tau mu, 0 < tau <= 1, of the contacts without slip. The maps for all tau are proper, of the same degree.
- The determinants at tau = 0 are the principal minors without this friction. They form a P-matrix: one solution. If
  its slips do not vanish, a small tau does not change the modes, and there is still one solution: the degree is 1.
- All pieces have the same orientation, so that all preimages count with the same sign, and almost every value has one
  preimage. The map is open, so that no value has two.

(S. Scholtes, Introduction to Piecewise Differentiable Equations, 2012, treats such maps.) The condition is
sufficient for every A_0, not necessary for a given A_0: if a determinant is not clearly positive, modes are enumerated.
"""

from __future__ import annotations

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.jit.kernel import kernel
from gaussopt.lcp.pivoting import Index

MODES = 64
"""Largest number of modes of all contacts that are tried."""

UNCERTAIN = 1e-7
"""Error of every entry of the operator, relative to its terms, that must leave the determinants positive."""


def positive_pivots(W: Matrix, D: Matrix, size: int) -> bool:
    """Tell whether elimination without exchanges has positive pivots for all matrices in W +- D; changes W and D."""
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
    """Tell whether the determinants of all modes are positive; False also if there are too many modes.

    Parameters
    ----------
    B : at least (p, p)
        Accelerations of c normals and then of the tangents without slip, caused by lam_N and lam_R = lam_T + mu lam_N,
        in the unit of the mass norm.
    mu, norm : (p,) at least; friction of the c contacts; effect of a unit force along a row, in the mass norm
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
            if kind:  # closed: it slips to one side or to the other, or sticks
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
