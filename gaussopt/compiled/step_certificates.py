"""Certificates of recorded Moreau-Jean steps, by the kernel that certifies the stages of motions with contacts."""

from __future__ import annotations

import numpy as np

from gaussopt.compiled.contact_equations import ContactEquations
from gaussopt.compiled.contact_kernel import Equations, Stage, certified, copy
from gaussopt.contact.stage_kernel import stage
from gaussopt.contact.stage_laws import MONOTONE, NUMBERS, StageWorkspace, stage_workspace
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.jit.kernel import kernel
from gaussopt.lcp.pivoting import SOLVED, Active, Index

ABOUT = 4
"""Numbers of a certified row before the solution: 1 if it is certified, else 0; error bound, its relative size, and
whether the forces are unique."""


@kernel
def certify(
    step: Equations, about: Equations, stage: Stage, times: Matrix, trace: Matrix, p: Vector, law: Vector, n: int,
    m: int, closed: Index, modes: Vector, active: Active, memory: StageWorkspace, flat: Vector, data: Vector,
    said: Vector, out: Vector, numbers: Vector, tolerance: float, worst: Vector, table: Matrix,
) -> None:  # fmt: skip
    """Certify the rows of `trace` that have the same contacts `closed`; the arguments are those of `certified_rows`.

    The step data of a jump are those of `gaussopt.contact.velocity_level.jump_step`. Each row of `table` holds `ABOUT`
    numbers; dv, impulses of joints, normals and tangents of the closed contacts; g_N, gdot_N and v_T of all contacts at
    the end; and what `about` writes there.
    """
    k, square, rows = len(law) // 3, n * n, m * n
    source, at_N = square + 2 * n + rows + m + 2 * k, square + n + rows + m
    at_T = at_N + k * n + k
    for r in range(len(trace)):
        h, row = times[r, 1] - times[r, 0], trace[r]
        step(times[r, 0], row[1 : 1 + n], row[1 + n : 1 + 2 * n], p, flat)
        about(times[r, 0], row[1 : 1 + n], row[1 + n : 1 + 2 * n], p, said)
        copy(flat[:square], data, 0)
        for i in range(n):
            data[square + i] = h * row[1 + 4 * n + i]
        copy(flat[square + 2 * n : square + 2 * n + rows], data, square + n)
        for i in range(m):
            data[square + n + rows + i] = -said[len(said) - m + i]
        copy(flat[source : len(flat)], data, at_N)
        for i in range(k):
            data[at_N + k * n + i] = (1.0 + law[k + i]) * flat[source - k + i]
            data[at_T + k * n + i] = (1.0 + law[2 * k + i]) * flat[len(flat) - k + i]
            data[at_T + k * n + k + i] = 0.0
            data[at_T + k * n + 2 * k + i] = law[i]
        code, how = stage(data, n, m, k, 1, closed, modes, active, memory, out, numbers)
        found = table[r]
        found[0] = 1.0 if code == SOLVED and how <= MONOTONE and certified(numbers, tolerance, worst) else 0.0
        found[1], found[2] = numbers[0], numbers[0] / (1.0 + numbers[5])
        found[3] = 1.0 if how < MONOTONE else 0.0
        at = copy(out, found, ABOUT)
        step(times[r, 1], row[1 + 2 * n : 1 + 3 * n], row[1 + 3 * n : 1 + 4 * n], p, flat)
        at = copy(flat[source - 2 * k : source], found, at)
        at = copy(flat[len(flat) - k : len(flat)], found, at)
        about(times[r, 1], row[1 + 2 * n : 1 + 3 * n], row[1 + 3 * n : 1 + 4 * n], p, found[at : len(found)])


def certified_rows(
    equations: ContactEquations, sizes: tuple[int, int, int], closed: Index, times: Matrix, trace: Matrix, p: Vector,
    law: Vector, tolerance: float, worst: Vector,
) -> Matrix:  # fmt: skip
    """Certify recorded steps in which the same contacts take part.

    Parameters
    ----------
    equations : those of the model
    sizes : numbers of coordinates, of rows of joints, and of holonomic rows
    closed : (c,), the contacts that take part
    times : (rows, 2), start and end of each step
    trace : (rows, 2 + 5 n), as `gaussopt.compiled.march.moreau_jean.march` writes it
    p, law : parameters; mu, e_N and e_T of all contacts
    tolerance : of the certificate
    worst : (5,), keeps the largest numbers of the certificates, see `contact_kernel.certified`

    Returns
    -------
    table : (rows, width), see `certify`
    """
    (n, m, m_h), k, c = sizes, len(law) // 3, len(closed)
    resting = int((law[closed] > 0).sum())
    active = np.zeros(c + 2 * resting, np.int64)
    active[: c + resting] = 1
    flat = n * n + 2 * n + m * n + m + k * (2 * n + 5)
    table = np.zeros((len(trace), ABOUT + n + m + 2 * c + 3 * k + 3 + m_h + m))
    certify(
        equations.step, equations.about, stage, times, trace, p, law, n, m, closed,
        np.concatenate((np.zeros(k), np.ones(k))), active, stage_workspace(n, m, 1, c, resting), np.zeros(flat),
        np.zeros(flat - n - k), np.zeros(3 + m_h + m), np.zeros(n + m + 2 * c), np.zeros(NUMBERS), tolerance, worst,
        table,
    )  # fmt: skip
    return table
