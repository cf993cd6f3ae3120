"""Impacts and time steps at velocity level, as steps with the same data as at acceleration level.

A jump dv of the velocity obeys M dv = dt (Q - h) + J^T Lam + J_N^T Lam_N + J_T^T Lam_T. Newton's restitution and
Coulomb's law on the slip after the jump,

    0 <= J_N dv + (1 + e_N) gdot_N   complementary to   Lam_N >= 0,   Lam_T against   J_T dv + (1 + e_T) v_T,

are the contact laws of a step whose acceleration is dv, with zeta_N = (1 + e_N) gdot_N, zeta_T = (1 + e_T) v_T and no
slip before. Thus impacts and time steps are formulated, solved and certified like any other step. An impact has dt = 0.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.errors import BadInput
from gaussopt.core.step_data import StepData


def jump_step(step: StepData, dt: float = 0.0, drift: Vector | None = None) -> StepData:
    """Return the step whose acceleration is the jump of the velocity.

    Parameters
    ----------
    step : the contacts that take part, with `v`. Gap rates default to J_N v; slips are v_T, or J_T v if v_T is zero
        and no gaps are given. A system with gaps also gives slips, which may be zero though J_T v is not (a belt).
    dt : time over which Q - h acts, s; 0 for an impact
    drift : (m,), optional
        Residuals of the velocity constraints, which the jump removes; none for an impact on the constraints.

    Raises BadInput if neither the velocity nor the gap rates are known.
    """
    if step.gdot_N is None and step.v is None:
        raise BadInput("An impact needs the velocity v before it, or the gap rates gdot_N; both are missing.")
    rate = step.J_N @ step.v if step.gdot_N is None and step.v is not None else step.gdot_N
    assert rate is not None
    slip = step.v_T
    if step.v is not None and step.g_N is None and not slip.any():
        slip = np.einsum("kdn,n->kd", step.J_T, step.v)
    e_N = np.zeros(step.k) if step.e_N is None else step.e_N
    e_T = np.zeros(step.k) if step.e_T is None else step.e_T
    return replace(
        step, Q=dt * step.force, h=np.zeros(step.n), gamma=np.zeros(step.m) if drift is None else -drift,
        zeta_N=(1.0 + e_N) * rate, zeta_T=(1.0 + e_T)[:, None] * slip, v_T=np.zeros_like(step.v_T), g_N=None,
        gdot_N=None, D_omega=None, w_omega=None, arithmetic=None, gamma_terms=None,
    )  # fmt: skip


def restitution_step(step: StepData, compression: Vector, impulses: Vector) -> StepData:
    """Return the step of Poisson's restitution phase, with normal impulses of at least e_N times those of compression.

    Parameters
    ----------
    step : as for `jump_step`, before the impact
    compression, impulses : (n,), (k,)
        Jump of the velocity in the compression phase (e_N = 0), and the normal impulses of that phase.
    """
    e_N = np.zeros(step.k) if step.e_N is None else step.e_N
    plastic = replace(step, e_N=np.zeros(step.k), e_T=np.zeros(step.k))
    jump = jump_step(plastic)
    return replace(
        jump, zeta_N=jump.zeta_N + step.J_N @ compression,
        zeta_T=jump.zeta_T + np.einsum("kdn,n->kd", step.J_T, compression), least_N=e_N * impulses,
    )  # fmt: skip
