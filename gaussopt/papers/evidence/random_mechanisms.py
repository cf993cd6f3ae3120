"""Random planar mechanisms of bodies joined by pins: trees, and mechanisms in which further pins close loops.

Each mechanism is described twice. The step data use absolute coordinates, three per body, with two rows of J per joint,
and ignore the tree. The minimal equations use only the angles of the bodies: positions follow from the angles along the
tree, and the loop conditions determine the dependent angles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import qr

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.step_data import StepData
from gaussopt.families._planar import GROUND as GROUND
from gaussopt.families._planar import Pins, Points


@dataclass(frozen=True, slots=True)
class PinJoint:
    """A pin that holds point `on_a` of body a at point `on_b` of body b; both, (2,), are in the frame of their body."""

    a: int
    on_a: Vector
    b: int
    on_b: Vector


@dataclass(frozen=True, slots=True)
class Mechanism:
    """A state of a mechanism with forces on it.

    Attributes
    ----------
    tree : for each body, the pin that joins it to an earlier body or to the ground
    loops : pins in addition to the tree
    phi, omega : (bodies,), angles and rates, which satisfy the loop conditions
    mass, inertia : (bodies,)
    force : (3 * bodies,), generalised forces in absolute coordinates
    """

    tree: tuple[PinJoint, ...]
    loops: tuple[PinJoint, ...]
    phi: Vector
    omega: Vector
    mass: Vector
    inertia: Vector
    force: Vector

    @property
    def freedom(self) -> int:
        """Degrees of freedom: the number of bodies minus the number of independent loop conditions."""
        return len(self.phi) - (int(np.linalg.matrix_rank(self.closures()[0], tol=1e-9)) if self.loops else 0)

    def step(self, repeated: int = 0) -> StepData:
        """Return the step in absolute coordinates x, y, phi; the rows of the first `repeated` pins occur twice."""
        pins = (*self.tree, *self.loops)
        pins += pins[:repeated]
        joints = Pins(_points([(pin.b, pin.on_b) for pin in pins]), _points([(pin.a, pin.on_a) for pin in pins]))
        # Rows of pins depend on the angles alone, so the positions may be zero.
        turned_to = np.column_stack((np.zeros((len(self.phi), 2)), self.phi)).ravel()
        zero, v = np.zeros(len(turned_to)), self.motion()[0] @ self.omega
        M = np.diag(np.column_stack((self.mass, self.mass, self.inertia)).ravel())
        return StepData.smooth(M, zero, self.force, joints.rows(turned_to), joints.gamma(turned_to, v), 0.0, zero, v)

    def point(self, body: int, on: Vector) -> tuple[Vector, Matrix, Vector]:
        """Return position, K, (2, bodies), and bias of a point; its acceleration is K phi'' + bias."""
        place, K, bias = np.zeros(2), np.zeros((2, len(self.phi))), np.zeros(2)
        while body != GROUND:
            pin = self.tree[body]
            arm = turned(self.phi[body], on - pin.on_a)  # the vector points from the joint towards the point
            place += arm
            K[:, body] = across(arm)
            bias -= arm * self.omega[body] ** 2
            body, on = pin.b, pin.on_b
        return place + on, K, bias

    def motion(self) -> tuple[Matrix, Vector]:
        """Return K, (3 * bodies, bodies), and bias; the accelerations of all coordinates are K phi'' + bias."""
        bodies = len(self.phi)
        K, bias = np.zeros((3 * bodies, bodies)), np.zeros(3 * bodies)
        for i in range(bodies):
            _, K[3 * i : 3 * i + 2], bias[3 * i : 3 * i + 2] = self.point(i, np.zeros(2))
            K[3 * i + 2, i] = 1.0
        return K, bias

    def closures(self) -> tuple[Matrix, Vector]:
        """Return L and r of the loop conditions L phi'' = r on the angular accelerations."""
        L, r = np.zeros((2 * len(self.loops), len(self.phi))), np.zeros(2 * len(self.loops))
        for i, pin in enumerate(self.loops):
            (_, Ka, ba), (_, Kb, bb) = self.point(pin.a, pin.on_a), self.point(pin.b, pin.on_b)
            L[2 * i : 2 * i + 2], r[2 * i : 2 * i + 2] = Ka - Kb, bb - ba
        return L, r

    def acceleration(self) -> Vector:
        """Compute the acceleration by the minimal equations; pivoting chooses the dependent angles of the loops."""
        K, bias = self.motion()
        m = np.column_stack((self.mass, self.mass, self.inertia)).ravel()
        mass, pull = K.T @ (m[:, None] * K), K.T @ (self.force - m * bias)
        T, t = np.eye(len(self.phi)), np.zeros(len(self.phi))
        if self.loops:
            L, r = self.closures()
            Q, R, order = qr(L, pivoting=True)
            rank = len(self.phi) - self.freedom
            fixed, free = order[:rank], order[rank:]
            solved = np.linalg.solve(R[:rank, :rank], np.column_stack((R[:rank, rank:], (Q.T @ r)[:rank])))
            T = np.zeros((len(self.phi), len(free)))
            T[free, np.arange(len(free))] = 1.0
            T[fixed], t[fixed] = -solved[:, :-1], solved[:, -1]
        phi = T @ np.linalg.solve(T.T @ mass @ T, T.T @ (pull - mass @ t)) + t
        return np.asarray(K @ phi + bias)


def turned(angle: float, point: Vector) -> Vector:
    """Rotate a vector from the frame of a body at this angle into the frame of the ground."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([c * point[0] - s * point[1], s * point[0] + c * point[1]])


