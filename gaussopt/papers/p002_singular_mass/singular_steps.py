"""Steps with a singular mass matrix: made from plain numbers, and solved as paper 002 prints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gaussopt.core.arrays import Vector
from gaussopt.core.step_data import StepData
from gaussopt.formulations.pinv_mass_as_printed import formulation
from gaussopt.papers.evidence.random_steps import answer, kernel
from gaussopt.solving.solver_sequence import SolverSequence

EIGENVALUES = (0.1, 10.0)
"""Range of the eigenvalues of M that are not zero: rounding stays at rounding."""


@dataclass(frozen=True, slots=True)
class Size:
    """n coordinates, M of the given rank, J with so many rows."""

    n: int
    rank: int
    rows: int

    @property
    def numbers(self) -> int:
        """The count of numbers that make a step of this size."""
        return self.n * self.rank + self.rank + self.rows * (self.n + 1) + 2 * self.n


def drawn(random: np.random.Generator, most: int = 8, well_posed: bool = True) -> Size:
    """A random size; `well_posed` decides whether rank M and the rows can add up to n."""
    n = int(random.integers(2 if well_posed else 3, most + 1))
    rank = int(random.integers(1, n if well_posed else n - 1))
    return Size(n, rank, int(random.integers(n - rank, n) if well_posed else random.integers(1, n - rank)))


def step_of(z: Vector, size: Size, outside: float = 0.0) -> StepData:
    """The step that numbers in [-1, 1] describe.

    Its force has a part in the range of M, a part in the kernel of M that is a constraint force J^T y, and `outside`
    times a unit vector from the kernel of M.
    """
    n, r, m = size.n, size.rank, size.rows
    basis, spread, rows, gamma, x, p = np.split(np.asarray(z, dtype=float), np.cumsum([n * r, r, m * n, m, n]))
    U = np.linalg.qr(basis.reshape(n, r), mode="complete")[0]
    U, K = U[:, :r], U[:, r:]
    low, high = np.log(EIGENVALUES)
    M = (U * np.exp(low + (high - low) * 0.5 * (1.0 + spread))) @ U.T
    J = rows.reshape(m, n)
    # K c is a constraint force where Z^T K c = 0.
    both = kernel(kernel(J).T @ K)
    lost = K @ (K.T @ p)
    force = M @ x + K @ (both @ (both.T @ (K.T @ p))) + outside * lost / max(float(np.linalg.norm(lost)), 1e-300)
    return StepData.smooth(0.5 * (M + M.T), np.zeros(n), force, J, gamma, 0.0, np.zeros(n), np.zeros(n))


def random_steps(
    random: np.random.Generator, count: int, outside: float = 0.0, well_posed: bool = True
) -> Iterator[StepData]:
    """Random steps of random sizes."""
    for _ in range(count):
        size = drawn(random, well_posed=well_posed)
        yield step_of(random.uniform(-1, 1, size.numbers), size, outside)


def lost_force(step: StepData) -> Vector:
    """(I - M M^+) F, the part of the force F = Q - h that the objective with M^+ drops."""
    return np.asarray(step.force - step.M @ (np.linalg.pinv(step.M, rcond=1e-10) @ step.force))


def residual(step: StepData, a: Vector) -> float:
    """Residual of Z^T (M a - F) = 0 and J a = gamma, relative to the size of their terms; Z spans ker J."""
    size = np.linalg.norm(a)
    along = np.linalg.norm(kernel(step.J).T @ (step.M @ a - step.force))
    across = np.linalg.norm(step.J @ a - step.gamma)
    terms = np.linalg.norm(step.M) * size + np.linalg.norm(step.force)
    return float(along / terms + across / (np.linalg.norm(step.J) * size + np.linalg.norm(step.gamma)))


def as_printed(step: StepData, sequence: SolverSequence) -> Vector:
    """The acceleration by M^+ in Gauss's function, the sign of the force corrected."""
    return answer(formulation, sequence, step)[0]


def by_hand(step: StepData) -> Vector:
    """The minimiser of (M a - F)^T M^+ (M a - F) subject to J a = gamma, by a basis of ker J and numpy alone, (n,)."""
    Z, projector = kernel(step.J), step.M @ np.linalg.pinv(step.M, rcond=1e-10)
    a, *_ = np.linalg.lstsq(step.J, step.gamma, rcond=None)
    along = Z.T @ projector
    return np.asarray(a + Z @ np.linalg.solve(along @ step.M @ Z, along @ (step.force - step.M @ a)))
