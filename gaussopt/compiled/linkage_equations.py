"""Equations of bodies pinned in a row: kernels compiled once for rows of any length, which read their data from tables.

Place k of the row holds a body or the ground; pin k joins the places k and k + 1; the ground is a body whose inverse
mass is zero. S = J M^-1 J^T is block tridiagonal with blocks of size 2 x 2,

    S_kk = (1/m_k + 1/m_{k+1}) I + E_k E_k^T / i_k + F_{k+1} F_{k+1}^T / i_{k+1},
    S_{k,k-1} = -I / m_k - E_k F_k^T / i_k,

with mass m and moment of inertia i. E and F are the derivatives, with respect to the angle, of the arms from a centre
of mass to the next and to the previous pin. S is factorised as L D L^T, pin after pin. The caller provides all arrays:

    q, v, a : (3 K,)    x of all places, then y, then phi
    table : (9, K)      see `PinRow`
    work : (WORK, K)    arms, factors, multipliers

Loops with independent iterations are separated from other loops, so that the compiler vectorises them.

References
----------
G. H. Golub, C. F. Van Loan, Matrix Computations, 4th ed. 2013, sec. 4.5 (block tridiagonal systems).
"""

from __future__ import annotations

import math
from math import floor
from typing import Any

from gaussopt.linalg.saddle_point import DEPENDENT

# Rows of the table: inverse mass and inertia; mass and inertia; arms to the next and to the previous pin, in the frame
# of the body; free acceleration along y.
INVERSE_MASS, INVERSE_INERTIA, MASS, INERTIA, NEXT_X, NEXT_Y, LAST_X, LAST_Y, FALL = range(9)

# Rows of the work space: arms in the plane, to the next (e) and to the previous pin (f), which turned by a right angle
# are E and F; blocks of L; multipliers (of pin k at k + 1, zeros at both ends); multipliers before refinement.
EX, EY, FX, FY, L00, L01, L10, L11, LX, LY, BEFORE_X, BEFORE_Y = range(12)
WORK = 12
STORE = 6

TINY = 1e-40
"""Angles, rates and forces below this count as zero. Along a row pulled at one end they decay by a factor per body, and
their products would fall below 1e-308, where processors take a hundred times as long."""

