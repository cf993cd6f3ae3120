"""The solution of the contact mode (open, stick or slip) that given forces indicate."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gaussopt.contact.response import ContactResponse
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.lcp.polyhedra import FEASIBLE
from gaussopt.linalg.dense import EPS, norm

EXACT = 1e-11
"""A solution computed here may violate a law by this relative amount, because of rounding errors."""


def complete(op: ContactResponse, x: Vector, start_size: Vector) -> tuple[Vector | None, float]:
    """Return the true solution nearest to x in the contact mode that x indicates; None if that mode has no solution.

    Rounding errors are estimated for the least-norm solution of the mode's linear system, which depends only on the
    data of the step. If the system has several solutions, the solution nearest to x is returned.

    Parameters
    ----------
    start_size : (k + r,), sums of the absolute values of the terms of the accelerations without contact forces

    Returns
    -------
    x, floor
        The solution, and the rounding error of its acceleration in the mass norm: the effect of one rounding error in
        all terms of the mode's linear system. Ill-determined forces that cause no acceleration do not count.
    """
    if not op.k:
        return x, 0.0
    g = op.weights
    R, start, f = op.response / np.outer(g, g), op.start / g, x * g
    mode = _mode(op, g, f, R @ f + start)
    held, P, p = mode.held, mode.P, mode.p
    C, b = R[held] @ P, R @ p + start
    U, values, Vt = np.linalg.svd(C) if C.size else (np.zeros((0, 0)), np.zeros(0), np.zeros((0, 0)))
    rank = int((values > 1e-10 * values[0]).sum()) if len(values) else 0
    inverse = (Vt[:rank].T / values[:rank]) @ U[:, :rank].T
    m = np.zeros(P.shape[1])
    for _ in range(3):
        m = m - inverse @ (C @ m + b[held])
    own = P @ m + p
    rounding = np.abs(R) @ np.abs(own) + start_size / g
    kept = np.concatenate((f[: op.k][mode.closed], f[op.k :][mode.stick])) - m
    full = P @ (m + kept - Vt[:rank].T @ (Vt[:rank] @ kept)) + p
    if not mode.lawful(op, g, full, R @ full + start, inverse, R, rounding, own):
        return None, math.inf
    motion = op.motion / g
    # Where the responses to normal force and friction nearly cancel, the rounding errors of both remain.
    rounding = (op.response_size / np.outer(g, g)) @ np.abs(full) + start_size / g
    amplified = np.abs(motion @ P @ (Vt[:rank].T / values[:rank])) @ (np.abs(U[:, :rank].T) @ rounding[held])
    summed = np.abs(motion) @ np.abs(full) + np.abs(op.joints.root.T @ (op.step.M @ op.joints.a_J))
    return full / g, EPS * (norm(amplified) + norm(summed))


@dataclass(frozen=True, slots=True)
class _Mode:
    """A mode: which contacts are closed, (k,), which contacts without slip stick or slip, (r,), and to which side.

    Its scaled forces are f = P m + p, where m holds the normal forces of closed contacts, followed by the friction of
    sticking contacts.
    """

    closed: NDArray[np.bool_]
    stick: NDArray[np.bool_]
    slip: NDArray[np.bool_]
    side: Vector
    P: Matrix
    p: Vector

    @property
    def held(self) -> NDArray[np.bool_]:
        """Rows whose acceleration is zero in this mode, (k + r,)."""
        return np.concatenate((self.closed, self.stick))

    def lawful(
        self, op: ContactResponse, g: Vector, f: Vector, y: Vector, inverse: Matrix, R: Matrix, rounding: Vector,
        own: Vector,
    ) -> bool:  # fmt: skip
        """Return whether forces f with accelerations y obey all laws of the mode up to rounding errors of each row."""
        k, index = op.k, np.flatnonzero(op.resting)
        mu, least = op.step.mu[index] * g[k:] / g[index], op.step.least * g[:k]
        loose = np.abs(self.P) @ (FEASIBLE * (np.abs(inverse) @ rounding[self.held])) + FEASIBLE * np.abs(own)
        tiny = EXACT * rounding + np.abs(R) @ loose
        N, w, T, s = f[:k], y[:k], f[k:], y[k:]
        return bool(
            (np.abs(y[self.held]) <= tiny[self.held]).all()
            and (N - least >= -loose[:k]).all()
            and (w >= -tiny[:k]).all()
            and (np.abs(T) <= mu * N[index] + loose[k:] + mu * loose[index]).all()
            and (self.side * s <= tiny[k:])[self.slip].all()
        )


def _mode(op: ContactResponse, g: Vector, f: Vector, y: Vector) -> _Mode:
    """Return the mode that scaled forces f with accelerations y indicate."""
    k, index = op.k, np.flatnonzero(op.resting)
    mu, least = op.step.mu[index] * g[k:] / g[index], op.step.least * g[:k]
    N, w, T, s = f[:k], y[:k], f[k:], y[k:]
    closed = w < N - least
    gripping = closed[index] | (least[index] > 0)
    stick = gripping & (mu * N[index] - np.abs(T) >= np.abs(s))
    slip = gripping & ~stick
    side = np.where(T >= 0, 1.0, -1.0)
    c, t = int(closed.sum()), int(stick.sum())
    P, p = np.zeros((len(f), c + t)), np.zeros(len(f))
    P[np.flatnonzero(closed), np.arange(c)] = 1.0
    p[:k] = np.where(closed, 0.0, least)
    P[k + np.flatnonzero(stick), c + np.arange(t)] = 1.0
    for i in np.flatnonzero(slip):  # the friction of slipping contacts is at its bound
        P[k + i] = side[i] * mu[i] * P[index[i]]
        p[k + i] = side[i] * mu[i] * p[index[i]]
    return _Mode(closed, stick, slip, side, P, p)
