"""How far contact forces and accelerations are from the contact laws, and from their nearest true solution.

Scales are taken from the data of the step, never from the candidate: beside huge forces of its own any candidate would
be lawful, also one that runs away along a direction in which the contact operator does not respond.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gaussopt.certificates.base import Certificate
from gaussopt.contact.operator import ContactOperator
from gaussopt.core.step_data import Matrix, StepData, Vector
from gaussopt.lcp import MAX_ENUMERATED
from gaussopt.lcp.enumeration import FEASIBLE, OBSERVED
from gaussopt.linalg.dense import EPS, mass_scale

EXACT = 1e-11
"""Relative violation of a law that a solution computed here may have: rounding of its linear system."""

AMPLIFIED = 4.0
"""How far from a solution a point may be whose laws are missed by 1, in the unit of the mass norm."""

SUMMED = 100.0
"""Roundings of its terms by which an enumerated solution may miss the laws."""

DEFINITE = 1e-12
"""Smallest eigenvalue of sym A^ that counts as positive."""


def length(x: Vector) -> float:
    """||x||_2, also where its square is beyond the range of numbers."""
    return math.hypot(*x.tolist())


def weights(op: ContactOperator) -> Vector:
    """sqrt(row K row^T) of every row: one unit of force there is this much acceleration in the mass norm."""
    own = np.sqrt(np.maximum(((op.rows @ op.joints.root) ** 2).sum(axis=1), 0.0))
    # An inert direction (a dead centre) is measured with what the bodies would do without joints.
    bare = np.linalg.norm(op.rows * mass_scale(op.step.M), axis=1)
    return np.asarray(np.where(own > 1e-8 * bare, own, np.where(bare > 0, bare, 1.0)))


def law_residual(op: ContactOperator, a: Vector, lam_N: Vector, lam_T: Matrix) -> float:
    """The natural map of all laws at the reported point, in the unit of the mass norm."""
    step, k = op.step, op.k
    weight = weights(op)
    w = step.J_N @ a + step.zeta_N
    normal = np.minimum((lam_N - step.least) * weight[:k], w / weight[:k])
    parts = [normal]
    expected = step.sigma * (step.mu * lam_N)[:, None]
    sliding = ~op.resting
    tangent = np.linalg.norm(np.einsum("kdn,nr->kdr", step.J_T, op.joints.root), axis=(1, 2))
    parts.append((np.linalg.norm(lam_T - expected, axis=1) * tangent)[sliding])
    if op.resting.any():
        t, limit, g = lam_T[op.resting, 0], step.mu[op.resting] * np.maximum(lam_N[op.resting], 0.0), weight[k:]
        s = step.J_T[op.resting, 0] @ a + step.zeta_T[op.resting, 0]
        parts.append((t - np.clip(t - s / g**2, -limit, limit)) * g)
    return length(np.concatenate(parts))


def distance(
    op: ContactOperator, a: Vector, x: Vector, own: Certificate, laws: float, reason: str, thorough: bool
) -> tuple[float, float, float]:
    """Error in the mass norm and in the 2-norm, and the rounding floor of what was added here."""
    step = op.step
    true, floor = complete(op, x)
    if reason == "enumeration":
        return _to_enumerated(op, a, true, floor)
    if true is not None:
        return *_lengths(step, a - op.acceleration(true)), floor
    scale = float(np.abs(mass_scale(step.M)).max())
    # By the data of the step: beside huge accelerations of its own any candidate would be lawful.
    if laws <= EXACT * (length(op.start / weights(op)) + length(op.joints.a_J / mass_scale(step.M))):
        # All laws hold to rounding: this is a solution, even if the mode that it names is degenerate.
        size = own.error_bound + laws
        return size, size * scale, 0.0
    bound = own.error_bound + _natural_bound(op, x)
    if not math.isfinite(bound) and thorough and op.lcp.n <= MAX_ENUMERATED and op.enumerated.solutions:
        return _to_enumerated(op, a, None, math.inf)
    return bound, bound * scale, 0.0


def _lengths(step: StepData, e: Vector) -> tuple[float, float]:
    """||e||_M and ||e||_2."""
    size = float(np.abs(e).max(initial=0.0))
    if not 0.0 < size < math.inf:
        return size, size
    e = e / size
    return size * math.sqrt(max(float(e @ step.M @ e), 0.0)), size * length(e)


def _to_enumerated(op: ContactOperator, a: Vector, true: Vector | None, floor: float) -> tuple[float, float, float]:
    """Error to the nearest of the solutions that were enumerated, and its rounding floor.

    The solution of the candidate's own mode is as good, and without the rounding of ill-determined forces, if it is one
    of them: that its forces are lawful beside each other proves nothing.
    """
    found, step = op.enumerated, op.step
    scale = float(np.abs(mass_scale(step.M)).max())
    points = [op.acceleration(op.x(z)) for z in found.solutions]
    i = min(range(len(points)), key=lambda i: _lengths(step, a - points[i])[0])
    motion = op.joints.root.T @ op.forces
    x, rounding = np.abs(op.x(found.solutions[i])), np.abs(op.to_x) @ found.floors[i]
    terms = np.abs(motion) @ x + np.abs(op.joints.root.T @ (step.M @ op.joints.a_J))
    apart = length(np.abs(motion) @ rounding)
    # Contacts that contradict each other by next to nothing were enumerated as if they did not.
    missed = law_residual(op, points[i], *op.split(op.x(found.solutions[i])))
    missed = AMPLIFIED * missed if missed > apart + SUMMED * EPS * length(terms) else 0.0
    if true is not None:
        between = _lengths(step, op.acceleration(true) - points[i])
        if between[0] <= apart + floor + OBSERVED * length(terms):
            error = _lengths(step, a - op.acceleration(true))
            # Accelerations so near each other count as the same; what they differ by is no less an error.
            more = between if between[0] > apart + floor else (0.0, 0.0)
            return error[0] + more[0] + missed, error[1] + more[1] + missed * scale, floor
    error = _lengths(step, a - points[i])
    return error[0] + missed, error[1] + missed * scale, apart + EPS * length(terms)


def complete(op: ContactOperator, x: Vector) -> tuple[Vector | None, float]:
    """The true solution in the contact mode that x names, nearest to x; None if that mode holds none.

    What counts as rounding is judged by the forces of least norm that solve the mode's linear system, which the data
    of the step decide; x decides only what that system leaves open.

    Returns
    -------
    x, floor
        Rounding of its acceleration, in the mass norm: what one rounding of all terms of the mode's linear system does
        to it. Forces that are ill-determined but cause no acceleration do not count.
    """
    if not op.k:
        return x, 0.0
    g = weights(op)
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
    rounding = np.abs(R) @ np.abs(own) + op.start_size / g
    kept = np.concatenate((f[: op.k][mode.closed], f[op.k :][mode.stick])) - m
    full = P @ (m + kept - Vt[:rank].T @ (Vt[:rank] @ kept)) + p
    if not mode.lawful(op, g, full, R @ full + start, inverse, R, rounding, own):
        return None, math.inf
    motion = (op.joints.root.T @ op.forces) / g
    # Entries that friction and the own mass nearly cancel hold the rounding of both.
    rounding = (op.response_size / np.outer(g, g)) @ np.abs(full) + op.start_size / g
    amplified = np.abs(motion @ P @ (Vt[:rank].T / values[:rank])) @ (np.abs(U[:, :rank].T) @ rounding[held])
    summed = np.abs(motion) @ np.abs(full) + np.abs(op.joints.root.T @ (op.step.M @ op.joints.a_J))
    return full / g, EPS * (length(amplified) + length(summed))


@dataclass(frozen=True, slots=True)
class _Mode:
    """Which contacts are closed, which of those without slip stick, and the forces that this leaves open.

    Attributes
    ----------
    closed, stick, slip : (k,), (r,), (r,) bool
    side : (r,)
        Direction of the friction of those that slip.
    P, p : (k + r, s), (k + r,)
        Scaled forces f = P m + p: m holds the normal forces of closed contacts, then the friction of those that stick.
    """

    closed: NDArray[np.bool_]
    stick: NDArray[np.bool_]
    slip: NDArray[np.bool_]
    side: Vector
    P: Matrix
    p: Vector

    @property
    def held(self) -> NDArray[np.bool_]:
        """Rows without acceleration, (k + r,)."""
        return np.concatenate((self.closed, self.stick))

    def lawful(
        self, op: ContactOperator, g: Vector, f: Vector, y: Vector, inverse: Matrix, R: Matrix, rounding: Vector,
        own: Vector,
    ) -> bool:  # fmt: skip
        """Whether forces f with accelerations y obey all laws of the mode, every row beside its own terms."""
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


def _mode(op: ContactOperator, g: Vector, f: Vector, y: Vector) -> _Mode:
    """The mode that scaled forces f with accelerations y name."""
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
    for i in np.flatnonzero(slip):  # friction at its bound
        P[k + i] = side[i] * mu[i] * P[index[i]]
        p[k + i] = side[i] * mu[i] * p[index[i]]
    return _Mode(closed, stick, slip, side, P, p)


def _natural_bound(op: ContactOperator, x: Vector) -> float:
    """Bound on || root^T F (x - x*) || for sliding contacts with positive definite sym A, else infinite."""
    if op.resting.any():
        return math.inf
    A = op.delassus
    diagonal = A.diagonal()
    if not (diagonal > 0).all():
        return math.inf
    e = 1.0 / np.sqrt(diagonal)
    scaled = A * np.outer(e, e)
    c = float(np.linalg.eigvalsh(0.5 * (scaled + scaled.T))[0])
    if c <= DEFINITE * len(A):
        return math.inf
    r = np.minimum(x - op.step.least, (A @ x + op.bias) / diagonal)
    forces = (1.0 + float(np.linalg.norm(scaled, 2))) / c * length(r / e)
    return float(np.linalg.norm(op.joints.root.T @ op.forces * e, 2)) * forces


def nearest_forces(op: ContactOperator, a: Vector, thorough: bool) -> Vector:
    """The true forces next to an acceleration given without them; an estimate where they are not found."""
    x = _estimate(op, a)
    true, _ = complete(op, x)
    if true is not None:
        return true
    if thorough and op.lcp.n <= MAX_ENUMERATED:
        # Redundant contacts: least squares may name a mode that shares the forces unlawfully.
        points = [op.x(z) for z in op.enumerated.solutions]
        if points:
            d = mass_scale(op.step.M)
            return min(points, key=lambda p: length((op.acceleration(p) - a) / d))
    return x


def _estimate(op: ContactOperator, a: Vector) -> Vector:
    """Contact forces that explain an acceleration given without them, each within its friction cone."""
    from scipy.optimize import lsq_linear

    k, least = op.k, op.step.least
    index = np.flatnonzero(op.resting)
    # Coefficients of the columns (lam_N of contacts that slide, the two edges of the cone of those without slip).
    edges = np.zeros((k + len(index), k + len(index)))
    edges[:k, :k] = np.eye(k)
    for place, i in enumerate(index):
        edges[k + place, i] = -op.step.mu[i]
        edges[i, k + place], edges[k + place, k + place] = 1.0, op.step.mu[i]
    g = weights(op)
    root = op.joints.root.T @ op.forces
    # The part of a - a_J that contact forces can cause.
    values, vectors = np.linalg.eigh(op.joints.K)
    keep = values > 1e-12 * values[-1]
    inverse = (vectors[:, keep] / values[keep]) @ vectors[:, keep].T
    start = np.concatenate((least, np.zeros(len(index))))
    goal = op.joints.root.T @ (inverse @ (a - op.joints.a_J)) - root @ start
    columns = root @ edges
    size = np.linalg.norm(columns, axis=0)
    size = np.where(size > 0, size, np.maximum(g, 1e-300))
    return np.asarray(start + edges @ (lsq_linear(columns / size, goal, bounds=(0.0, np.inf), tol=1e-14).x / size))
