"""A stage of a motion with contacts as one compiled kernel: operator, laws, solution and certificate of one instant.

The kernel takes the regular case only: M positive definite, joints independent, every contact moved by its own force,
and friction far enough from the limit where the contact operator loses its definiteness. In all other cases it returns
a code and the general path (contact operator, solving, certificate) decides. The certificate of its solution is the
same as on that path: the distance of the acceleration from the acceleration that its forces cause, by the equations of
motion; the natural map of all laws; and the distance to the solution of the mode, by one more refinement.

Forces and accelerations of contacts are in the unit of the mass norm: with own = sqrt(row K row^T), z is own times the
force and w the acceleration over own, so that all entries of the laws are near 1. The system of the mode is inverted,
not factorised, because the certificate needs the effect of every single row on the acceleration.
"""

from __future__ import annotations

from gaussopt.contact.saddle_kernel import factorise, respond
from gaussopt.contact.stage_certificate import apply_forces, bound_mode, certify_motion, check_laws
from gaussopt.contact.stage_laws import form_laws, read_laws, read_saddle, solve_pairs, uniqueness
from gaussopt.contact.stage_workspace import (
    DEPENDENT_JOINTS,
    HELD,
    MASSLESS,
    UNDECIDED,
    UNLAWFUL,
    StageWorkspace,
)
from gaussopt.core.arrays import Vector
from gaussopt.jit.kernel import kernel
from gaussopt.lcp.pivoting import SOLVED, UNSOLVED, Active, Index


@kernel
def stage(
    data: Vector, n: int, m: int, k: int, d: int, closed: Index, modes: Vector, active: Active, space: StageWorkspace,
    out: Vector, numbers: Vector,
) -> tuple[int, int]:  # fmt: skip
    """Solve and certify one instant in the modes of a phase; its p rows are c normals, then tangents without slip.

    Parameters
    ----------
    data : flat; M, Q - h, J, gamma, J_N, zeta_N, J_T, zeta_T, v_T, mu of all k contacts, each by rows
    n, m, k, d : coordinates, joint rows, contacts, tangents
    closed : (c,), the contacts that are closed
    modes : flat; sigma (k, d) of the phase, then (k,) the normal's sign, -1 at the opposite wall of a two-sided contact
    active : (2 p - c,)
        In and out: the pairs of the complementarity problem with w_i = 0: normals, then stick, then slip.
    space : StageWorkspace
    out : flat; written: a (n,), lam (m,), lam_N (c,), lam_T (c, d)
    numbers : (`NUMBERS`,), written

    Returns
    -------
    code, how
        `SOLVED`, or the reason why the stage is left to the general path; and the proof of uniqueness.
    """
    K, L, first, norm = space.K, space.L, space.first, space.norm
    p = len(norm) // 2
    if not read_laws(data, n, m, k, d, closed, modes, space):
        return HELD, UNDECIDED
    read_saddle(data, n, m, K, space.rows[2 * p])
    done = factorise(K, L, first, n)
    if done < len(K):
        return (MASSLESS if done < n else DEPENDENT_JOINTS), UNDECIDED
    for r in range(2 * p + 1):
        respond(K, L, first, n, space.rows, space.motion, norm, space.body[0], r)
    free = norm[2 * p]
    if not form_laws(n, len(active), space):
        return HELD, UNDECIDED
    how = uniqueness(space)
    if not solve_pairs(active, space):
        return UNSOLVED, UNDECIDED
    light = apply_forces(n, space, out)
    certify_motion(n, space, numbers)
    bound_mode(n, free, active, space, numbers)
    numbers[7] = free + numbers[5] + light
    if not check_laws(n, free, space, out, numbers):
        return UNLAWFUL, UNDECIDED
    return SOLVED, how
