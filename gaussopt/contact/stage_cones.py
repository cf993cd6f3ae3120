"""The kernel of `gaussopt.contact.stage_kernel` for contacts in space, whose laws without slip are friction cones.

In the unit of the mass norm, the normal force of a contact has one scale and its two tangential forces another one, so
that a friction disc remains a disc, with another coefficient. A contact that slides has its friction in the column of
its normal force. Newton's method of `gaussopt.cone.newton_kernel` starts without forces, and where redundant contacts
leave them undetermined, from those of slightly compliant contacts: the forces depend on the data of the stage only.
"""

from __future__ import annotations

import math

import numpy as np

from gaussopt.cone.newton_kernel import STEPS
from gaussopt.cone.proximal_kernel import shared_forces
from gaussopt.contact.saddle_kernel import factorise
from gaussopt.contact.stage_kernel import bound_mode, certify_forces, lawful, lightest, pairs_solved, prepared
from gaussopt.contact.stage_laws import CLEAR, OPEN, STRONG, UNDECIDED, UNLAWFUL, StageWorkspace, uniqueness
from gaussopt.core.arrays import Index, Vector
from gaussopt.jit.kernel import kernel
from gaussopt.lcp.pivoting import SOLVED, UNSOLVED, Active


@kernel
def stage_in_space(
    data: Vector, n: int, m: int, k: int, d: int, closed: Index, modes: Vector, active: Active, space: StageWorkspace,
    out: Vector, numbers: Vector,
) -> tuple[int, int]:  # fmt: skip
    """Solve and certify one instant in space or in the plane, see `gaussopt.contact.stage_kernel.stage`."""
    cones = d > 1 and len(space.norm) // 2 > len(closed)
    code = prepared(data, n, m, k, d, closed, modes, active, space, numbers)
    if code != SOLVED:
        return code, UNDECIDED
    how = strongly_monotone(space) if cones else uniqueness(space)
    if not (how != OPEN and solve_cones(how == UNDECIDED, space) if cones else pairs_solved(how, active, space)):
        return UNSOLVED, UNDECIDED
    light = certify_forces(n, space, out, numbers)
    if cones:
        certify_cones(n, space, numbers)
    else:
        bound_mode(n, active, space, numbers)
    if not lawful(light, space, numbers):
        return UNLAWFUL, UNDECIDED
    return SOLVED, how


def certify_cones(n: int, space: StageWorkspace, numbers: Vector) -> None:
    """Write entry 8 of the certificate, and add the violation of the laws to entries 0 and 1.

    Where all laws hold to rounding errors, this is a solution, even if its modes are degenerate.
    """
    numbers[8] = math.sqrt(violated_cones(space))
    numbers[0] += numbers[8]
    numbers[1] += numbers[8] * lightest(n, space.K)


def disc(c: int, space: StageWorkspace) -> float:
    """Return the friction coefficient of contact c in the unit of the mass norm; 0 if the contact slides."""
    s = space.order[0, c]
    return space.law[1, c] * space.norm[s] / space.norm[c] if s else 0.0


def strongly_monotone(space: StageWorkspace) -> int:
    """Return `STRONG` if the law is strongly monotone, by the inequality of `gaussopt.cone.monotonicity` for one tau.

    Dependent rows rule that out and give `UNDECIDED`; otherwise the general solver tries more proofs: `OPEN`.
    """
    B, C, T, order, partner = space.B, space.D, space.T, space.order[1], space.order[0]
    p = len(B)
    for i in range(p):
        for j in range(p):
            C[i, j] = 0.5 * (B[i, j] + B[j, i])
    if factorise(C, T, order, p) < p:
        return UNDECIDED
    for c in range(len(space.S)):
        s, mu, size = partner[c], disc(c, space), 0.0
        if s:
            for j in range(p):
                size += B[s, j] * B[s, j] + B[s + 1, j] * B[s + 1, j]
            tau = mu * math.sqrt(size)
            C[c, c] -= 0.5 * tau
            for i in range(p):
                for j in range(p):
                    C[i, j] -= 0.5 * mu * mu / tau * (B[s, i] * B[s, j] + B[s + 1, i] * B[s + 1, j])
    if factorise(C, T, order, p) < p:
        return OPEN
    clear = True
    for i in range(p):
        clear = clear and T[i, i] * CLEAR < 1.0
    return STRONG if clear else OPEN


def place_cones(place: Index, space: StageWorkspace) -> None:
    """Write the place of each row of the stage in a problem with three rows for each contact."""
    for c in range(len(space.S)):
        s = space.order[0, c]
        place[c] = 3 * c
        if s:
            place[s], place[s + 1] = 3 * c + 1, 3 * c + 2


def solve_cones(redundant: bool, space: StageWorkspace) -> bool:
    """Write forces to law[3] by Newton's method; return whether it converged."""
    B, q, z, place = space.B, space.law[2], space.law[3], space.order[1]
    p, k = len(B), len(space.S)
    n = 3 * k
    W, b, r, mu = np.zeros(n * n), np.zeros(n), np.zeros(n), np.zeros(k)
    place_cones(place, space)
    for i in range(n):
        W[i * n + i] = 1.0
    for i in range(p):
        b[place[i]] = q[i]
        for j in range(p):
            W[place[i] * n + place[j]] = B[i, j]
    for c in range(k):
        mu[c] = disc(c, space)
    taken = shared_forces(W, b, mu, r, redundant)
    for i in range(p):
        z[i] = r[place[i]]
    for c in range(k):
        z[c] = max(z[c], 0.0)
    return taken < STEPS


def violated_cones(space: StageWorkspace) -> float:
    """Return the square of the natural map of all laws at the forces law[3] and the accelerations law[4]."""
    z, w, norm, found = space.law[3], space.law[4], space.norm, 0.0
    for c in range(len(space.S)):
        s, push = space.order[0, c], z[c] - w[c] / norm[c]
        found += min(z[c], w[c] / norm[c]) ** 2
        if s:
            x, y = z[s] - w[s] / norm[s], z[s + 1] - w[s + 1] / norm[s]
            length, radius = math.sqrt(x * x + y * y), disc(c, space) * max(push, 0.0)
            share = radius / length if length > radius else 1.0
            found += (z[s] - share * x) ** 2 + (z[s + 1] - share * y) ** 2
    return found
