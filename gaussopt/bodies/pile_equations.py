"""The equations of a pile, in arrays over its bodies and contacts; see `gaussopt.bodies.pile`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gaussopt.bodies.overlaps import UNSEEN, deepest
from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.display import counted
from gaussopt.linalg.quaternions import spin_rows

SEVEN = 7
"""Number of coordinates of a body."""

TOUCH = 1e-9
"""Distance, m, up to which boxes count as touching at the start."""

NEARLY = 1e-9
"""Length, m, up to which a vector is too short to be normalised as the normal or tangent of two balls."""

TINY = 1e-300
"""Divisor that replaces the length of a vector if it is zero."""

FEW = 100
"""Number of pairs up to which testing all of them takes less time than a search for neighbours."""

Blocks = NDArray[np.float64]


class PileContacts(NamedTuple):
    """The contacts of free bodies, numbered as in `names`: first points or balls on faces, then pairs of balls.

    Attributes
    ----------
    faces : (a, s_a, F, b, s_b, R): a face of body a, through s_a, with normal and tangents F, (3, 3), in the frame of
        a; a ball of radius R about the point s_b of body b
    pairs, radii : indices of bodies a and b, (k, 2), and radii of the balls, (k, 2); a may be a box, with radius 0
    across : directions, (k, 3), to which the first tangents of pairs are normal; None: the axes least parallel to n
    mu, e_N, e_T : coefficients of all contacts
    """

    names: Sequence[str]
    faces: Sequence[tuple[Any, ...]]
    pairs: NDArray[np.intp]
    radii: Matrix
    across: Matrix | None
    mu: Vector
    e_N: Vector
    e_T: Vector


class PileEquations:
    """Free bodies and their contacts in arrays; body number N is the ground.

    Parameters
    ----------
    m, I, c : masses, principal inertias, (N, 3), and `quaternion_mass`, (N,), see `gaussopt.bodies.space`
    half : half edges of boxes, (N, 3), zero for other bodies
    gravity : (3,)
    """

    def __init__(
        self, m: Vector, I: Matrix, c: Vector, half: Matrix, gravity: Vector, contacts: PileContacts
    ) -> None:  # fmt: skip
        self.N, self.m, self.I, self.c, self.half, self.of = len(m), m, I, c, half, contacts
        self.names = tuple(contacts.names)
        self.weight = np.hstack((np.outer(m, gravity), np.zeros((self.N, 4)))).ravel()
        shapes = (0,), (0, 3), (0, 3, 3), (0,), (0, 3), (0,)
        given = zip(*contacts.faces, strict=True) if contacts.faces else map(np.zeros, shapes)
        self.a, self.s_a, self.F, self.b, self.s_b, self.R = (np.array(x) for x in given)
        self.a, self.b = self.a.astype(np.intp), self.b.astype(np.intp)
        self.pairs, self.radii = contacts.pairs, contacts.radii
        codes = np.sort(self.pairs, axis=1) @ [self.N, 1]
        self._order = codes.argsort()
        self._codes = codes[self._order]
        self.extent = np.linalg.norm(half, axis=1)
        np.maximum.at(self.extent, self.pairs.ravel(), self.radii.ravel())
        self.gravity, self.heaviest = gravity, float(np.abs(self.weight).max(initial=0.0))
        self.boxed = bool(half.any())
        self.isotropic, self.outer = bool((np.ptp(I, axis=1) == 0.0).all()), np.append(self.extent, 0.0)
        with np.errstate(divide="ignore"):  # only time steps use `root`, and they need positive masses
            self.root = np.vstack((np.hstack((np.tile(m, (3, 1)).T, I)) ** -0.5, np.zeros(6)))
        # Normal rows depend on the centres of bodies in contact with other bodies, and on the quaternions of boxes.
        faces = {i for a, b in zip(self.a.tolist(), self.b.tolist(), strict=True) if a != self.N for i in (a, b)}
        moved = set(self.pairs.ravel().tolist()) | faces
        points = np.linalg.norm(self.s_b, axis=1) > 0
        turned = set(np.flatnonzero(half.any(axis=1)).tolist()) | set(self.b[points].tolist()) | set(self.a.tolist())
        of = [range(SEVEN * i, SEVEN * i + 3) for i in moved - {self.N}]
        of += [range(SEVEN * i + 3, SEVEN * (i + 1)) for i in turned - {self.N}]
        self.turning = tuple(sorted(j for part in of for j in part))

    def overlap(self, q: Matrix) -> str | None:
        """Return a sentence on the deepest overlap, in the states q, (F, n), of boxes without a contact; else None."""
        boxes, known = np.flatnonzero(self.half.any(axis=1)), set(zip(self.a.tolist(), self.b.tolist(), strict=True))
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

    def undefined(self, q: Vector) -> set[str]:
        """Return the names of the pairs whose centres nearly coincide, or lie nearly in the direction `across`."""
        r, (a, b) = self._blocks(q)[:, :3], self.pairs.T
        d = r[b] - r[a]
        aside = d if self.of.across is None else cross(self.of.across, d)
        return {self.names[len(self.R) + i] for i in np.flatnonzero(np.linalg.norm(aside, axis=1) <= NEARLY)}

    # -- bodies ------------------------------------------------------------------------------------------------

    def _blocks(self, x: Vector) -> Blocks:
        """Return the coordinates with a row for each body, (N, 7)."""
        return x.reshape(self.N, SEVEN)

    def mass(self, q: Vector) -> Matrix:
        """Return M; a quaternion's block is 4 (G^T I G + c e e^T)."""
        e, found = self._blocks(q)[:, 3:], np.zeros((self.N, SEVEN, self.N, SEVEN))
        G, each = spin_rows(e), np.arange(self.N)
        turning = np.einsum("bij,bi,bik->bjk", G, self.I, G) + np.einsum("b,bi,bj->bij", self.c, e, e)
        found[each, :3, each, :3] = self.m[:, None, None] * np.eye(3)
        found[each, 3:, each, 3:] = 2.0 * (turning + turning.transpose(0, 2, 1))
        return found.reshape(q.size, q.size)

    def inertia(self, q: Vector, v: Vector) -> Vector:
        """Return h, which is 0 for positions and 4 (G(e')^T I 2 G(e) e' + c e (e' . e')) for a quaternion e."""
        e, rate, h = self._blocks(q)[:, 3:], self._blocks(v)[:, 3:], np.zeros((self.N, SEVEN))
        turning = self.I * 2.0 * np.einsum("bij,bj->bi", spin_rows(e), rate)
        h[:, 3:] = 4.0 * np.einsum("bij,bi->bj", spin_rows(rate), turning)
        h[:, 3:] += 4.0 * (self.c * (rate**2).sum(axis=1))[:, None] * e
        return h.ravel()

    def equality(self, q: Vector, v: Vector) -> tuple[Matrix, Vector]:
        """Return J and gamma of the unit quaternions: one row 2 e . e'' = -2 e' . e' for each body."""
        J, each = np.zeros((self.N, self.N, SEVEN)), np.arange(self.N)
        J[each, each, 3:] = 2.0 * self._blocks(q)[:, 3:]
        return J.reshape(self.N, -1), -2.0 * (self._blocks(v)[:, 3:] ** 2).sum(axis=1)

    def position(self, q: Vector) -> Vector:
        """Return the residuals e . e - 1."""
        return np.asarray((self._blocks(q)[:, 3:] ** 2).sum(axis=1) - 1.0)

    # -- contacts ----------------------------------------------------------------------------------------------

    def contacts(self, q: Vector, v: Vector) -> tuple[NDArray[np.float64], ...]:
        """Return g_N, gdot_N, J_N, zeta_N, J_T, zeta_T, v_T of all contacts: points on faces, then balls."""
        poses = self.poses(q, v)
        r, _, A, _, E = poses
        gap, frame, arms, bodies = self.frames(r, A, self.near(r))
        rates = np.concatenate((self._turns_of_faces(*poses), self._turns_of_balls(*poses)))
        k = len(gap)
        J, each = np.zeros((k, 3, self.N + 1, SEVEN)), np.arange(k)
        for side, sign in ((0, -1.0), (1, 1.0)):
            i = bodies[:, side]
            J[each, :, i, :3] = sign * frame  # a and b are different bodies, so that the second pass overwrites nothing
            J[each, :, i, 3:] = 2.0 * sign * cross(arms[:, side, None], frame) @ E[i]
        rows = J[:, :, : self.N].reshape(3 * k, -1)
        speed, each_rows = (rows @ v).reshape(k, 3), rows.reshape(k, 3, -1)
        return gap, speed[:, 0], each_rows[:, 0], rates[:, 0], each_rows[:, 1:], rates[:, 1:], speed[:, 1:]

    def gaps(self, q: Vector) -> Vector:
        """Return the gaps of all contacts, (k,)."""
        r, _, A, _, _ = self.poses(q, np.zeros_like(q))
        n, offset = np.einsum("kij,kj->ki", A[self.a], self.F[:, 0]), r[self.b] - r[self.a]
        offset += np.einsum("kij,kj->ki", A[self.b], self.s_b) - np.einsum("kij,kj->ki", A[self.a], self.s_a)
        return np.concatenate(((n * offset).sum(axis=1) - self.R, self._to_balls(r, A)[-1] - self.radii.sum(axis=1)))

    def near(self, r: Matrix, reach: float = np.inf) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the indices of all faces, and of the pairs whose surfaces may be nearer than `reach`, m."""
        faces, k = np.arange(len(self.R)), len(self.pairs)
        if reach == np.inf:
            return faces, np.arange(k)
        from scipy.spatial import cKDTree  # imported here, because only large piles need it

        size = float(self.extent.max())
        found = cKDTree(r[: self.N]).query_pairs(2.0 * size + reach, output_type="ndarray")
        low, high = np.sort(found, axis=1).T
        code = low * self.N + high
        place = np.minimum(np.searchsorted(self._codes, code), k - 1)
        return faces, np.sort(self._order[place[self._codes[place] == code]])

    def frames(self, r: Matrix, A: Blocks, near: tuple[NDArray[np.intp], NDArray[np.intp]]) -> tuple[NDArray[Any], ...]:
        """Return gaps, rows (n, t1, t2), arms from both centres, and body indices (a, b), of the contacts `near`."""
        i, j = near
        a, b, R = self.a[i], self.b[i], self.R[i, None]
        F = self.F[i] @ A[a].transpose(0, 2, 1)
        s_a, s_b = (np.einsum("kij,kj->ki", A[x], s[i]) for x, s in ((a, self.s_a), (b, self.s_b)))
        arm_b = s_b - R * F[:, 0]
        gap = (F[:, 0] * (r[b] + s_b - r[a] - s_a)).sum(axis=1) - self.R[i]
        face = gap, F, np.stack((r[b] + arm_b - r[a], arm_b), axis=1), np.stack((a, b), axis=1)
        if not len(j):
            return face
        pairs, (R_a, R_b) = self.pairs[j], self.radii[j].T[:, :, None]
        if not self.boxed:  # without boxes, no frame is needed
            n, at = r[pairs[:, 1]] - r[pairs[:, 0]], np.zeros(3)
            distance = np.sqrt((n * n).sum(axis=1))
            n = n / np.maximum(distance, TINY)[:, None]
        else:
            _, at, own, distance = self._to_balls(r, A, j)
            n, at = (np.einsum("kij,kj->ki", A[pairs[:, 0]], x) for x in (own, at))
        ball = (
            distance - (R_a + R_b)[:, 0], frames(n, None if self.of.across is None else self.of.across[j]),
            np.stack((at + R_a * n, -R_b * n), axis=1), pairs,
        )  # fmt: skip
        return tuple(np.concatenate(x) for x in zip(face, ball, strict=True)) if len(i) else ball

    def poses(self, q: Vector, v: Vector) -> tuple[NDArray[Any], ...]:
        """Return centres, their velocities, rotations, angular velocities and E of the bodies and of the ground."""
        x, y, n = self._blocks(q), self._blocks(v), self.N
        (r, u, w), A, E = np.zeros((3, n + 1, 3)), np.empty((n + 1, 3, 3)), np.zeros((n + 1, 3, 4))
        e, r[:n], u[:n], E[:n], A[n] = x[:, 3:], x[:, :3], y[:, :3], spin_rows(x[:, 3:], 1.0), np.eye(3)
        A[:n] = E[:n] @ spin_rows(e).transpose(0, 2, 1) / (e**2).sum(axis=1)[:, None, None]
        w[:n] = 2.0 * (E[:n] @ y[:, 3:, None])[:, :, 0]
        return r, u, A, w, E

    def _turns_of_faces(self, r: Matrix, u: Matrix, A: Blocks, w: Matrix, E: Blocks) -> Matrix:
        """Return the biases of the rows n, t1, t2 of points and balls on faces, (k, 3)."""
        a, b, R = self.a, self.b, self.R[:, None]
        F = self.F @ A[a].transpose(0, 2, 1)
        s_b, n = np.einsum("kij,kj->ki", A[b], self.s_b), F[:, 0]
        arm_b = s_b - R * n
        turned = cross(w[a][:, None], F)
        moves = u[b] + cross(w[b], s_b) - R * turned[:, 0]
        v = u[b] + cross(w[b], arm_b) - u[a] - cross(w[a], r[b] + arm_b - r[a])
        change = cross(w[b], cross(w[b], s_b) - R * turned[:, 0]) - cross(w[a], moves - u[a])
        return np.asarray(np.einsum("kri,ki->kr", turned, v) + np.einsum("kri,ki->kr", F, change))

    def _to_balls(self, r: Matrix, A: Blocks, j: Any = slice(None)) -> tuple[NDArray[Any], ...]:
        """Return arrays in the frame of a: which entries of r_b - r_a lie outside box a, nearest point, n, distance.

        A ball a counts as a box of size zero. If several entries are outside the box, the nearest point is on an edge
        or corner; if none is, it is on the nearest face, and the distance is negative.
        """
        a, b = self.pairs[j].T
        half, x = self.half[a], np.einsum("kji,kj->ki", A[a], r[b] - r[a])
        out, at = np.abs(x) >= half, np.clip(x, -half, half)
        distance = np.linalg.norm(x - at, axis=1)
        inside = np.flatnonzero(distance == 0.0)
        n = (x - at) / np.where(distance > 0.0, distance, 1.0)[:, None]
        if not len(inside):
            return out, at, n, distance
        face = (np.abs(x) - half)[inside].argmax(axis=1)
        side = np.where(x[inside, face] < 0.0, -1.0, 1.0)
        out[inside], n[inside, face], at[inside, face] = False, side, side * half[inside, face]
        out[inside, face] = True
        distance[inside] = side * x[inside, face] - half[inside, face]
        return out, at, n, distance

    def _turns_of_balls(self, r: Matrix, u: Matrix, A: Blocks, w: Matrix, E: Blocks) -> Matrix:
        """Return zeta_N and zeta_T of pairs, (k, 3); zeta_T, used only in stick, omits t' . v, which is 0 there."""
        out, at, own, distance = self._to_balls(r, A)
        (a, b), (R_a, R_b) = self.pairs.T, self.radii.T[:, :, None]
        d, turn = r[b] - r[a], A[a]
        n, at = np.einsum("kij,kj->ki", turn, own), np.einsum("kij,kj->ki", turn, at)
        v = u[b] - u[a]
        seen = np.einsum("kji,kj->ki", turn, v - cross(w[a], d))  # velocity of b relative to a, in the frame of a
        beside = out.sum(axis=1) > 1
        aside = np.where(out, seen, 0.0) - (own * seen).sum(axis=1)[:, None] * own
        bent = np.divide(aside, distance[:, None], out=np.zeros_like(aside), where=beside[:, None])
        turned = np.einsum("kij,kj->ki", turn, bent) + cross(w[a], n)
        moved = np.einsum("kij,kj->ki", turn, np.where(out, 0.0, seen)) + cross(w[a], at) + R_a * turned
        F = frames(n, self.of.across)
        rates = np.einsum("kri,ki->kr", F, -cross(R_b * w[b], turned) - cross(w[a], moved))
        swept = cross(w[a], cross(w[a], d) - 2.0 * v)
        rates[:, 0] = (bent * seen).sum(axis=1) + (n * swept).sum(axis=1)
        return np.asarray(rates)


def cross(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.float64]:
    """Return the vector product along the last axis; for few vectors it is many times faster than `numpy.cross`."""
    x, y = (1, 2, 0), (2, 0, 1)
    return np.asarray(a.take(x, -1) * b.take(y, -1) - a.take(y, -1) * b.take(x, -1))


def frames(n: Matrix, across: Matrix | None = None) -> Blocks:
    """Return orthonormal, right-handed rows n, t1, t2 for every normal n, (k, 3, 3); t1 is normal to `across`."""
    first = cross(np.eye(3)[np.abs(n).argmin(axis=1)] if across is None else across, n)
    first /= np.maximum(np.sqrt((first * first).sum(axis=1)), TINY)[:, None]  # becomes zero where two centres coincide
    return np.concatenate((n, first, cross(n, first)), axis=1).reshape(-1, 3, 3)


def touching(a: Vector, b: Vector, d: Vector) -> list[tuple[Vector, Vector, Vector]]:
    """Return the corners of the rectangles in which faces of two boxes, with half edges a and b, touch.

    For each corner: the point and face normal in the frame of a, the point in the frame of b; d is from centre a to b.
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
