"""Derivatives of a MuJoCo model's forces with respect to velocities and coordinates, and a test of stable steps.

MuJoCo's integrators implicit and implicitfast evaluate velocity-dependent forces at the end of a step. Moreau-Jean
steps do the same for models that select one of them, because otherwise stiff servos on light links are unstable.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.errors import BadInput

SHIFT = 1e-6
"""Change of a velocity or coordinate, relative to 1 + its absolute value, for finite differences of forces."""

BEYOND = 1e-3
"""Fraction per step by which a motion whose sign changes in every step may grow; faster growth raises BadInput."""

MOST_HALVINGS = 60
"""Largest number of halvings of a step in the search for a stable step."""


def implicit(mj: Any, model: Any) -> bool:
    """Return whether the integrator of the model evaluates damping at the end of a step."""
    return model.opt.integrator in (int(mj.mjtIntegrator.mjINT_IMPLICIT), int(mj.mjtIntegrator.mjINT_IMPLICITFAST))


def depends_on_velocity(mj: Any, model: Any) -> bool:
    """Return whether forces other than the linear damping of joints may depend on velocities."""
    servos = model.nu and (
        (model.actuator_biastype != mj.mjtBias.mjBIAS_NONE).any()
        or (model.actuator_gaintype != mj.mjtGain.mjGAIN_FIXED).any()
        or model.actuator_damping.any() or model.actuator_dampingpoly.any()
    )  # fmt: skip
    passive = model.tendon_damping, model.tendon_dampingpoly, model.dof_dampingpoly, model.opt.density
    return bool(servos or any(np.any(x) for x in passive) or model.opt.viscosity or model.nplugin)


def damping_matrix(mj: Any, model: Any, data: Any) -> Matrix:
    """Return the symmetric part of D = -dF/dw, with the forces F of `_forces` and the velocities w, (nv, nv)."""
    w, found = data.qvel.copy(), np.zeros((model.nv, model.nv))
    before = _forces(mj, model, data)
    for i, shift in enumerate(SHIFT * (1.0 + np.abs(w))):
        data.qvel[i] = w[i] + shift
        found[i] = (before - _forces(mj, model, data)) / shift
        data.qvel[i] = w[i]
    _forces(mj, model, data)
    return 0.5 * (found + found.T)


def _forces(mj: Any, model: Any, data: Any) -> Vector:
    """Return forces of joints, tendons, actuators and fluids, (nv,), at the velocities in `data`."""
    mj.mj_fwdVelocity(model, data)
    mj.mj_fwdActuation(model, data)
    forces: Vector = data.qfrc_passive + data.qfrc_actuator
    return forces


def _stiffness_matrix(mj: Any, model: Any, data: Any) -> Matrix:
    """Return K = -dF/dx, with the forces F of `_forces` and displacements x of the coordinates, (nv, nv)."""
    q, found = data.qpos.copy(), np.zeros((model.nv, model.nv))
    before = _forces(mj, model, data)
    for i in range(model.nv):
        along = np.zeros(model.nv)
        along[i] = 1.0
        mj.mj_integratePos(model, data.qpos, along, SHIFT)
        mj.mj_fwdPosition(model, data)
        found[:, i] = (before - _forces(mj, model, data)) / SHIFT
        data.qpos[:] = q
    mj.mj_fwdPosition(model, data)
    _forces(mj, model, data)
    return found


def refuse_unstable(mj: Any, model: Any, data: Any, given: tuple[Matrix, Matrix, Matrix], dt: float) -> None:
    """Raise BadInput, which names a stable length, if steps of length dt, s, make the model unstable.

    `given` are the mass matrix M, the damping matrix D' at the end of a step, both (nv, nv), and the equality rows,
    (m, nv). Small motions w, x about the state of `data` that satisfy the equalities follow

        (M + dt D') (w' - w) = -dt (D w + K x),    x' = x + dt w'

    with total damping D and stiffness K; steps are unstable if a motion grows while its sign changes in every step.
    """
    M, at_end, E = given
    D, K = damping_matrix(mj, model, data), _stiffness_matrix(mj, model, data)
    _, sizes, axes = np.linalg.svd(E) if len(E) else (None, np.zeros(0), np.eye(model.nv))
    Z = axes[int((sizes > 1e-9 * sizes.max(initial=0.0)).sum()) :].T
    M, at_end, D, K = (Z.T @ x @ Z for x in (M, at_end, D, K))
    if not len(M) or np.linalg.eigvalsh(M)[0] <= 0.0:
        return
    tried = dt
    for _ in range(MOST_HALVINGS):
        factor, axis = _worst(M, at_end, D, K, tried)
        if factor >= -1.0 - BEYOND:
            break
        if tried == dt:
            first, worst = factor, Z @ axis
        tried /= 2
    if tried == dt:
        return
    joint = int(model.dof_jntid[int(np.argmax(np.abs(worst)))])
    name = mj.mj_id2name(model, mj.mjtObj.mjOBJ_JOINT, joint) or joint
    advice = "" if implicit(mj, model) else ", the integrator implicitfast"
    raise BadInput(
        f"Steps of {dt:g} s are too long for the servos, springs or dampers of the model: a velocity of joint {name!r} "
        f"would be multiplied by {first:.2g} in every step. Take dt={tried:g}{advice} or weaker gains."
    )


def _worst(M: Matrix, at_end: Matrix, D: Matrix, K: Matrix, dt: float) -> tuple[float, Vector]:
    """Return the smallest real growth factor per step of a small motion, and the velocity of that motion."""
    n = len(M)
    inverse = dt * np.linalg.inv(M + dt * at_end)
    of_w, of_x = np.eye(n) - inverse @ D, -inverse @ K
    factors, motions = np.linalg.eig(np.block([[of_w, of_x], [dt * of_w, np.eye(n) + dt * of_x]]))
    factors = np.where(np.abs(factors.imag) <= 1e-9 * np.abs(factors), factors.real, np.inf)
    i = int(np.argmin(factors))
    return float(factors[i]), motions[:n, i].real
