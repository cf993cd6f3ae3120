"""The equations of a pile, in arrays over its bodies and contacts; see `gaussopt.bodies.pile`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gaussopt.bodies.overlaps import deepest
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.display import counted
from gaussopt.linalg.quaternions import spin_rows

SEVEN = 7
"""Number of coordinates of a body."""

TOUCH = 1e-9
"""Distance, m, up to which boxes count as touching at the start."""

UNSEEN = 1e-6
"""Depth, m, above which two bodies without a contact count as overlapping."""

Blocks = NDArray[np.float64]


@dataclass(frozen=True)
class PileBody:
    """Mass, principal inertias (3,), half edges of a box (3,) or None, radius of a ball or 0, and start state."""

    mass: float
    inertia: Vector
    half: Vector | None
    radius: float
    at: Vector
    velocity: Vector
    spin: Vector


class PileEquations:
    """The bodies and contacts of a pile in arrays; body number N is the ground."""

    def __init__(
        self, bodies: Sequence[PileBody], walls: Sequence[tuple[Vector, Vector]], mu: float, e_N: float, gravity: float
    ) -> None:
        self.N, self.mu, self.e_N = len(bodies), mu, e_N
        self.m = np.array([b.mass for b in bodies])
        self.I = np.array([b.inertia for b in bodies])
        self.weight = np.zeros(SEVEN * self.N)
        self.weight[2::SEVEN] = -gravity * self.m
        self.names: list[str] = []
        faces: list[tuple[Any, ...]] = []
        for i, b in enumerate(bodies):
            points = [np.zeros(3)] if b.half is None else [b.half * s for s in product((-1, 1), repeat=3)]
            for (j, (at, normal)), (c, s) in product(enumerate(walls), enumerate(points)):
                self._face(faces, f"wall {j + 1}, body {i + 1}.{c + 1}", (self.N, at, normal), (i, s, b.radius))
        for (i, a), (j, b) in combinations(enumerate(bodies), 2):
            if a.half is not None and b.half is not None:
                for c, (at, normal, s) in enumerate(_touching(a.half, b.half, b.at - a.at)):
                    self._face(faces, f"body {i + 1}, body {j + 1}.{c + 1}", (i, at, normal), (j, s, 0.0))
        self.a, self.s_a, self.F, self.b, self.s_b, self.R = (np.array(x) for x in zip(*faces, strict=True))
        balls = [i for i, b in enumerate(bodies) if b.half is None]
        boxes = [i for i, b in enumerate(bodies) if b.half is not None]
        pairs = [*combinations(balls, 2), *product(boxes, balls)]
        self.names += [f"box {i + 1}, ball {j + 1}" if i in boxes else f"balls {i + 1}, {j + 1}" for i, j in pairs]
        self.pairs = np.array(pairs, dtype=np.intp).reshape(-1, 2)
        self.radii = np.array([b.radius for b in bodies])
        self.half = np.array([np.zeros(3) if b.half is None else b.half for b in bodies])
        # Normal rows depend on the positions of bodies in contact with other bodies, and on the quaternions of boxes.
        joined = set(self.pairs.ravel().tolist()) | {i for f in faces if f[0] != self.N for i in (f[0], f[3])}
        of = [range(SEVEN * i, SEVEN * i + 3) for i in joined] + [range(SEVEN * i + 3, SEVEN * (i + 1)) for i in boxes]
        self.turning = tuple(sorted(j for part in of for j in part))

    def overlap(self, q: Matrix) -> str | None:
        """Return a sentence on the deepest overlap of boxes that have no contact, in a motion (F, n); None if none."""
        boxes, known = np.flatnonzero(self.radii == 0.0), set(zip(self.a.tolist(), self.b.tolist(), strict=True))
        at = q[np.isfinite(q).all(axis=1)].reshape(-1, self.N, SEVEN)[:, boxes]
        found = deepest(at[:, :, :3], at[:, :, 3:], self.half[boxes])
        worst = {(int(boxes[i]), int(boxes[j])): depth for (i, j), depth in found.items() if depth > UNSEEN}
        worst = {pair: depth for pair, depth in worst.items() if pair not in known}
        if not worst:
            return None
        i, j = max(worst, key=lambda pair: worst[pair])
        more = f" (and {counted(len(worst) - 1, 'further pair')})" if len(worst) > 1 else ""
        return (
            f"The boxes {i + 1} and {j + 1} are {worst[i, j]:.2g} m inside each other{more}: a pile tests two boxes "
            "only where they touch at the start. Keep them apart by a wall, or take a model of MuJoCo, see "
            "go.problem_from_mujoco."
        )

    def _face(self, faces: list[tuple[Any, ...]], name: str, a: tuple[Any, ...], b: tuple[Any, ...]) -> None:
        """Add a contact; a is (body, point of its face, normal), b is (body, point, radius or 0)."""
        self.names.append(name)
        faces.append((a[0], a[1], _frames(a[2][None])[0], *b))

    # -- bodies ------------------------------------------------------------------------------------------------

    def _blocks(self, x: Vector) -> Blocks:
        """Return the coordinates by body, (N, 7)."""
        return x.reshape(self.N, SEVEN)

    def mass(self, q: Vector) -> Matrix:
        """Return M; a quaternion's block is 4 (G^T I G + c e e^T) with the largest moment of inertia c."""
        e, found = self._blocks(q)[:, 3:], np.zeros((self.N, SEVEN, self.N, SEVEN))
        G, each = spin_rows(e), np.arange(self.N)
        turning = np.einsum("bij,bi,bik->bjk", G, self.I, G) + np.einsum("b,bi,bj->bij", self.I.max(axis=1), e, e)
        found[each, :3, each, :3] = self.m[:, None, None] * np.eye(3)
        found[each, 3:, each, 3:] = 2.0 * (turning + turning.transpose(0, 2, 1))
        return found.reshape(q.size, q.size)

    def inertia(self, q: Vector, v: Vector) -> Vector:
        """Return h, which is 0 for positions and 4 (G(e')^T I 2 G(e) e' + c e (e' . e')) for a quaternion e."""
        e, rate, h = self._blocks(q)[:, 3:], self._blocks(v)[:, 3:], np.zeros((self.N, SEVEN))
        turning = self.I * 2.0 * np.einsum("bij,bj->bi", spin_rows(e), rate)
        h[:, 3:] = 4.0 * np.einsum("bij,bi->bj", spin_rows(rate), turning)
        h[:, 3:] += 4.0 * (self.I.max(axis=1) * (rate**2).sum(axis=1))[:, None] * e
        return h.ravel()

    def equality(self, q: Vector, v: Vector) -> tuple[Matrix, Vector]:
        """Return J and gamma of the rows 2 e . e'' = -2 e' . e'."""
        J, each = np.zeros((self.N, self.N, SEVEN)), np.arange(self.N)
        J[each, each, 3:] = 2.0 * self._blocks(q)[:, 3:]
        return J.reshape(self.N, -1), -2.0 * (self._blocks(v)[:, 3:] ** 2).sum(axis=1)

    def position(self, q: Vector) -> Vector:
        """Return the residuals e . e - 1."""
        return np.asarray((self._blocks(q)[:, 3:] ** 2).sum(axis=1) - 1.0)

    # -- contacts ----------------------------------------------------------------------------------------------

    def contacts(self, q: Vector, v: Vector) -> tuple[NDArray[np.float64], ...]:
        """Return g_N, gdot_N, J_N, zeta_N, J_T, zeta_T, v_T of all contacts: points on faces, then balls."""
        r, u, A, w, E = self._poses(q, v)
        found = [self._on_faces(r, u, A, w), self._of_balls(r, u, A, w)]
        gap, frame, arms, rates, bodies = (np.concatenate(x) for x in zip(*found, strict=True))
        k = len(gap)
        J, each = np.zeros((k, 3, self.N + 1, SEVEN)), np.arange(k)
        for side, sign in ((0, -1.0), (1, 1.0)):
            i = bodies[:, side]
            J[each, :, i, :3] = sign * frame  # the two bodies differ, so the second pass keeps the first one's entries
            J[each, :, i, 3:] = 2.0 * sign * _cross(arms[:, side, None], frame) @ E[i]
        rows = J[:, :, : self.N].reshape(3 * k, -1)
        speed, each_rows = (rows @ v).reshape(k, 3), rows.reshape(k, 3, -1)
        return gap, speed[:, 0], each_rows[:, 0], rates[:, 0], each_rows[:, 1:], rates[:, 1:], speed[:, 1:]

    def gaps(self, q: Vector) -> Vector:
        """Return the gaps of all contacts, (k,)."""
        r, _, A, _, _ = self._poses(q, np.zeros_like(q))
        n, offset = np.einsum("kij,kj->ki", A[self.a], self.F[:, 0]), r[self.b] - r[self.a]
        offset += np.einsum("kij,kj->ki", A[self.b], self.s_b) - np.einsum("kij,kj->ki", A[self.a], self.s_a)
        apart = self._to_balls(r, A)[-1] - self.radii[self.pairs].sum(axis=1)
        return np.concatenate(((n * offset).sum(axis=1) - self.R, apart))

    def _poses(self, q: Vector, v: Vector) -> tuple[NDArray[Any], ...]:
        """Return centres, their velocities, rotations, angular velocities and E of the bodies and of the ground."""
        e, rate, ground = self._blocks(q)[:, 3:], self._blocks(v)[:, 3:], np.zeros(3)
        r, u = np.vstack((self._blocks(q)[:, :3], ground)), np.vstack((self._blocks(v)[:, :3], ground))
        E = spin_rows(e, 1.0)
        turn = E @ spin_rows(e).transpose(0, 2, 1) / (e**2).sum(axis=1)[:, None, None]
        w = np.vstack((2.0 * np.einsum("bij,bj->bi", E, rate), ground))
        return r, u, np.concatenate((turn, np.eye(3)[None])), w, np.concatenate((E, np.zeros((1, 3, 4))))

    def _on_faces(self, r: Matrix, u: Matrix, A: Blocks, w: Matrix) -> tuple[NDArray[Any], ...]:
        """Return gaps, rows (n, t1, t2), arms from the centres of a and b, the rows' biases, and indices of a and b."""
        a, b, R = self.a, self.b, self.R[:, None]
        F = self.F @ A[a].transpose(0, 2, 1)
        s_a, s_b = (np.einsum("kij,kj->ki", A[i], s) for i, s in ((a, self.s_a), (b, self.s_b)))
        n, offset = F[:, 0], r[b] + s_b - r[a]
        arm_b = s_b - R * n
        arm_a = r[b] + arm_b - r[a]
        turned = _cross(w[a][:, None], F)
        moves = u[b] + _cross(w[b], s_b) - R * turned[:, 0]
        v = u[b] + _cross(w[b], arm_b) - u[a] - _cross(w[a], arm_a)
        change = _cross(w[b], _cross(w[b], s_b) - R * turned[:, 0]) - _cross(w[a], moves - u[a])
        rates = np.einsum("kri,ki->kr", turned, v) + np.einsum("kri,ki->kr", F, change)
        gap = (n * (offset - s_a)).sum(axis=1) - self.R
        return gap, F, np.stack((arm_a, arm_b), axis=1), rates, np.stack((a, b), axis=1)

    def _to_balls(self, r: Matrix, A: Blocks) -> tuple[NDArray[Any], ...]:
        """Return a, b, d = r_b - r_a and, in a's frame: which entries of d exceed box a, nearest point, n, distance.

        A ball a counts as a box of size zero. If several entries exceed the box, the nearest point is on an edge or
        corner; if none does, the nearest point is on the nearest face, and the distance is negative.
        """
        a, b = self.pairs.T
        d, half = r[b] - r[a], self.half[a]
        x = np.einsum("kji,kj->ki", A[a], d)
        out, at = np.abs(x) >= half, np.clip(x, -half, half)
        distance = np.linalg.norm(x - at, axis=1)
        inside = np.flatnonzero(distance == 0.0)
        n = (x - at) / np.where(distance > 0.0, distance, 1.0)[:, None]
        face = (np.abs(x) - half)[inside].argmax(axis=1)
        side = np.where(x[inside, face] < 0.0, -1.0, 1.0)
        out[inside], n[inside, face], at[inside, face] = False, side, side * half[inside, face]
        out[inside, face] = True
        distance[inside] = side * x[inside, face] - half[inside, face]
        return a, b, d, out, at, n, distance

    def _of_balls(self, r: Matrix, u: Matrix, A: Blocks, w: Matrix) -> tuple[NDArray[Any], ...]:
        """Return for balls what `_on_faces` returns; zeta_T, unused during slip, omits t' . v, which is 0 in stick."""
        a, b, d, out, at, own, distance = self._to_balls(r, A)
        R_a, R_b, turn = self.radii[a][:, None], self.radii[b][:, None], A[a]
        n, at = np.einsum("kij,kj->ki", turn, own), np.einsum("kij,kj->ki", turn, at)
        v = u[b] - u[a]
        seen = np.einsum("kji,kj->ki", turn, v - _cross(w[a], d))  # velocity of b relative to a, in the frame of a
        beside = out.sum(axis=1) > 1
        aside = np.where(out, seen, 0.0) - (own * seen).sum(axis=1)[:, None] * own
        bent = np.divide(aside, distance[:, None], out=np.zeros_like(aside), where=beside[:, None])
        turned = np.einsum("kij,kj->ki", turn, bent) + _cross(w[a], n)
        moved = np.einsum("kij,kj->ki", turn, np.where(out, 0.0, seen)) + _cross(w[a], at) + R_a * turned
        F = _frames(n)
        rates = np.einsum("kri,ki->kr", F, -_cross(R_b * w[b], turned) - _cross(w[a], moved))
        swept = _cross(w[a], _cross(w[a], d) - 2.0 * v)
        rates[:, 0] = (bent * seen).sum(axis=1) + (n * swept).sum(axis=1)
        arms = np.stack((at + R_a * n, -R_b * n), axis=1)
        return distance - (R_a + R_b)[:, 0], F, arms, rates, self.pairs


