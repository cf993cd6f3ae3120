"""Eliminate the joints of a step: compute the acceleration without contact forces, and the response to such forces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.errors import NotAccepted
from gaussopt.core.status import Status
from gaussopt.core.step_data import StepData
from gaussopt.linalg.dense import solve_lower, solve_lower_transposed
from gaussopt.linalg.saddle_point import careful_posedness, factorise


@dataclass(frozen=True)
class Joints:
    """The acceleration of a step without contact forces, and the response to a force f, with the joints eliminated.

    Attributes
    ----------
    K : (n, n), a = a_J + K f
    a_J : (n,)
    lam_J : (m,), lam = lam_J + lift f; for dependent rows the multipliers of least norm
    lift : (m, n)
    root : (n, r), K = root root^T, so that |root^T f| is the mass norm of K f
    """

    K: Matrix
    a_J: Vector
    lam_J: Vector
    lift: Matrix
    root: Matrix


def eliminate_joints(step: StepData) -> Joints:
    """Eliminate the joints of a step once, for any additional force.

    Raises NotAccepted if the joints contradict each other or leave a direction without mass (rank [M; J] < n).
    """
    joints = _regular(step)
    return _careful(step) if joints is None else joints


def _regular(step: StepData) -> Joints | None:
    """Eliminate the joints if M is definite and the joint rows are clearly independent; otherwise return None."""
    factors = factorise(step)
    if factors is None:
        return None
    L, B, C = factors[:3]
    force, inverse = step.force, solve_lower(L, np.eye(step.n))
    if not step.m:
        return Joints(inverse.T @ inverse, inverse.T @ (inverse @ force), np.zeros(0), np.zeros((0, step.n)), inverse.T)
    Y = solve_lower(C, B.T)
    free = inverse - Y.T @ (Y @ inverse)  # project L^-1; the next line projects again to remove rounding errors
    free -= Y.T @ (Y @ free)
    lift = -solve_lower_transposed(C, Y @ inverse)
    lam_J = lift @ force + solve_lower_transposed(C, solve_lower(C, step.gamma))
    a_J = inverse.T @ (inverse @ (force + step.J.T @ lam_J))
    # Refine a_J, so that J a_J = gamma up to rounding errors.
    shift = solve_lower_transposed(C, solve_lower(C, step.gamma - step.J @ a_J))
    return Joints(free.T @ free, a_J + inverse.T @ (B @ shift), lam_J + shift, lift, free.T)


def _careful(step: StepData) -> Joints:
    """Eliminate the joints if M is singular or rows are dependent; scaling makes the ranks independent of units."""
    posed = careful_posedness(step)
    if posed.verdict is not Status.SOLVED or posed.space is None:
        raise NotAccepted(
            f"The step has no contact operator, its joints and masses are ill-posed: {posed.verdict.sentence}"
        )
    data = posed.space
    d, row, space, M = data.d, data.row, data.space, data.M
    values, ways = data.inertia
    a_p, root = space.pinv @ data.g, ways / np.sqrt(values)
    K = root @ root.T
    a_J = a_p + K @ (data.f - M @ a_p)
    up = space.pinv.T  # `up @ x` is the least-norm solution of J^T lam = x
    lift = row[:, None] * (up @ (M @ K - np.eye(step.n))) * d
    return Joints(K * np.outer(d, d), d * a_J, row * (up @ (M @ a_J - data.f)), lift, d[:, None] * root)