# As in gaussopt.codegen.sincos, pi/2 is the sum of three parts; the polynomials are Taylor polynomials.
_TURNS = 2.0 / math.pi
_PART1, _PART2, _PART3 = (float.fromhex(x) for x in ("0x1.921fb544p+0", "0x1.0b4611a6p-34", "0x1.3198a2e037073p-69"))
_S3, _S5, _S7, _S9, _S11, _S13, _S15 = ((-1.0) ** (p // 2) / math.factorial(p) for p in range(3, 17, 2))
_C4, _C6, _C8, _C10, _C12, _C14, _C16 = ((-1.0) ** (p // 2) / math.factorial(p) for p in range(4, 18, 2))

Array = Any
"""An array of float64, (n,)."""

Table = Any
"""An array of float64, (r, n), stored row by row."""


def square(x: float) -> float:
    """Return the square of x; zero if x is tiny."""
    return x * x if abs(x) > TINY else 0.0


def arms(q: Array, table: Table, work: Table, low: int, high: int) -> None:
    """Write the vectors from the centres of bodies low, ..., high - 1 to their pins, in the frame of the ground."""
    count = table.shape[1]
    phi = q[2 * count + low :]
    hx, hy, tx, ty = table[NEXT_X, low:], table[NEXT_Y, low:], table[LAST_X, low:], table[LAST_Y, low:]
    ex, ey, fx, fy = work[EX, low:], work[EY, low:], work[FX, low:], work[FY, low:]
    for k in range(high - low):
        n = floor(phi[k] * _TURNS + 0.5)
        r = ((phi[k] - n * _PART1) - n * _PART2) - n * _PART3
        r = r if abs(r) > TINY else 0.0
        z = r * r
        s = r + r * z * (_S3 + z * (_S5 + z * (_S7 + z * (_S9 + z * (_S11 + z * (_S13 + z * _S15))))))
        c = _C4 + z * (_C6 + z * (_C8 + z * (_C10 + z * (_C12 + z * (_C14 + z * _C16)))))
        c = 1.0 - 0.5 * z + z * z * c
        odd = n - 2.0 * floor(0.5 * n)
        quarter = n - 4.0 * floor(0.25 * n)
        sine = c if odd != 0.0 else s
        cosine = s if odd != 0.0 else c
        sine = -sine if quarter >= 2.0 else sine
        cosine = -cosine if (quarter == 1.0) | (quarter == 2.0) else cosine
        ex[k] = cosine * hx[k] - sine * hy[k]
        ey[k] = sine * hx[k] + cosine * hy[k]
        fx[k] = cosine * tx[k] - sine * ty[k]
        fy[k] = sine * tx[k] + cosine * ty[k]


def pull(v: Array, table: Table, work: Table, low: int, high: int) -> None:
    """Write the right-hand side of S lam = gamma - J M^-1 f, for the pins low, ..., high - 1."""
    count = table.shape[1]
    spin, fall = v[2 * count + low :], table[FALL, low:]
    ex, ey, fx, fy = work[EX, low:], work[EY, low:], work[FX, low:], work[FY, low:]
    lx, ly = work[LX, low:], work[LY, low:]
    for k in range(high - low):
        here, there = square(spin[k]), square(spin[k + 1])
        lx[k + 1] = fx[k + 1] * there - ex[k] * here
        ly[k + 1] = fy[k + 1] * there - ey[k] * here - (fall[k + 1] - fall[k])


def gaps(q: Array, work: Table) -> float:
    """Write the position residuals of the pins as the right-hand side; return the largest absolute value."""
    count = work.shape[1] - 1
    ex, ey, fx, fy, lx, ly = work[EX], work[EY], work[FX], work[FY], work[LX], work[LY]
    size = 0.0
    for k in range(count - 1):
        x = q[k + 1] + fx[k + 1] - q[k] - ex[k]
        y = q[count + k + 1] + fy[k + 1] - q[count + k] - ey[k]
        lx[k + 1], ly[k + 1] = x, y
        size = max(size, max(abs(x), abs(y)))
    return size


def rates(v: Array, work: Table) -> None:
    """Write the relative velocities of both bodies at each pin, as the right-hand side for the multipliers."""
    count = work.shape[1] - 1
    ex, ey, fx, fy, lx, ly = work[EX], work[EY], work[FX], work[FY], work[LX], work[LY]
    for k in range(count - 1):
        here, there = v[2 * count + k], v[2 * count + k + 1]
        lx[k + 1] = v[k + 1] - fy[k + 1] * there - v[k] + ey[k] * here
        ly[k + 1] = v[count + k + 1] + fx[k + 1] * there - v[count + k] - ex[k] * here


def eliminate(table: Table, work: Table, carry: Array, low: int, high: int) -> bool:
    """Eliminate the multipliers of the pins low, ..., high - 1; return False if a pivot vanishes.

    `carry` (6,) passes data of the previous pin on to the next pin: its right-hand side (2 entries), its pivot block
    (3 entries), and the reciprocal of the determinant of that block; all are 0 before the first pin.
    """
    im, ii = table[INVERSE_MASS, low:], table[INVERSE_INERTIA, low:]
    ex, ey, fx, fy = work[EX, low:], work[EY, low:], work[FX, low:], work[FY, low:]
    lx, ly = work[LX, low:], work[LY, low:]
    l00, l01, l10, l11 = work[L00, low:], work[L01, low:], work[L10, low:], work[L11, low:]
    x, y, p00, p01, p11, inverse = carry[0], carry[1], carry[2], carry[3], carry[4], carry[5]
    good = True
    for k in range(high - low):
        m, i, j = im[k], ii[k], ii[k + 1]
        s00 = m + im[k + 1] + i * ey[k] * ey[k] + j * fy[k + 1] * fy[k + 1]
        s01 = -i * ex[k] * ey[k] - j * fx[k + 1] * fy[k + 1]
        s11 = m + im[k + 1] + i * ex[k] * ex[k] + j * fx[k + 1] * fx[k + 1]
        # B adj(P), with the previous pivot block P, comes first, as it need not wait for the slow division 1 / det P.
        b00, b01 = -m - i * ey[k] * fy[k], i * ey[k] * fx[k]
        b10, b11 = i * ex[k] * fy[k], -m - i * ex[k] * fx[k]
        c00, c01 = b00 * p11 - b01 * p01, b01 * p00 - b00 * p01
        c10, c11 = b10 * p11 - b11 * p01, b11 * p00 - b10 * p01
        p00 = s00 - (c00 * b00 + c01 * b01) * inverse
        skew = c00 * b10 + c01 * b11
        p01 = s01 - (skew if abs(skew) > TINY else 0.0) * inverse
        p11 = s11 - (c10 * b10 + c11 * b11) * inverse
        c00, c01, c10, c11 = c00 * inverse, c01 * inverse, c10 * inverse, c11 * inverse
        l00[k], l01[k], l10[k], l11[k] = c00, c01, c10, c11
        x, y = lx[k + 1] - (c00 * x + c01 * y), ly[k + 1] - (c10 * x + c11 * y)
        x, y = x if abs(x) > TINY else 0.0, y if abs(y) > TINY else 0.0
        determinant = p00 * p11 - p01 * p01
        good &= (p00 > DEPENDENT * s00) & (determinant > DEPENDENT * p00 * s11)
        inverse = 1.0 / determinant
        lx[k + 1], ly[k + 1] = (p11 * x - p01 * y) * inverse, (p00 * y - p01 * x) * inverse
    carry[0], carry[1], carry[2], carry[3], carry[4], carry[5] = x, y, p00, p01, p11, inverse
    return good


def substitute(work: Table, low: int, high: int) -> None:
    """Compute the multipliers of the pins high - 1, ..., low by back substitution from the multipliers of pin high."""
    l00, l01, l10, l11 = work[L00, low:], work[L01, low:], work[L10, low:], work[L11, low:]
    lx, ly = work[LX, low:], work[LY, low:]
    x, y = lx[high - low + 1], ly[high - low + 1]
    for k in range(high - low, 0, -1):
        x, y = lx[k] - (l00[k] * x + l10[k] * y), ly[k] - (l01[k] * x + l11[k] * y)
        x, y = x if abs(x) > TINY else 0.0, y if abs(y) > TINY else 0.0
        lx[k], ly[k] = x, y


def spread(ax: Array, ay: Array, turn: Array, table: Table, work: Table, weight: float, low: int, high: int) -> None:
    """Write M^-1 (J^T lam + weight f) of bodies low, ..., high - 1; index 0 of ax, ay and turn is body low."""
    im, ii, fall = table[INVERSE_MASS, low:], table[INVERSE_INERTIA, low:], table[FALL, low:]
    ex, ey, fx, fy = work[EX, low:], work[EY, low:], work[FX, low:], work[FY, low:]
    lx, ly = work[LX, low:], work[LY, low:]
    for k in range(high - low):
        ax[k] = im[k] * (lx[k] - lx[k + 1])
        ay[k] = im[k] * (ly[k] - ly[k + 1]) + weight * fall[k]
        turn[k] = ii[k] * (fx[k] * ly[k] - fy[k] * lx[k] + ey[k] * lx[k + 1] - ex[k] * ly[k + 1])


def lift(a: Array, table: Table, work: Table, carry: Array) -> bool:
    """Write the least a in the mass norm with J a = r, the given right-hand side; return False for a zero pivot."""
    count = table.shape[1]
    work[LX, 0] = work[LY, 0] = work[LX, count] = work[LY, count] = 0.0
    for i in range(6):
        carry[i] = 0.0
    good = eliminate(table, work, carry, 0, count - 1)
    substitute(work, 0, count - 1)
    spread(a[:count], a[count : 2 * count], a[2 * count :], table, work, 0.0, 0, count)
    return good


def refined(v: Array, a: Array, change: Array, table: Table, work: Table, carry: Array) -> None:
    """Refine accelerations and multipliers by one correction for the residual of J a = gamma."""
    count = table.shape[1]
    ex, ey, fx, fy, lx, ly = work[EX], work[EY], work[FX], work[FY], work[LX], work[LY]
    x0, y0 = work[BEFORE_X], work[BEFORE_Y]
    ax, ay, turn, spin = a[:count], a[count : 2 * count], a[2 * count :], v[2 * count :]
    for k in range(count - 1):
        here, there = square(spin[k]), square(spin[k + 1])
        x0[k + 1], y0[k + 1] = lx[k + 1], ly[k + 1]
        lx[k + 1] = fx[k + 1] * there - ex[k] * here - (ax[k + 1] - ax[k] - fy[k + 1] * turn[k + 1] + ey[k] * turn[k])
        ly[k + 1] = fy[k + 1] * there - ey[k] * here - (ay[k + 1] - ay[k] + fx[k + 1] * turn[k + 1] - ex[k] * turn[k])
    lift(change, table, work, carry)
    for i in range(3 * count):
        a[i] += change[i]
    for k in range(1, count):
        lx[k] += x0[k]
        ly[k] += y0[k]
