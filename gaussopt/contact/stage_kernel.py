"""A compiled kernel that solves and certifies one instant (a stage of the integrator) of a motion with contacts.

The kernel takes the regular case only: M positive definite, at least on the motions that the joints allow, joints
independent, every contact moved by its own force, and friction far enough from the limit where the contact operator
loses its definiteness. In all other cases it returns a code, and the general path (contact operator, solving,
certificate) decides. In space, contacts without slip obey friction cones: they have a kernel of their own in
`gaussopt.contact.stage_cones`, so that models in the plane need not wait until it is compiled. The solution gets the
same certificate as on that path: the distance between its acceleration and the one that follows from its forces by the
equations of motion; the natural map of all laws; and, by one more refinement, the distance to the exact solution for
the same contact modes.

Forces and accelerations of contacts are in the unit of the mass norm: with own = sqrt(row K row^T), z is own times the
force and w the acceleration over own, so that all entries of the laws are near 1. The system of the modes is inverted,
not factorised, because the certificate needs the effect of every single row on the acceleration.
"""

from __future__ import annotations

import math

from gaussopt.contact.saddle_kernel import factorise, mass_norm, respond, solve
from gaussopt.contact.stage_laws import (
    DEPENDENT_JOINTS,
    HELD,
    MASSLESS,
    MONOTONE,
    UNDECIDED,
    UNLAWFUL,
    StageWorkspace,
    form_laws,
    read_laws,
    read_saddle,
    share_pairs,
    solve_pairs,
    uniqueness,
)
from gaussopt.core.arrays import Index, Matrix, Vector
from gaussopt.jit.kernel import kernel
from gaussopt.lcp.pivoting import SOLVED, UNSOLVED, Active
from gaussopt.linalg.dense import EPS


@kernel
def stage(
    data: Vector, n: int, m: int, k: int, d: int, closed: Index, modes: Vector, active: Active, space: StageWorkspace,
    out: Vector, numbers: Vector,
) -> tuple[int, int]:  # fmt: skip
    """Solve and certify one instant, with p rows: the normals of c closed contacts, then the tangents without slip.

    In space, no contact may be without slip; see `gaussopt.contact.stage_cones.stage_in_space`.

    Parameters
    ----------
    data : flat; M, Q - h, J, gamma, J_N, zeta_N, J_T, zeta_T, v_T, mu of all k contacts, each by rows
    n, m, k, d : coordinates, joint rows, contacts, tangents
    closed : (c,), the contacts that are closed
    modes : flat; slip directions sigma, (k, d), and signs of normals, (k,): -1 at the far wall of two-sided contacts
    active : (c + 2 r,), with r contacts without slip
        Input and output: mask of the pairs with w_i = 0, first normals, then stick, then slip; unused with cones.
    space : StageWorkspace
    out : flat; written: a (n,), lam (m,), lam_N (c,), lam_T (c, d)
    numbers : (`NUMBERS`,), written: the numbers of the certificate

    Returns
    -------
    code, how
        `SOLVED`, or the reason why the general solver has to compute the stage; and the proof of uniqueness.
    """
    code = prepared(data, n, m, k, d, closed, modes, active, space, numbers)
    if code != SOLVED:
        return code, UNDECIDED
    how = uniqueness(space)
    if not pairs_solved(how, active, space):
        return UNSOLVED, UNDECIDED
    light = certify_forces(n, space, out, numbers)
    bound_mode(n, active, space, numbers)
    if not lawful(light, space, numbers):
        return UNLAWFUL, UNDECIDED
    return SOLVED, how


def prepared(
    data: Vector, n: int, m: int, k: int, d: int, closed: Index, modes: Vector, active: Active, space: StageWorkspace,
    numbers: Vector,
) -> int:  # fmt: skip
    """Write the laws of the contacts; return `SOLVED`, or the reason why the general solver has to compute the stage.

    Entry 7 of `numbers` receives the mass norm of the acceleration without contact forces, and entry 11 its own value.
    """
    K, L, first, norm = space.K, space.L, space.first, space.norm
    p = len(norm) // 2
    for i in range(m):
        space.stiffness[i] = 0.0
    if not read_laws(data, n, m, k, d, closed, modes, space):
        return HELD
    read_saddle(data, n, m, K, space.rows[2 * p])
    done = factorise(K, L, first, n)
    singular = done < n
    if singular:
        stiffen(n, space)
        done = factorise(K, L, first, n)
    if done < len(K):
        return MASSLESS if done < n else DEPENDENT_JOINTS
    for r in range(2 * p + 1):
        respond(K, L, first, n, space.rows, space.motion, norm, space.body[0], r)
    numbers[7], numbers[11] = norm[2 * p], 0.0
    if singular:
        numbers[7], numbers[11] = without_stiffness(n, space, norm[2 * p]), 1.0
    return SOLVED if form_laws(n, len(active), space) else HELD