def across(arm: Vector) -> Vector:
    """Return the vector `arm` rotated by 90 degrees: the velocity of its end at unit angular velocity."""
    return np.array([-arm[1], arm[0]])


def mechanism(x: Vector, parents: tuple[int, ...], pairs: tuple[tuple[int, int], ...], spread: float) -> Mechanism:
    """Decode numbers between -1 and 1 into a mechanism.

    Parameters
    ----------
    x : (12 * bodies + 2 * loops,)
    parents : the earlier body to which each body is pinned, or GROUND
    pairs : for each loop, the two bodies (or a body and the ground) that its pin joins
    spread : largest ratio of masses
    """
    bodies = len(parents)
    parts = np.split(x, np.cumsum([bodies, bodies, bodies, bodies, 2 * bodies, 2 * bodies, 3 * bodies, bodies]))
    phi, mass = np.pi * parts[0], spread ** (0.5 * parts[1])
    # Joints lie at least half a metre apart on a body, so that its two ends never coincide.
    own = parts[4].reshape(-1, 2) * 0.3 - [0.6, 0.0]
    others = parts[5].reshape(-1, 2) * 0.3 + [0.6, 0.0]
    tree = tuple(PinJoint(i, own[i], p, others[i]) for i, p in enumerate(parents))
    inertia = mass * (0.1 + 0.05 * parts[2])
    loads = 5.0 * parts[6] + np.column_stack((np.zeros(bodies), -9.81 * mass, np.zeros(bodies))).ravel()
    bare = Mechanism(tree, (), phi, 3.0 * parts[3], mass, inertia, loads)
    where = parts[8].reshape(-1, 2)
    loops = tuple(
        PinJoint(a, _reach(bare, a, target), b, _reach(bare, b, target))
        for (a, b), target in zip(pairs, where, strict=True)
    )
    whole = replace(bare, loops=loops, omega=bare.omega + parts[7])
    if not loops:
        return whole
    L, _ = whole.closures()
    return replace(whole, omega=whole.omega - np.linalg.lstsq(L, L @ whole.omega, rcond=1e-9)[0])


def numbers(parents: tuple[int, ...], pairs: tuple[tuple[int, int], ...]) -> int:
    """Return how many numbers describe a mechanism."""
    return 12 * len(parents) + 2 * len(pairs)


def _points(of: Sequence[tuple[int, Vector]]) -> Points:
    """Combine pairs of a body and a position in its frame, (2,), into `Points`."""
    return Points(np.array([body for body, _ in of]), np.array([place for _, place in of]))


def _reach(of: Mechanism, body: int, target: Vector) -> Vector:
    """Return the coordinates of the point `target` in the frame of a body."""
    return target if body == GROUND else turned(-of.phi[body], target - of.point(body, np.zeros(2))[0])


def draw(rng: np.random.Generator, most: int, loops: bool, spread: float) -> Mechanism:
    """Draw a mechanism of 2 to `most` bodies, as a tree or with loops that leave at least one degree of freedom."""
    bodies = int(rng.integers(3 if loops else 2, most + 1))
    parents = tuple(int(rng.integers(GROUND, i)) for i in range(bodies))
    pairs: list[tuple[int, int]] = []
    for _ in range(int(rng.integers(1, (bodies - 1) // 2 + 1)) if loops else 0):
        a, b = rng.choice(np.arange(GROUND, bodies), 2, replace=False)
        pairs.append((int(max(a, b)), int(min(a, b))))
    x = rng.uniform(-1.0, 1.0, numbers(parents, tuple(pairs)))
    return mechanism(x, parents, tuple(pairs), spread)
