"""Many contact problems of one size at once: operators for all slip signs, and their matrix classes.

All arrays are stacked along the first axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gaussopt.contact.joints import eliminate_joints
from gaussopt.contact.response import INERT
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.errors import BadInput
from gaussopt.core.step_data import StepData
from gaussopt.lcp.matrix_classes import POSITIVE, SYMMETRIC, is_p_matrix, unit_diagonal
from gaussopt.linalg.dense import cholesky, coordinate_scale

Mask = NDArray[np.bool_]
Codes = NDArray[np.int8]

MATRIX_CLASSES = ("symmetric positive definite", "positive definite", "P-matrix", "positive semidefinite", "none")

CANCELLED = 1e-15
"""Entries of the operator that are this small relative to their summands are set to zero."""


@dataclass(frozen=True)
class ContactStack:
    """The contact operators of B states, all contacts sliding.

    Attributes
    ----------
    delassus : (B, k, k), w = delassus lam_N + bias, 1/kg
    bias : (B, k), m/s^2
    smooth : (B, k, k), the same operator without friction
    motion : (B, n, k), |motion lam_N| is the mass norm of the acceleration due to the contact forces
    ell : (B, k)
        sigma mu J_T (a_J - a0), effect of the joints along the friction; 0 without joints, NaN where M is singular.
    size : (B, k), magnitude of the summands of the bias
    joints : whether the systems have joints
    """

    delassus: Matrix
    bias: Matrix
    smooth: Matrix
    motion: Matrix
    ell: Matrix
    size: Matrix
    joints: bool = False

    def __len__(self) -> int:
        return len(self.bias)

    @property
    def k(self) -> int:
        """Number of contacts."""
        return int(self.bias.shape[1])

    @classmethod
    def of(cls, steps: Sequence[StepData], slips: NDArray[np.int_]) -> ContactStack:
        """Stack the operators of all states, each with k contacts, for all slip signs; the slip signs vary fastest.

        The signs +1 and -1 of `slips`, (S, k), replace the sign of v_T; in space -1 reverses its direction. Raises
        BadInput if in space there is no slip to reverse, and NotAccepted if the joints are ill-posed.
        """
        parts = [_blocks(step) for step in steps]
        normal, tangent, bias, size, along = (np.array([p[i] for p in parts]) for i in range(5))
        smooth, cross = normal @ normal.swapaxes(1, 2), normal @ tangent.swapaxes(1, 2)
        mu = np.array([step.mu for step in steps])
        # Column j belongs to the normal force of contact j, whose friction is -slip mu times it; hence the sign.
        c = -slips[None] * mu[:, None, :]  # shape (B, S, k)
        friction = cross[:, None] * c[:, :, None, :]
        delassus = smooth[:, None] + friction
        # Where the terms cancel, a rounding error's sign would decide whether there are 0, 1 or 2 solutions; use 0.
        delassus[np.abs(delassus) <= CANCELLED * (np.abs(smooth[:, None]) + np.abs(friction))] = 0.0
        motion = (normal[:, None] + c[:, :, :, None] * tangent[:, None]).swapaxes(2, 3)
        count, k = len(slips), slips.shape[1]

        def repeat(x: Matrix) -> Matrix:
            return np.repeat(x, count, axis=0)

        return cls(
            delassus.reshape(-1, k, k), repeat(bias), repeat(smooth), motion.reshape(-1, motion.shape[2], k),
            (c * along[:, None]).reshape(-1, k), repeat(size), joints=bool(steps[0].m),
        )  # fmt: skip

    def with_bias(self, bias: Matrix) -> ContactStack:
        """Combine each operator with L biases, (L, k); the biases vary fastest. With joints `ell` becomes NaN."""
        delassus, smooth, motion, ell = (
            np.repeat(x, len(bias), axis=0) for x in (self.delassus, self.smooth, self.motion, self.ell)
        )
        bias = np.tile(bias, (len(self), 1))
        return ContactStack(
            delassus,
            bias,
            smooth,
            motion,
            np.full_like(bias, np.nan) if self.joints else ell,
            np.abs(bias),
            self.joints,
        )


def _blocks(step: StepData) -> tuple[Matrix, Matrix, Vector, Vector, Vector]:
    """Return J_N R, T R, (k, n), bias, its size, T (a_J - a0); T: slip tangents, R R^T maps forces to accelerations."""
    joints = eliminate_joints(step)
    if step.J_T.shape[1] == 1:
        T = step.J_T[:, 0]
    else:
        speed = step.speed
        if ((speed == 0) & (step.mu > 0)).any():
            i = int(np.argmax((speed == 0) & (step.mu > 0)))
            raise BadInput(f"Contact {i + 1} has two tangents and no slip; in space a slip direction is needed.")
        T = np.einsum("kdn,kd->kn", step.J_T, step.v_T / np.where(speed > 0, speed, 1.0)[:, None])
    root = np.zeros((step.n, step.n))  # The root is padded with zeros to n columns, so that states can be stacked.
    root[:, : joints.root.shape[1]] = joints.root
    N, F = step.J_N @ root, T @ root
    bare = np.linalg.norm(step.J_N * coordinate_scale(step.M, step.J), axis=1)
    inert = np.linalg.norm(N, axis=1) <= INERT * bare
    N = np.where(inert[:, None], 0.0, N)
    bias = step.J_N @ joints.a_J + step.zeta_N
    size = np.abs(step.J_N) @ np.abs(joints.a_J) + np.abs(step.zeta_N)
    bias = np.where(inert & (np.abs(bias) <= INERT * size), 0.0, bias)
    along = np.zeros(step.k)
    if step.m:
        L = cholesky(step.M)
        along = np.full(step.k, np.nan) if L is None else T @ (joints.a_J - np.linalg.solve(step.M, step.force))
    return N, F, bias, size, along


@dataclass(frozen=True)
class MatrixClasses:
    """The fields of `MatrixClass` for each matrix of a stack, (B,)."""

    symmetric: Mask
    positive_definite: Mask
    positive_semidefinite: Mask
    p_matrix: Mask

    @property
    def code(self) -> Codes:
        """Index into MATRIX_CLASSES."""
        chosen = (
            self.positive_definite & self.symmetric, self.positive_definite, self.p_matrix, self.positive_semidefinite,
        )  # fmt: skip
        return np.asarray(np.select(chosen, range(4), 4), dtype=np.int8)


def classify_stack(A: Matrix) -> MatrixClasses:
    """Classify each matrix of a stack, (B, n, n), as `classify_matrix` does."""
    n = A.shape[1]
    diagonal = A.diagonal(axis1=1, axis2=2)
    positive = diagonal > 0
    d = 1.0 / np.sqrt(np.where(positive, diagonal, 1.0))
    for i in np.flatnonzero(~positive.all(axis=1)):
        d[i] = unit_diagonal(A[i])
    S = d[:, :, None] * A * d[:, None, :]
    T = S.swapaxes(1, 2)
    size = np.maximum(np.abs(S), np.abs(T)).max(axis=2)[:, :, None]
    symmetric = (np.abs(S - T) <= SYMMETRIC * size).all(axis=(1, 2))
    lowest = np.linalg.eigvalsh(0.5 * (S + T))[:, 0]
    floor = POSITIVE * n * np.maximum(1.0, np.abs(S + T).max(axis=(1, 2)) / 2)
    definite = positive.all(axis=1) & (lowest > floor)
    p_matrix = definite.copy()
    for i in np.flatnonzero(~definite & positive.all(axis=1)):
        p_matrix[i] = bool(is_p_matrix(A[i], n))
    return MatrixClasses(symmetric, definite, lowest >= -floor, p_matrix)
