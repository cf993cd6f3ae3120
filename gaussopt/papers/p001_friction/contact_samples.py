"""Contact problems for the claims of paper 001: random matrices, hinged bars, the two bars of the paper.

Hinged bars are planar rods in absolute coordinates, with hinges as equality rows, contacts anywhere on the rods,
gravity, random loads, angular velocities and friction. Their joints are eliminated here by bordered systems, not by the
code of the formulations. All draws are seeded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gaussopt.core.arrays import Matrix, Vector
from gaussopt.core.step_data import StepData
from gaussopt.modelling.problem import problem
from gaussopt.papers.evidence import active_sets as sets
from gaussopt.papers.evidence import contact_problems as problems
from gaussopt.papers.evidence.adversarial_search import minimise
from gaussopt.papers.p001_friction.steps import POSES, pose
from gaussopt.problems.two_bar import both_ends

Mask = NDArray[np.bool_]

EQUAL = 1e-8
"""Largest relative difference of the forces at which two programs count as equal."""

DECIDED = 1e-9
"""Relative violation of a criterion up to which it counts as rounding error."""

BORDER = (1e-11, 1e-6)
"""Between these violations, rounding errors decide whether two answers agree; such samples are not counted."""

GRAVITY = 9.81


@dataclass(frozen=True)
class Contacts:
    """A stack of B steps of one size, with joints as rows and all contacts sliding.

    Attributes
    ----------
    M, force : (B, n, n), (B, n); M a = force + J^T lam + (J_N + friction)^T lam_N
    J, gamma : (B, m, n), (B, m)
    J_N, zeta_N : (B, k, n), (B, k)
    friction : (B, k, n), sigma mu J_T
    """

    M: Matrix
    force: Matrix
    J: Matrix
    gamma: Matrix
    J_N: Matrix
    zeta_N: Matrix
    friction: Matrix

    @classmethod
    def of(cls, steps: Sequence[StepData]) -> Contacts:
        """Stack steps with the same numbers of coordinates, rows and contacts."""
        rows = ((s.M, s.force, s.J, s.gamma, s.J_N, s.zeta_N, s.friction_map.T - s.J_N) for s in steps)
        return cls(*(np.array(column) for column in zip(*rows, strict=True)))

    def __len__(self) -> int:
        return len(self.M)

    def __getitem__(self, chosen: Mask) -> Contacts:
        return Contacts(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))

    @cached_property
    def bordered(self) -> Matrix:
        """The matrix [[M, -J^T], [J, 0]], (B, n + m, n + m)."""
        m = self.J.shape[1]
        return np.concatenate((
            np.concatenate((self.M, -self.J.swapaxes(1, 2)), axis=2),
            np.concatenate((self.J, np.zeros((len(self), m, m))), axis=2),
        ), axis=1)  # fmt: skip

    def _forces(self, rows: Matrix) -> Matrix:
        """Return `rows` transposed and padded with zeros, as right-hand sides of bordered systems, (B, n + m, k)."""
        return np.concatenate((rows.swapaxes(1, 2), np.zeros((len(self), self.J.shape[1], rows.shape[1]))), axis=1)

    @cached_property
    def _moved(self) -> tuple[Matrix, Matrix, Matrix]:
        """Accelerations without contact forces, (B, n), by unit normal forces, and by their friction, (B, n, k)."""
        n, k = self.M.shape[1], self.J_N.shape[1]
        right = np.concatenate((self.force, self.gamma), axis=1)[..., None]
        columns = (right, self._forces(self.J_N), self._forces(self.friction))
        right_sides = np.concatenate(columns, axis=2)
        a: Matrix = np.asarray(np.linalg.solve(self.bordered, right_sides), dtype=np.float64)[:, :n]
        return a[..., 0], a[..., 1 : k + 1], a[..., k + 1 :]

    @cached_property
    def smooth(self) -> Matrix:
        """A_0, the contact operator without friction, (B, k, k)."""
        return self.J_N @ self._moved[1]

    @cached_property
    def coupling(self) -> Matrix:
        """C = A - A_0, the gap accelerations due to the friction of unit normal forces, (B, k, k)."""
        return self.J_N @ self._moved[2]

    @property
    def A(self) -> Matrix:
        """The contact operator, (B, k, k)."""
        return self.smooth + self.coupling

    @property
    def b(self) -> Matrix:
        """Gap accelerations without contact forces, (B, k)."""
        return sets.times(self.J_N, self._moved[0]) + self.zeta_N

    @property
    def problem(self) -> tuple[Matrix, Matrix]:
        """The contact operator and the gap accelerations without contact forces."""
        return self.A, self.b

    @cached_property
    def free(self) -> Matrix:
        """Accelerations without joint and contact forces, (B, n)."""
        return np.asarray(np.linalg.solve(self.M, self.force[..., None])[..., 0])

    @property
    def ell(self) -> Matrix:
        """Accelerations due to the joints along the friction forces, sigma mu J_T (a_J - a_0), (B, k)."""
        return sets.times(self.friction, self._moved[0] - self.free)

    def solve(self, friction: Matrix | None = None) -> sets.ActiveSetPoints:
        """Solve the contact laws together with the joint rows; x = (a, lam), y = lam_N.

        Known forces `friction`, (B, n), replace Coulomb friction; the result then fulfils Gauss's principle.
        """
        given = 0.0 if friction is None else friction
        p = np.concatenate((self.force + given, self.gamma), axis=1)
        rows = self.J_N + self.friction if friction is None else self.J_N
        A = np.concatenate((self.J_N, np.zeros((*self.J_N.shape[:2], self.J.shape[1]))), axis=2)
        return sets.solve(self.bordered, p, self._forces(rows), A, self.zeta_N)

    @cached_property
    def _all_ideal(self) -> tuple[Matrix, Matrix]:
        """The matrices M^-1 (G + H f_F) and G^T M^-1 (G + H f_F) of (24), whose rows list joints before contacts."""
        G = np.concatenate((self.J, self.J_N), axis=1).swapaxes(1, 2)
        H = np.concatenate((self.J, self.J_N + self.friction), axis=1).swapaxes(1, 2)
        moved: Matrix = np.asarray(np.linalg.solve(self.M, H), dtype=np.float64)
        return moved, G.swapaxes(1, 2) @ moved

    @property
    def all_definite(self) -> Mask:
        """Whether the matrix of (24), of joint and contact forces, is positive definite, (B,)."""
        return problems.definite(self._all_ideal[1])

    def over_all_forces(self) -> tuple[Matrix, Callable[[Matrix], Vector]]:
        """Solve (24) for all ideal forces; return the normal forces, and the objective as a function of these.

        The joint rows determine the joint forces, so that the objective is a function of the normal forces alone.
        """
        moved, form = self._all_ideal
        E, W = self.J @ moved, self.J_N @ moved
        m, k = self.J.shape[1], self.J_N.shape[1]
        missing = self.gamma - sets.times(self.J, self.free)
        P = np.concatenate((
            np.concatenate((sets.symmetric(form), -E.swapaxes(1, 2)), axis=2),
            np.concatenate((E, np.zeros((len(self), m, m))), axis=2),
        ), axis=1)  # fmt: skip
        p = np.concatenate((np.zeros((len(self), m + k)), missing), axis=1)
        R = np.concatenate((W.swapaxes(1, 2), np.zeros((len(self), m, k))), axis=1)
        rows = np.concatenate((W, np.zeros((len(self), k, m))), axis=2)
        x = sets.solve(P, p, R, rows, sets.times(self.J_N, self.free) + self.zeta_N).x

        def objective(N: Matrix) -> Vector:
            lam = np.linalg.solve(E[..., :m], (missing - sets.times(E[..., m:], N))[..., None])[..., 0]
            F = np.concatenate((lam, N), axis=1)
            return np.asarray(0.5 * np.einsum("bi,bij,bj->b", F, form, F))

        return x[:, m : m + k], objective


def hinged_bars(
    length: Matrix, mass: Matrix, angle: Matrix, spin: Matrix, place: Matrix, load: Matrix, mu: Matrix, slip: Matrix
) -> Contacts:
    """Make bars in a row, hinged end to end; contact i lies on bar i modulo the number of bars.

    Parameters
    ----------
    length, mass, angle, spin : (B, bars), m, kg, rad, rad/s
    place : (B, k), position of each contact on its bar, from -1/2 to 1/2 of the length
    load : (B, bars, 3), forces at the centroids in addition to gravity, N, and torques, N m
    mu, slip : (B, k), friction coefficients, and the signs of the slips
    """
    count, bars = length.shape
    k = place.shape[1]
    n = 3 * bars
    M = np.zeros((count, n, n))
    inertia = mass * length**2 / 12
    for j in range(bars):
        for i, entry in enumerate((mass, mass, inertia)):
            M[:, 3 * j + i, 3 * j + i] = entry[:, j]
    weight = np.stack((np.zeros_like(mass), -mass * GRAVITY, np.zeros_like(mass)), axis=2)
    force = (load + weight).reshape(count, n)

    def point(j: int, offset: Vector) -> tuple[Matrix, Matrix]:
        """Return rows (B, 2, n) and centripetal part (B, 2) of the acceleration of a point of bar j."""
        c, s = np.cos(angle[:, j]), np.sin(angle[:, j])
        rows = np.zeros((count, 2, n))
        rows[:, 0, 3 * j], rows[:, 1, 3 * j + 1] = 1.0, 1.0
        rows[:, 0, 3 * j + 2], rows[:, 1, 3 * j + 2] = -offset * s, offset * c
        return rows, -(offset * spin[:, j] ** 2)[:, None] * np.stack((c, s), axis=1)

    J, gamma = np.zeros((count, 2 * (bars - 1), n)), np.zeros((count, 2 * (bars - 1)))
    for j in range(bars - 1):
        right, there = point(j, length[:, j] / 2)
        left, here = point(j + 1, -length[:, j + 1] / 2)
        J[:, 2 * j : 2 * j + 2], gamma[:, 2 * j : 2 * j + 2] = right - left, here - there
    contacts = [point(i % bars, place[:, i] * length[:, i % bars]) for i in range(k)]
    J_T, J_N = (np.stack([rows[:, d] for rows, _ in contacts], axis=1) for d in (0, 1))
    zeta = np.stack([bias[:, 1] for _, bias in contacts], axis=1)
    return Contacts(M, force, J, gamma, J_N, zeta, -(slip * mu)[..., None] * J_T)


def random_bars(
    count: int, bars: int, contacts: int, rng: np.random.Generator, mu: tuple[float, float] = (0.0, 1.0)
) -> Contacts:
    """Draw bars of 0.5 to 2 m and 0.5 to 2 kg; spins have standard deviation 1 rad/s, loads 10 N and 10 N m."""
    shape = (count, bars)
    return hinged_bars(
        rng.uniform(0.5, 2.0, shape), rng.uniform(0.5, 2.0, shape), rng.uniform(-np.pi, np.pi, shape),
        rng.standard_normal(shape), rng.uniform(-0.5, 0.5, (count, contacts)),
        10.0 * rng.standard_normal((*shape, 3)), rng.uniform(*mu, (count, contacts)),
        rng.choice([-1.0, 1.0], (count, contacts)),
    )  # fmt: skip


def definite_bars(
    count: int, bars: int, contacts: int, rng: np.random.Generator, mu: tuple[float, float] = (0.0, 1.0)
) -> Contacts:
    """Draw `count` samples of random hinged bars, and return the samples with positive definite A."""
    drawn = random_bars(count, bars, contacts, rng, mu)
    return drawn[problems.definite(drawn.A)]


def two_bars(labels: Sequence[str] = tuple(POSES)) -> Contacts:
    """Return special states of the two bars of the paper, in the coordinates of both bars."""
    return Contacts.of([pose(label) for label in labels])


def on_floor(theta: Vector, omega: Vector | float = 0.0, vx: Vector | None = None, **settings: float) -> Contacts:
    """Return steps with both ends on the floor at the angles theta, rad, rates, rad/s, and centroid speeds, m/s."""
    entry = problem("two-bar", **settings)
    p = entry.parameter_values
    states = np.broadcast_arrays(theta, omega, p["vx0"] if vx is None else vx)
    found = [both_ends(t, p["x0"], v, w, p["l"]) for t, w, v in zip(*states, strict=True)]
    return Contacts.of([entry.system.evaluate(0.0, *state) for state in found])


def opposite_slides(angles: Vector, rate: float) -> tuple[Contacts, Vector]:
    """Return steps with both bars rotating at -rate or rate, so that their ends slide oppositely, and their angles."""
    theta, omega = np.repeat(angles, 2), np.tile([-rate, rate], len(angles))
    l = problem("two-bar").parameter_values["l"]
    return on_floor(theta, omega, l / 2 * np.sin(theta) * omega), theta


@dataclass(frozen=True)
class Comparison:
    """Forces by the contact laws and by a printed program, and the criterion for their equality, on a stack.

    Attributes
    ----------
    laws, program : (B, k), normal forces
    difference : (B,), relative difference of the two, with forces in the unit of each contact
    violation : (B,), relative violation of eta >= 0, eta . w = 0 at the laws' forces
    """

    laws: Matrix
    program: Matrix
    difference: Vector
    violation: Vector

    @property
    def equal(self) -> Mask:
        """Whether the program returns the forces of the contact laws, up to rounding, (B,)."""
        return np.asarray(self.difference <= EQUAL)

    @property
    def predicted(self) -> Mask:
        """Whether the criterion predicts that the answers are equal, (B,)."""
        return np.asarray(self.violation <= DECIDED)

    @property
    def borderline(self) -> Mask:
        """Whether the difference of the answers is so small that rounding errors may decide if they are equal, (B,)."""
        return np.asarray((self.violation > BORDER[0]) & (self.violation < BORDER[1]))

    @property
    def mismatch(self) -> Mask:
        """Whether the criterion predicts the wrong result, (B,); False in borderline cases."""
        return np.asarray((self.equal != self.predicted) & ~self.borderline)

    @property
    def tensile(self) -> Mask:
        """Whether a force of the program is tensile, (B,)."""
        return np.asarray(self.program.min(axis=1) < -EQUAL * np.abs(self.program).max(axis=1))


def compare(A: Matrix, b: Matrix, ell: Matrix | None = None) -> Comparison:
    """Compare the contact laws with (29) or, with `ell`, with (24) without joints; A must be positive definite."""
    z = sets.lcp(A, b)
    x = sets.printed(A, b) if ell is None else sets.quadratic(sets.symmetric(A), 0.5 * ell, A, b)
    return Comparison(z, x, relative(A, b, x, z), natural(A, b, z, eta(A, z, ell)))


def largest_difference(stacks: Iterable[tuple[Matrix, Matrix]]) -> tuple[float, int]:
    """Return the largest relative difference between forces by (29) and by the contact laws, and the sample size."""
    found = [compare(A, b).difference for A, b in stacks]
    return max(float(of.max()) for of in found), sum(map(len, found))


def eta(A: Matrix, z: Matrix, ell: Matrix | None = None) -> Matrix:
    """Return eta = 1/2 (I + A^-T A) z - 1/2 A^-T ell, (B, k); without `ell` the last term is zero."""
    right = sets.times(A, z) - (0.0 if ell is None else ell)
    return np.asarray(0.5 * (z + np.linalg.solve(A.swapaxes(1, 2), right[..., None])[..., 0]))


def natural(A: Matrix, b: Matrix, z: Matrix, y: Matrix) -> Vector:
    """Return max |min(y_i, w_i)| with w = A z + b, in each contact's unit, relative to the largest of z and b."""
    unit = np.sqrt(np.abs(A.diagonal(axis1=1, axis2=2)))
    w = (sets.times(A, z) + b) / unit
    size = np.maximum(np.abs(z * unit).max(axis=1), np.abs(b / unit).max(axis=1))
    return np.asarray(np.abs(np.minimum(y * unit, w)).max(axis=1) / np.maximum(size, 1e-300))


def relative(A: Matrix, b: Matrix, x: Matrix, z: Matrix) -> Vector:
    """Return |x - z| relative to |z|, or to |b| if z is about 0, (B,); entries are in the unit of their contact."""
    unit = np.sqrt(np.abs(A.diagonal(axis1=1, axis2=2)))
    gap, size, load = (np.linalg.norm(v, axis=1) for v in ((x - z) * unit, z * unit, b / unit))
    return np.asarray(gap / np.maximum(np.where(size > 1e-6 * load, size, load), 1e-300))


def maximise(function: Callable[[Matrix], Vector], bounds: Sequence[tuple[float, float]], generations: int) \
        -> tuple[float, Vector]:  # fmt: skip
    """Return the largest value that differential evolution (seed 1, 15 points for each unknown) finds, and its point.

    `function` takes points (P, d) and returns (P,); a point with a value that is not finite is never chosen.
    """

    def cost(points: Matrix) -> Vector:
        values = function(points.T)
        return np.where(np.isfinite(values), -values, 1e300)

    with np.errstate(all="ignore"):
        found = minimise(cost, bounds, generations, seed=1, population=15, together=True)
    return -found.value, found.at
