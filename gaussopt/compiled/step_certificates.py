"""Certificates of recorded Moreau-Jean steps, by the kernel that certifies the stages of motions with contacts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.compiled.contact_equations import ContactEquations
from gaussopt.compiled.contact_kernel import Equations, Stage, copy, laws
from gaussopt.contact.stage_kernel import stage
from gaussopt.contact.stage_laws import MONOTONE, NUMBERS, StageWorkspace, certified, stage_workspace
from gaussopt.core.arrays import Index, Matrix, Vector
from gaussopt.integration.events.modes import OPEN, SLIDING
from gaussopt.integration.trajectory import COLUMNS, CONTACT_COLUMNS
from gaussopt.jit.kernel import kernel
from gaussopt.lcp.pivoting import SOLVED, Active

ABOUT = 4
"""Numbers of a certified row before the solution: 1 if it is certified, else 0; error bound, its relative size, and
whether the forces are unique."""


@kernel
def certify(
    step: Equations, about: Equations, stage: Stage, times: Matrix, trace: Matrix, p: Matrix, law: Matrix, n: int,
    m: int, closed: Index, modes: Vector, active: Active, memory: StageWorkspace, flat: Vector, data: Vector,
    said: Vector, out: Vector, numbers: Vector, tolerance: float, worst: Vector, table: Matrix,
) -> None:  # fmt: skip
    """Certify the rows of `trace` that have the same contacts `closed`; the arguments are those of `certified_rows`.

    The step data of a jump are those of `gaussopt.contact.velocity_level.jump_step`. Each row of `table` holds `ABOUT`
    numbers; dv, impulses of joints, normals and tangents of the closed contacts; g_N, gdot_N and v_T of all contacts at
    the end; and what `about` writes there.
    """
    k, square, rows = law.shape[1] // 3, n * n, m * n
    source, at_N = square + 2 * n + rows + m + 2 * k, square + n + rows + m
    at_T = at_N + k * n + k
    for r in range(len(trace)):
        t, h, end, row = times[r, 0], times[r, 1], times[r, 2], trace[r]
        own, mu = p[min(r, len(p) - 1)], law[min(r, len(law) - 1)]
        step(t, row[1 : 1 + n], row[1 + n : 1 + 2 * n], own, flat)
        about(t, row[1 : 1 + n], row[1 + n : 1 + 2 * n], own, said)
        copy(flat[:square], data, 0)
        for i in range(n):
            data[square + i] = h * row[1 + 4 * n + i]
        copy(flat[square + 2 * n : square + 2 * n + rows], data, square + n)
        for i in range(m):
            data[square + n + rows + i] = -said[len(said) - m + i]
        copy(flat[source : len(flat)], data, at_N)
        for i in range(k):
            data[at_N + k * n + i] = (1.0 + mu[k + i]) * flat[source - k + i]
            data[at_T + k * n + i] = (1.0 + mu[2 * k + i]) * flat[len(flat) - k + i]
            data[at_T + k * n + k + i] = 0.0
            data[at_T + k * n + 2 * k + i] = mu[i]
        code, how = stage(data, n, m, k, 1, closed, modes, active, memory, out, numbers)
        found = table[r]
        found[0] = 1.0 if code == SOLVED and how <= MONOTONE and certified(numbers, tolerance, worst) else 0.0
        found[1], found[2] = numbers[0], numbers[0] / (1.0 + numbers[5])
        found[3] = 1.0 if how < MONOTONE else 0.0
        at = copy(out, found, ABOUT)
        step(end, row[1 + 2 * n : 1 + 3 * n], row[1 + 3 * n : 1 + 4 * n], own, flat)
        at = copy(flat[source - 2 * k : source], found, at)
        at = copy(flat[len(flat) - k : len(flat)], found, at)
        about(end, row[1 + 2 * n : 1 + 3 * n], row[1 + 3 * n : 1 + 4 * n], own, found[at : len(found)])


def taking_part(bits: float, k: int) -> Index:
    """Return the numbers of the contacts, of k, that `bits` of a trace marks."""
    return np.array([i for i in range(k) if int(bits) >> i & 1], dtype=np.int64)


def coefficients(equations: ContactEquations, p: Matrix, k: int) -> Matrix:
    """Return mu, e_N and e_T of k contacts for each row of parameters, (rows, 3 k)."""
    found = np.zeros((len(p), 3 * k))
    laws(equations.law, p, np.zeros(0), found)
    return found


def certified_rows(
    equations: ContactEquations, sizes: tuple[int, int, int], closed: Index, times: Matrix, trace: Matrix,
    p_and_law: tuple[Matrix, Matrix], tolerance: float, worst: Vector,
) -> tuple[NDArray[np.bool_], dict[str, Any]]:  # fmt: skip
    """Certify recorded steps in which the same contacts take part.

    Parameters
    ----------
    equations : those of the model
    sizes : numbers of coordinates, of rows of joints, and of holonomic rows
    closed : (c,), the contacts that take part
    times : (rows, 3), start and length of each step, and the instant of its recorded state
    trace : (rows, 2 + 5 n), as `gaussopt.compiled.march.moreau_jean.traced` writes it
    p_and_law : parameters; mu, e_N and e_T of all contacts; one row for all steps, or one for each
    tolerance : of the certificate
    worst : (5,), keeps the largest numbers of the certificates, see `stage_laws.certified`

    Returns
    -------
    good, columns : (rows,), which certificates pass; the values to record, by their names in the order of `Recorder`
    """
    p, law = p_and_law
    (n, m, m_h), k, c = sizes, law.shape[1] // 3, len(closed)
    resting = int((law[0, closed] > 0).sum())
    active = np.zeros(c + 2 * resting, np.int64)
    active[: c + resting] = 1
    flat = n * n + 2 * n + m * n + m + k * (2 * n + 5)
    table = np.zeros((len(trace), sum(widths(sizes, c, k, 1))))
    certify(
        equations.step, equations.about, stage, times, trace, p, law, n, m, closed,
        np.concatenate((np.zeros(k), np.ones(k))), active, stage_workspace(n, m, 1, c, resting), np.zeros(flat),
        np.zeros(flat - n - k), np.zeros(3 + m_h + m), np.zeros(n + m + 2 * c), np.zeros(NUMBERS), tolerance, worst,
        table,
    )  # fmt: skip
    return table[:, 0] > 0.0, columns_of(table, trace[:, 1 + 2 * n : 1 + 4 * n], times[:, 1:2], sizes, closed, (k, 1))


def widths(sizes: tuple[int, int, int], c: int, k: int, d: int) -> tuple[int, ...]:
    """Return the numbers of entries of the parts of a certified row, with c of k contacts closed and d tangents."""
    n, m, m_h = sizes
    return ABOUT, n, m, c, d * c, k, k, d * k, 3, m_h, m


def columns_of(
    table: Matrix, states: Matrix, h: Matrix, sizes: tuple[int, int, int], closed: Index, contacts: tuple[int, int]
) -> dict[str, Any]:
    """Return the values to record of certified rows, given the states (rows, 2 n) and lengths (rows, 1) of the steps.

    `contacts` are the numbers of contacts and of their tangents.
    """
    rows, n, (k, d) = len(table), sizes[0], contacts
    parts = np.split(table, np.cumsum(widths(sizes, len(closed), k, d))[:-1], axis=1)
    said, dv, lam, normal, tangent, gap, rate, slip, energies, phi, velocity = parts
    lam_N, lam_T, mode = np.zeros((rows, k)), np.zeros((rows, k, d)), np.full((rows, k), float(OPEN))
    lam_N[:, closed], mode[:, closed] = normal / h, SLIDING
    lam_T[:, closed] = tangent.reshape(rows, -1, d) / h[:, :, None]

    def largest(*residuals: Matrix) -> Vector:
        return np.asarray(np.abs(np.hstack(residuals)).max(axis=1, initial=0.0))

    columns = (
        states[:, :n], states[:, n:], dv / h, lam / h, said[:, 1], said[:, 2],
        largest(phi, gap[:, closed]), largest(velocity, rate[:, closed]), *energies.T, said[:, 3], lam_N, gap, mode,
        lam_T, slip.reshape(rows, k, d),
    )  # fmt: skip
    return dict(zip((*COLUMNS, *CONTACT_COLUMNS), columns, strict=True))