def pairs_solved(how: int, active: Active, space: StageWorkspace) -> bool:
    """Solve the laws of contacts in the plane; return whether forces were found."""
    redundant = how >= MONOTONE and len(space.S) > 1
    return solve_pairs(active, space) and (not redundant or share_pairs(active, space))


def lightest(n: int, K: Matrix) -> float:
    """Return the largest length of a coordinate's motion of mass norm 1."""
    found = 0.0
    for i in range(n):
        found = max(found, 1.0 / math.sqrt(K[i, i]))
    return found


def stiffen(n: int, space: StageWorkspace) -> None:
    """Add J^T W J to M in K, where W = diag(stiffness). Since J a = gamma, only lam changes, by -W gamma.

    The sum is positive definite if M is positive definite on the motions that the joints allow. It is no smaller than
    M, so that its norm bounds the mass norm. The stiffness of a row is its effective mass without the other rows.
    """
    K, weight = space.K, space.stiffness
    for r in range(len(weight)):
        light = own = heaviest = 0.0
        for j in range(n):
            row, mass = K[n + r, j], K[j, j]
            light += row * row / mass if mass > 0.0 else 0.0
            own, heaviest = own + row * row, max(heaviest, mass)
        weight[r] = 1.0 / light if light > 0.0 else heaviest / own if own > 0.0 else 0.0
    for i in range(n):
        for j in range(n):
            for r in range(len(weight)):
                K[i, j] += weight[r] * K[n + r, i] * K[n + r, j]


def without_stiffness(n: int, space: StageWorkspace, length: float) -> float:
    """Return ||a||_M of a = `space.motion[2 p]`, given its norm `length` with the matrix of `stiffen`."""
    K, x, square = space.K, space.motion[len(space.motion) - 1], length * length
    for r in range(len(space.stiffness)):
        rate = 0.0
        for j in range(n):
            rate += K[n + r, j] * x[j]
        square -= space.stiffness[r] * rate * rate
    return math.sqrt(max(square, 0.0))


EXACT = 1e-11
"""Relative violation of a law that counts as a rounding error, as in `gaussopt.certificates.contact`."""


def apply_forces(n: int, space: StageWorkspace, out: Vector) -> float:
    """Add contact forces to b and their motion to x; write a and lam; return sqrt(sum b_i^2 / M_ii) of the old b."""
    rows, motion, norm, z, K = space.rows, space.motion, space.norm, space.law[3], space.K
    p, light = len(norm) // 2, 0.0
    b, x = rows[2 * p], motion[2 * p]
    for i in range(len(x)):
        total, a = b[i], x[i]
        light += total * total / K[i, i] if i < n else 0.0
        for r in range(p):
            push = z[r] / norm[r]
            total += rows[p + r, i] * push
            a += motion[p + r, i] * push
        b[i], x[i] = total, a
        out[i] = a if i < n else -a
    return math.sqrt(light)


def certify_motion(n: int, space: StageWorkspace, numbers: Vector) -> None:
    """Write entries 0 to 6 and 10 of the certificate, see `NUMBERS`, for x = (a, -lam); b holds all forces and gamma.

    These numbers follow from the residual K x - b of the equations of motion, as in `gaussopt.certificates.bilateral`:
    K^-1 times the residual contains the error of the acceleration.
    """
    K, L, first, p = space.K, space.L, space.first, len(space.norm) // 2
    b, x, u, half, size = space.rows[2 * p], space.motion[2 * p], space.body[0], space.body[1], space.body[2]
    missed = demanded = reported = growth = norm = norm_a = 0.0
    for i in range(len(x)):
        value = -b[i]
        terms = abs(value)
        for j in range(len(x) if i < n else n):
            term = K[i, j] * x[j]
            value += term
            terms += abs(term)
        u[i], size[i] = value, terms
        missed += value * value if i >= n else 0.0
        demanded += b[i] * b[i] if i >= n else 0.0
    for i in range(len(x)):
        # Write L^-1 u, and a bound on |L^-1| size by substitution with absolute values. Joints are treated separately.
        value, terms, inverse = u[i], size[i], L[i, i]
        for j in range(first[i] if i < n else n, i):
            value -= L[i, j] * half[j]
            terms += abs(L[i, j]) * size[j]
        half[i], size[i] = value, terms
        reported += inverse * value * value if i < n else 0.0
        growth += terms * terms * abs(inverse)
    solve(L, first, u)
    for i in range(n):
        value, a = u[i], x[i]
        norm += value * value
        norm_a += a * a
    numbers[0], numbers[1], numbers[2] = mass_norm(K, first, n, u), math.sqrt(norm), math.sqrt(missed)
    numbers[3], numbers[4] = math.sqrt(reported), EPS * math.sqrt(growth)
    numbers[5], numbers[6], numbers[10] = mass_norm(K, first, n, x), math.sqrt(norm_a), math.sqrt(demanded)


