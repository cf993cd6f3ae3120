"""Angular velocities as unknowns instead of the rates of unit quaternions, for steps at velocity level.

Time steps whose unknowns are the rates e' of unit quaternions e slow a rotation down, at a relative rate of about
dt |omega|^2 / 8: |e'| stays constant while |e| grows or, if e is normalised, |e'| shrinks. With e' = E(e)^T omega / 2
(`gaussopt.bodies.space`), v = T(q) w, where w, (p,), holds the angular velocities omega in the frame of the ground, and

    T^T M T w' = T^T (Q - h - M b + J^T lam + J_N^T lam_N + J_T^T lam_T),   b = T' w = -|e'|^2 e,

without the forces of the rows e . e = 1. A constant omega moves e along a great circle,

    e(h) = cos(h |e'|) e + sin(h |e'|) e' / |e'|,

so that a rotation about a principal axis keeps its rate in steps of any length, and only torques change the spin of a
ball. For other bodies, T^T M T taken only at the start of a step would cost an order: see `force_between`.
Compare J. C. Simo, K. K. Wong, "Unconditionally stable algorithms for rigid body dynamics that exactly preserve energy
and momentum", Int. J. Numer. Methods Eng. 31, 1991.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.step_data import StepData
from gaussopt.linalg.quaternions import spin_rows


class Rotations:
    """The map v = T(q) w of a system.

    Parameters
    ----------
    quaternions : for each quaternion, the index of the row e . e = 1, and the indices of its four coordinates
    n, m : numbers of coordinates and equality rows

    Attributes
    ----------
    rows : indices of the equality rows other than e . e = 1
    """

    def __init__(self, quaternions: Sequence[tuple[int, Sequence[int]]], n: int, m: int) -> None:
        self._any = bool(quaternions)
        self._e = np.array([places for _, places in quaternions], dtype=np.intp).reshape(-1, 4)
        self._m, self.rows = m, np.setdiff1d(np.arange(m), [row for row, _ in quaternions])
        self._kept = np.setdiff1d(np.arange(n), self._e[:, 0])
        self._omega = np.searchsorted(self._kept, self._e[:, 1:])

    def moved(self, q: Vector, v: Vector, h: float) -> tuple[Vector, Vector]:
        """Return the positions and rates, (n,) each, that follow from q and v after a time h at constant w."""
        if not self._any:
            return q + h * v, v
        e = q[self._e]
        e /= np.linalg.norm(e, axis=1)[:, None]
        rate = v[self._e]
        rate -= (e * rate).sum(axis=1)[:, None] * e
        speed = np.linalg.norm(rate, axis=1)[:, None]
        c, s = np.cos(h * speed), h * np.sinc(h * speed / np.pi)
        q, v = q + h * v, v.copy()
        q[self._e], v[self._e] = c * e + s * rate, c * rate - s * speed**2 * e
        return q, v

    def carried(self, q: Vector, v: Vector, to: Vector) -> Vector:
        """Return rates at the positions `to` with the same angular velocities that v has at the positions q."""
        if not self._any:
            return v
        v = v.copy()
        omega = np.einsum("bij,bj->bi", spin_rows(q[self._e], 1.0), v[self._e])
        v[self._e] = np.einsum("bij,bi->bj", spin_rows(to[self._e], 1.0), omega)
        return v

    def rates(self, q: Vector, w: Vector) -> Vector:
        """Return v = T w, (n,)."""
        if not self._any:
            return w
        v = np.zeros(len(q))
        v[self._kept] = w
        v[self._e] = 0.5 * np.einsum("bij,bi->bj", spin_rows(q[self._e], 1.0), w[self._omega])
        return v

    def bias(self, q: Vector, v: Vector) -> Vector:
        """Return b = T' w, (n,)."""
        b = np.zeros(len(q))
        b[self._e] = -(v[self._e] ** 2).sum(axis=1)[:, None] * q[self._e]
        return b

    def force(self, step: StepData) -> Vector:
        """Return T^T (Q - h - M b), (p,), at the state (q, v) of the step data, which must not be None."""
        if not self._any:
            return step.force
        assert step.q is not None
        assert step.v is not None
        return self._times(step.q, step.force - step.M @ self.bias(step.q, step.v))

    def force_between(self, begin: StepData, between: StepData, rate: Vector) -> Vector:
        """Return the force at a state within a step, plus (T^T M T at the start - T^T M T at the state) w', (p,).

        Parameters
        ----------
        begin : the step data at the start, from `reduced`
        between : the step data at the state, without `reduced`
        rate : w', (p,)
        """
        force = self.force(between)
        if not self._any:
            return force
        assert between.q is not None
        return force + (begin.M - self._mass(between.q, between.M)) @ rate

    def without_units(self, rows: Vector | None) -> Vector | None:
        """Return the values of the equality rows except the conditions e . e = 1."""
        return rows[self.rows] if self._any and rows is not None else rows

    def with_units(self, rows: Vector | None) -> Vector | None:
        """Return the forces of all equality rows, given those of the rows other than e . e = 1, which have none."""
        if not self._any or rows is None:
            return rows
        found = np.zeros(self._m)
        found[self.rows] = rows
        return found

    def reduced(self, step: StepData) -> StepData:
        """Return the step data for the unknowns w instead of v: its Q is the result of `force`, and its h is zero."""
        if not self._any:
            return step
        q, v = step.q, step.v
        assert q is not None
        assert v is not None
        b, J, rows = self.bias(q, v), step.J[self.rows], self.rows
        w = v[self._kept]
        w[self._omega] = 2.0 * np.einsum("bij,bj->bi", spin_rows(q[self._e], 1.0), v[self._e])
        terms = None if step.J_terms is None else self._times(q, step.J_terms[rows], sizes=True)
        return replace(
            step, M=self._mass(q, step.M), Q=self.force(step), h=np.zeros(len(w)), v=w,
            J=self._times(q, J), gamma=step.gamma[rows] - J @ b, J_terms=terms,
            gamma_terms=None if step.gamma_terms is None else step.gamma_terms[rows],
            J_N=self._times(q, step.J_N), zeta_N=step.zeta_N + step.J_N @ b,
            J_T=self._times(q, step.J_T), zeta_T=step.zeta_T + step.J_T @ b,
            D_omega=None, w_omega=None, arithmetic=None,
        )  # fmt: skip

    def _mass(self, q: Vector, M: Matrix) -> Matrix:
        """Return T^T M T, made exactly symmetric."""
        found = self._times(q, self._times(q, M).T)
        return 0.5 * (found + found.T)

    def _times(self, q: Vector, X: Matrix, *, sizes: bool = False) -> NDArray[np.float64]:
        """Return X T, (..., p), for rows X, (..., n); `sizes` replaces the entries of T by absolute values."""
        E = 0.5 * spin_rows(q[self._e], 1.0)
        found = X[..., self._kept]
        found[..., self._omega] = np.einsum("bij,...bj->...bi", np.abs(E) if sizes else E, X[..., self._e])
        return found