def _cross(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.float64]:
    """Return the vector product along the last axis, many times faster than `numpy.cross` for few vectors."""
    return np.asarray(a[..., [1, 2, 0]] * b[..., [2, 0, 1]] - a[..., [2, 0, 1]] * b[..., [1, 2, 0]])


def _frames(n: Matrix) -> Blocks:
    """Return rows n, t1, t2, orthonormal and right-handed, of every normal, (k, 3, 3)."""
    first = _cross(np.eye(3)[np.abs(n).argmin(axis=1)], n)
    first /= np.linalg.norm(first, axis=1)[:, None]
    return np.stack((n, first, _cross(n, first)), axis=1)


def _touching(a: Vector, b: Vector, d: Vector) -> list[tuple[Vector, Vector, Vector]]:
    """Return the corners at which faces of two boxes touch; half edges a and b, d from the centre of a to that of b.

    Each corner is given by a point and the normal of the face of a, in the frame of a, and its point in the frame of b.
    """
    low, high = np.maximum(-a, d - b), np.minimum(a, d + b)
    found = []
    for axis, side in product(range(3), (-1.0, 1.0)):
        across = [i for i in range(3) if i != axis]
        if abs(side * d[axis] - a[axis] - b[axis]) > TOUCH or (high - low)[across].min() <= TOUCH:
            continue
        normal = side * np.eye(3)[axis]
        for ends in product((0, 1), repeat=2):
            s = np.zeros(3)
            s[axis] = -side * b[axis]
            s[across] = np.where(ends, high[across], low[across]) - d[across]
            found.append((a[axis] * normal, normal, s))
    return found