def bound_mode(n: int, active: Active, space: StageWorkspace, numbers: Vector) -> None:
    """Add to numbers[0], [1] and [4] the distance to the solution of the mode, and the rounding errors of its rows."""
    K, first, motion, norm, T = space.K, space.first, space.motion, space.norm, space.T
    z, extent, error, place, y = space.law[3], space.law[5], space.law[6], space.order[1], space.body[1]
    p, size = len(norm) // 2, len(active)
    rounding = norm[2 * p]
    for r in range(p):
        rounding += norm[p + r] / norm[r] * z[r]
    for t in range(size + 1):
        distance = 0.0
        for i in range(n if t == size or active[t] else 0):
            value = 0.0
            for r in range(p):
                if active[r]:
                    value += motion[p + r, i] / norm[r] * (T[place[r], t] if t < size else error[r])
            y[i] = value
            distance += value * value
        if t == size:
            numbers[0] += mass_norm(K, first, n, y)
            numbers[1] += math.sqrt(distance)
        elif active[t]:
            rounding += mass_norm(K, first, n, y) * extent[place[t]]
    numbers[4] += EPS * rounding


def certify_forces(n: int, space: StageWorkspace, out: Vector, numbers: Vector) -> float:
    """Write the solution that has the forces law[3], and its certificate but for entries 7 and 11 and `bound_mode`.

    Return what `apply_forces` returns.
    """
    light = apply_forces(n, space, out)
    for i in range(len(space.stiffness)):
        out[n + i] -= space.stiffness[i] * space.rows[len(space.rows) - 1, n + i]
    certify_motion(n, space, numbers)
    if numbers[11] > 0.0:
        numbers[5] = without_stiffness(n, space, numbers[5])
    measure_laws(n, space, out, numbers)
    return light


def lawful(light: float, space: StageWorkspace, numbers: Vector) -> bool:
    """Complete entry 7 of the certificate; return whether the laws of the contacts hold to rounding errors."""
    free, called, q = numbers[7], 0.0, space.law[2]
    numbers[7] = free + numbers[5] + light
    # The scale excludes contact forces: relative to huge wrong forces, every residual would be small.
    for r in range(len(space.norm) // 2):
        called += q[r] * q[r]
    return bool(numbers[8] <= EXACT * (math.sqrt(called) + free))


def measure_laws(n: int, space: StageWorkspace, out: Vector, numbers: Vector) -> None:
    """Write forces, the norm of their natural map in the plane to numbers[8], and the least w to numbers[9]."""
    rows, norm, sigma, partner = space.rows, space.norm, space.sigma, space.order[0]
    bias, mu, z, w = space.law[0], space.law[1], space.law[3], space.law[4]
    (c, d), p = sigma.shape, len(norm) // 2
    x = space.motion[2 * p]
    violated, smallest = 0.0, math.inf
    for r in range(p):
        value = bias[r]
        for i in range(n):
            value += rows[r, i] * x[i]
        w[r] = value
    for r in range(c):
        at, s, own = len(x) + c + r * d, partner[r], norm[r]
        push, value = z[r] / own, w[r]
        bound = mu[r] * push
        out[len(x) + r] = push
        for e in range(d):
            out[at + e] = bound * sigma[r, e]
        smallest = min(smallest, value)
        violated += min(push * own, value / own) ** 2
        if s and d > 1:
            for e in range(d):
                out[at + e] = z[s + e] / norm[s]
        elif s:
            own = norm[s]
            friction = z[s] / own - bound
            out[at] = friction
            violated += ((friction - min(max(friction - w[s] / own**2, -bound), bound)) * own) ** 2
    numbers[8], numbers[9] = math.sqrt(violated), smallest
