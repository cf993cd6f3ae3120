"""The contact laws of a stage as a complementarity problem in the unit of the mass norm, and its solution."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gaussopt.cone.proximal_kernel import COMPLIANT, PROXIMAL
from gaussopt.contact.activity import RESTING
from gaussopt.contact.orientation import oriented
from gaussopt.contact.saddle_kernel import factorise
from gaussopt.core.acceptance import accepts
from gaussopt.core.arrays import Index, Matrix, Vector
from gaussopt.lcp.pivoting import DEPENDENT, SIGN, STABLE, Active, Indices

MASSLESS, DEPENDENT_JOINTS, HELD, UNLAWFUL = 5, 6, 7, 8
"""Codes in addition to those of `gaussopt.lcp.pivoting`: M is not positive definite where the joints allow motions;
the joints are dependent or nearly so; a row is not moved by its own force; laws do not hold up to rounding errors."""

DEFINITE, P_MATRIX, ORIENTED, STRONG, MONOTONE, UNDECIDED, OPEN = 0, 1, 2, 3, 4, 5, 6
"""Proofs of uniqueness; those before `MONOTONE` hold for forces too, among them `STRONG`, strong monotonicity of
friction cones. `UNDECIDED`: contacts may stick, and the general solver has no proof either. `OPEN`: all contacts slide,
and the general solver would try more proofs."""

NUMBERS = 12
"""error_bound, error_norm, constraint_residual, force_residual, rounding_floor, norm_a, norm_a_2, natural_scale,
law_residual, smallest_w, norm_gamma, and 1 for a singular M: the numbers of the certificate that a stage writes, in
this order. With a singular M, errors and residuals are measured with `stage_kernel.stiffen`, the sizes without."""


def certified(numbers: Vector, tolerance: float, worst: Vector) -> bool:
    """Return whether the certificate of a stage passes; if so, update the maxima in `worst`."""
    error, own = numbers[0], min(tolerance, math.sqrt(tolerance))
    if not accepts(
        tolerance, own, error, numbers[3], numbers[8], numbers[4], numbers[2], math.nan, numbers[7], numbers[5],
        numbers[10],
    ):  # fmt: skip
        return False
    if numbers[11] > 0.0 and not numbers[1] <= tolerance * (1.0 + numbers[6]):
        return False
    worst[0], worst[1] = max(worst[0], error), max(worst[1], error / (1.0 + numbers[5]))
    worst[2], worst[3], worst[4] = max(worst[2], numbers[2]), max(worst[3], numbers[3]), max(worst[4], numbers[4])
    return True


class StageWorkspace(NamedTuple):
    """Working memory of `stage`, kept through a phase; see `stage_workspace`.

    Attributes
    ----------
    K, L, first, body : (n + m, n + m) twice, (n + m,), (3, n + m); the block of the joints in K must be zero
    rows, sigma, law, order : (2 p + 1, n + m), (c, d), (9, 2 p - c), (4, 2 p - c)
        In the first 2 p rows of `rows`, the columns from n on must be zero.
    motion, norm : (2 p + 1, n + m), (2 p + 1,)
        Written: the motions due to a unit force along each row, to contact forces, and to other forces; their norms.
    B, T, D : (2 p - c, 2 p - c)
    S : (c, c), written for contacts that slide: sym(delassus) in the unit of the mass norm
    stiffness : (m,), written: of the rows of the joints where M is singular, otherwise 0, see `stage_kernel.stiffen`
    fixed : (`FIXED`,), what `gaussopt.compiled.stage_lines` keeps from stage to stage
    """

    K: Matrix
    L: Matrix
    first: Index
    body: Matrix
    rows: Matrix
    motion: Matrix
    norm: Vector
    sigma: Matrix
    law: Matrix
    order: Indices
    B: Matrix
    S: Matrix
    T: Matrix
    D: Matrix
    stiffness: Vector
    fixed: Vector


FIXED = 256
"""Number of values that do not change within a motion for which a stage has room."""


def stage_workspace(n: int, m: int, d: int, closed: int, resting: int) -> StageWorkspace:
    """Return a workspace for n coordinates, m joints, d tangents, and `closed` contacts, `resting` without slip."""
    p, size, whole = closed + d * resting, closed + 2 * resting, n + m
    return StageWorkspace(
        np.zeros((whole, whole)), np.zeros((whole, whole)), np.zeros(whole, np.int64), np.zeros((3, whole)),
        np.zeros((2 * p + 1, whole)), np.zeros((2 * p + 1, whole)), np.zeros(2 * p + 1), np.zeros((closed, d)),
        np.zeros((9, size)), np.zeros((4, size), np.int64), np.zeros((size, size)), np.zeros((closed, closed)),
        np.zeros((size, size)), np.zeros((size, size)), np.zeros(m), np.zeros(FIXED),
    )  # fmt: skip


MOVED = 1e-8
"""The response of a regular contact row to its own force must exceed this fraction of its response without joints."""

CLEAR = 1e-6
"""Pivot of the scaled sym(delassus) that is surely positive; for smaller pivots the general solver looks for proofs."""

SETS = 8
"""Largest number of sets of active pairs that are tried before the general solver is used."""


def read_saddle(data: Vector, n: int, m: int, K: Matrix, b: Vector) -> None:
    """Fill K and b = (Q - h, gamma) from the flat data of a stage."""
    at = n * n + n
    for i in range(n):
        b[i] = data[n * n + i]
        for j in range(n):
            K[i, j] = data[i * n + j]
    for c in range(n, n + m):
        b[c] = data[at + m * n + c - n]
        for j in range(n):
            K[c, j] = K[j, c] = data[at + (c - n) * n + j]


def read_laws(
    data: Vector, n: int, m: int, k: int, d: int, closed: Index, modes: Vector, space: StageWorkspace
) -> bool:
    """Fill the rows of the laws, J_N and then J_T of the contacts without slip, then the rows of their forces.

    A sliding contact has lam_T = mu lam_N sigma, a contact without slip lam_T = lam_R - mu lam_N. In space sigma
    opposes the current slip; in the plane, and if that slip is zero or reversed, it is the sigma of the phase.

    In space, lam_T of a contact without slip are d forces of their own.

    The function writes rows, sigma, law[0] (bias), law[1] (mu), and order[0], which holds for each contact the first
    row of its friction if it has no slip, otherwise 0.

    Returns
    -------
    fits
        Whether there are as many contacts without slip as in the workspace.
    """
    rows, sigma, bias, mu, partner = space.rows, space.sigma, space.law[0], space.law[1], space.order[0]
    at_N = n * n + n + m * n + m
    at_T = at_N + k * n + k
    at_v = at_T + k * d * n + k * d
    p, place = len(rows) // 2, len(closed)
    for c in range(len(closed)):
        i = closed[c]
        wall, coefficient = modes[k * d + i], data[at_v + k * d + i]
        bias[c], mu[c], partner[c] = wall * data[at_N + k * n + i], coefficient, 0
        for j in range(n):
            rows[c, j] = rows[p + c, j] = wall * data[at_N + i * n + j]
        ahead = speed = length = 0.0
        for e in range(i * d, i * d + d):
            mode, slip = modes[e], data[at_v + e]
            ahead -= mode * slip
            speed += slip * slip
            length += mode * mode
        rests = coefficient > 0.0 and length == 0.0
        if rests:
            if place == p:
                return False
            partner[c] = place
            for e in range(d):
                bias[place] = data[at_v - k * d + i * d + e]
                for j in range(n):
                    rows[place, j] = rows[p + place, j] = data[at_T + (i * d + e) * n + j]
                place += 1
        for e in range(d):
            way = -1.0 if rests and d == 1 else 0.0
            if length > 0.0:
                turned = d > 1 and ahead > 0.0 and speed > RESTING * RESTING
                way = -data[at_v + i * d + e] / math.sqrt(speed) if turned else modes[i * d + e] / math.sqrt(length)
            sigma[c, e] = way
            for j in range(n):
                rows[p + c, j] += coefficient * way * data[at_T + (i * d + e) * n + j]
    return place == p


def form_laws(n: int, size: int, space: StageWorkspace) -> bool:
    """Fill B and q of w = B z + q, of `size` pairs; return False if a row does not respond to its force."""
    B, q, norm, rows, motion, K = space.B, space.law[2], space.norm, space.rows, space.motion, space.K
    bias, mu, partner = space.law[0], space.law[1], space.order[0]
    (c, d), p = space.sigma.shape, len(norm) // 2
    for r in range(p):
        bare = 0.0
        for i in range(n):
            bare += rows[r, i] * rows[r, i] / K[i, i]
        if not norm[r] > MOVED * math.sqrt(bare):
            return False
    for r in range(c):  # both tangents of a contact have one unit, so that a disc remains a disc
        s = partner[r]
        if s and d > 1:
            norm[s] = norm[s + 1] = max(norm[s], norm[s + 1])
    for i in range(size):
        q[i] = 0.0
        for j in range(size):
            B[i, j] = 0.0
    for r in range(p):
        value = bias[r]
        for i in range(n):
            value += rows[r, i] * motion[2 * p, i]
        q[r] = value / norm[r]
        for s in range(p):
            value = 0.0
            for i in range(n):
                value += rows[r, i] * motion[p + s, i]
            B[r, s] = value / (norm[r] * norm[s])
    for r in range(c):
        s = partner[r]
        if s and d == 1:
            t = s + p - c
            B[s, t], B[t, r], B[t, s] = 1.0, 2.0 * mu[r] * norm[s] / norm[r], -1.0
    return True


def uniqueness(space: StageWorkspace) -> int:
    """Return the code of the proof of uniqueness for the scaled B; S becomes sym B if all contacts slide."""
    B, S, T, order, mu, norm = space.B, space.S, space.T, space.order[1], space.law[1], space.norm
    c = len(S)
    if len(norm) // 2 > c:
        known = oriented(B, c, mu, norm, space.order[0], T, space.D, order, space.order[2])
        return ORIENTED if known else UNDECIDED
    sliding = False
    for p in range(c):
        sliding = sliding or mu[p] > 0.0
        for s in range(c):
            S[p, s] = 0.5 * (B[p, s] + B[s, p])
    clear = factorise(S, T, order, c) == c
    for p in range(c):
        clear = clear and T[p, p] * CLEAR < 1.0
    if clear:
        return DEFINITE
    s = c - 1
    if s == 1 and B[0, 0] > 0.0 and B[s, s] > 0.0 and B[0, 0] * B[s, s] - B[0, s] * B[s, 0] > CLEAR:
        return P_MATRIX
    return OPEN if sliding else MONOTONE  # without friction, B is symmetric: forces in its kernel accelerate nothing


def invert(B: Matrix, active: Active, T: Matrix, place: Index, taken: Index) -> None:
    """Invert the principal system of the active pairs; dependent pairs become inactive.

    Elimination takes diagonal pivots in the given order if they are stable, and uses complete pivoting otherwise.

    Parameters
    ----------
    T : (size, size), written: z_t = sum of T[place[t], u] b[place[u]] over the active u solves B z = b
    place, taken : (size,); written: the row of each active pair, -1 for other pairs; whether a row is taken
    """
    size, largest = len(B), 0.0
    for i in range(size):
        place[i], taken[i] = -1, 0
        for j in range(size):
            entry = B[i, j]
            T[i, j] = entry
            largest = max(largest, abs(entry))
    for _ in range(size):
        best, s, t = DEPENDENT * largest, -1, -1
        for i in range(size):
            if active[i] and not taken[i]:
                if place[i] < 0 and T[i, i] > STABLE * largest:
                    s = t = i
                    break
                for j in range(size):
                    entry = abs(T[i, j])
                    if active[j] and place[j] < 0 and entry > best:
                        best, s, t = entry, i, j
        if s < 0:
            break
        place[t], taken[s] = s, 1
        pivot = T[s, t]
        T[s, t] = -1.0
        for j in range(size):
            T[s, j] /= -pivot
        for i in range(size):
            if i != s:
                factor = T[i, t]
                T[i, t] = 0.0
                for j in range(size):
                    T[i, j] += factor * T[s, j]
    for i in range(size):
        if place[i] < 0:
            active[i] = 0


def solve_pairs(active: Active, space: StageWorkspace) -> bool:
    """Solve 0 <= z, w = B z + q >= 0, z . w = 0 from the given active pairs; return False after `SETS` wrong sets.

    The function updates `active`, the pairs with w_i = 0. It writes law[3] to law[6]: z, w, the sum of the magnitudes
    of the terms of w, and the correction by a further refinement; and T, order[1] and order[2] as `invert` does.
    """
    B, T, place, taken = space.B, space.T, space.order[1], space.order[2]
    q, z, w, extent, error = space.law[2], space.law[3], space.law[4], space.law[5], space.law[6]
    size = len(q)
    for _ in range(SETS):
        invert(B, active, T, place, taken)
        for i in range(size):
            z[i] = error[i] = 0.0
        for refinement in range(3):
            for i in range(size):
                z[i] += error[i]
            for i in range(size):
                value = q[i]
                terms = abs(value)
                for j in range(size if refinement else 0):
                    term = B[i, j] * z[j]
                    value += term
                    terms += abs(term)
                w[i], extent[i] = value, terms
            for t in range(size):
                value = 0.0
                for u in range(size if active[t] else 0):
                    if active[u]:
                        value -= T[place[t], u] * w[place[u]]
                error[t] = value
        wrong = False
        for i in range(size):
            tiny = SIGN * extent[i]
            # These comparisons count a NaN as wrong.
            if active[i] and not (z[i] >= -tiny and abs(w[i]) <= 10.0 * tiny):
                active[i], wrong = 0, True
            elif not active[i] and not w[i] >= -tiny:
                active[i], wrong = 1, True
            elif z[i] < 0.0:
                z[i] = 0.0
        if not wrong:
            return True
    return False


def share_pairs(active: Active, space: StageWorkspace) -> bool:
    """Choose the forces law[3] of redundant contacts by the proximal steps of `ContactLCP.shared`.

    Return whether the laws hold then; `active` keeps the pairs that push and do not depend on others. Where no pairs
    depend on each other, the forces that `solve_pairs` has found remain.
    """
    B, T, place, taken, mask = space.B, space.T, space.order[1], space.order[2], space.order[3]
    q, z, w, extent, error, own, x = (
        space.law[2], space.law[3], space.law[4], space.law[5], space.law[6], space.law[7], space.law[8],
    )  # fmt: skip
    size, p, dependent = len(q), len(space.norm) // 2, False
    for i in range(size):
        mask[i], own[i], x[i] = (1 if i < p else 0), q[i], 0.0
    invert(B, mask, T, place, taken)
    for i in range(p):
        dependent = dependent or mask[i] == 0
        mask[i] = 1
    if not dependent:
        return solve_pairs(active, space)
    comply(COMPLIANT, space)
    solved = True
    for _ in range(PROXIMAL):
        for i in range(p):
            q[i] = own[i] - COMPLIANT * x[i]
        solved = solved and solve_pairs(mask, space)
        for i in range(p):
            x[i] = z[i]
        for r in range(len(space.S)):
            s = space.order[0, r]
            if s:
                x[s] -= space.law[1, r] * space.norm[s] / space.norm[r] * z[r]
    comply(-COMPLIANT, space)
    for i in range(size):
        q[i], active[i] = own[i], mask[i]
    invert(B, active, T, place, taken)
    for i in range(size):
        value = q[i]
        terms = abs(value)
        for j in range(size):
            term = B[i, j] * z[j]
            value += term
            terms += abs(term)
        w[i], extent[i] = value, terms
        tiny = SIGN * terms
        solved = solved and value >= -tiny and (mask[i] == 0 or value <= 10.0 * tiny)
    for t in range(size):
        error[t] = 0.0
        for u in range(size if active[t] else 0):
            if active[u]:
                error[t] -= T[place[t], u] * w[place[u]]
    return solved


def comply(compliance: float, space: StageWorkspace) -> None:
    """Add a compliance to the rows of B of forces; a contact without slip has friction z[s] less mu times z[r]."""
    for r in range(len(space.norm) // 2):
        space.B[r, r] += compliance
    for r in range(len(space.S)):
        s = space.order[0, r]
        if s:
            space.B[s, r] -= compliance * space.law[1, r] * space.norm[s] / space.norm[r]
